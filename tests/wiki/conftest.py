import random
from pathlib import Path

import pytest
from wiki_builds import SETTINGS, made

from luke_jax.text import load_tokenizer
from luke_jax.wiki.stages.sources import Settings

REPOSITORY = Path(__file__).resolve().parents[2]
TOKENIZERS = REPOSITORY / "tests/goldens/text"

SITEINFO = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" xml:lang="en">
  <siteinfo>
    <sitename>Wikipedia</sitename>
    <dbname>{database}</dbname>
    <base>https://en.wikipedia.org/wiki/Main_Page</base>
    <case>first-letter</case>
    <namespaces>
      <namespace key="0" case="first-letter" />
      <namespace key="1" case="first-letter">Talk</namespace>
      <namespace key="6" case="first-letter">File</namespace>
      <namespace key="10" case="first-letter">Template</namespace>
      <namespace key="14" case="first-letter">Category</namespace>
    </namespaces>
  </siteinfo>
"""
PAGE = """  <page>
    <title>{title}</title>
    <ns>{namespace}</ns>
    <id>{id}</id>{redirect}
    <revision>
      <id>{revision}</id>
      <text bytes="{length}" xml:space="preserve">{text}</text>
    </revision>
  </page>
"""
WORDS = ("the", "old", "river", "of", "a", "small", "town", "near", "every", "hill", "and", "its")
WORDS += ("bridge", "with", "seven", "painted", "boats")


@pytest.fixture(scope="session", params=["byte_level", "sentence_piece"])
def tokenizer(request):
  return load_tokenizer(TOKENIZERS / request.param)


@pytest.fixture(scope="session")
def tokenizers():
  return TOKENIZERS


def dump_text(pages, database="enwiki"):
  """A dump of pages (title, text), some of them redirects."""
  body = []
  for number, (title, text) in enumerate(pages, start=1):
    target = text[12:-2] if text.startswith("#REDIRECT [[") else None
    redirect = f'\n    <redirect title="{target}" />' if target else ""
    namespace = 1 if title.startswith("Talk:") else 0
    fields = {"title": title, "namespace": namespace, "id": number, "redirect": redirect}
    length = len(text.encode())
    body.append(PAGE.format(**fields, revision=10_000 + number, length=length, text=text))
  return SITEINFO.format(database=database) + "".join(body) + "</mediawiki>\n"


def made_up_pages(pages, seed=0):
  """Pages about towns that link to each other, with redirects among them, chains and a loop."""
  rng = random.Random(seed)
  titles = [f"Town {number}" for number in range(pages)]
  found = []
  for number, title in enumerate(titles):
    lines = [" ".join(_sentence(rng, titles) for _ in range(rng.randint(1, 9))) for _ in range(4)]
    lines.insert(2, "== History ==")
    found.append((title, "\n\n".join(lines)))
    if number % 3 == 0:
      found.append((f"Place {number}", f"#REDIRECT [[{title}]]"))
  found += [
    ("Old place", "#REDIRECT [[Place 0]]"),
    ("Loop A", "#REDIRECT [[Loop B]]"),
    ("Loop B", "#REDIRECT [[Loop A]]"),
    ("Nowhere", "#REDIRECT [[No such page]]"),
    ("Talk:Town 1", "A talk about [[Town 1]] that is nobody's text."),
    ("Town", "'''Town''' may mean [[Town 1]] or [[Town 2]] of the river.\n{{disambiguation}}"),
  ]
  return found


def _sentence(rng, titles):
  words = rng.choices(WORDS, k=rng.randint(1, 14))
  for _ in range(rng.randint(0, 2)):
    number = min(int(rng.expovariate(0.03)), len(titles) - 1)
    target = rng.choice((titles[number], f"place {number - number % 3}", "Red link", "Old place"))
    link = rng.choice((f"[[{target}]]", f"[[{target}|{rng.choice(WORDS)} one]]", f"[[{target}]]s"))
    words.insert(rng.randint(0, len(words)), link)
  text = " ".join(words) + "."
  return text[0].upper() + text[1:]


@pytest.fixture(scope="session")
def small_dump(tmp_path_factory):
  """A dump of some hundred made-up pages, as plain XML."""
  path = tmp_path_factory.mktemp("dump") / "small.xml"
  path.write_text(dump_text(made_up_pages(150)), encoding="utf-8")
  return path


@pytest.fixture(scope="module")
def settings(small_dump, tokenizers):
  return Settings((small_dump,), tokenizers / "byte_level", **SETTINGS)


@pytest.fixture(scope="module")
def built(settings, tmp_path_factory):
  return made(settings, tmp_path_factory.mktemp("built"))
