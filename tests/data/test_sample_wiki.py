"""The sample wiki: its generator and its dumps."""

import bz2
import hashlib
import json
import re
import subprocess
import sys
from collections import Counter

import pytest
from sample_dumps import SPACE, dump_path, links, read_dump

from data.sample_wiki.extras import ODD_REDIRECTS, RED_LINKS
from data.sample_wiki.sentences import plain
from data.sample_wiki.world import FOLDER, IMPLIED, TOLD, UNSEEN
from luke_jax.text import load_tokenizer
from luke_jax.wiki.read.dump import read_pages, read_site, split_dumps
from luke_jax.wiki.read.pages import page_from_raw

OUTPUTS = [
  "entities.tsv",
  "facts.tsv",
  "samplewiki-pages-articles-multistream.xml.bz2",
  "samplewiki-pages-articles-multistream-index.txt.bz2",
  "samplewiki-de-pages-articles-multistream.xml.bz2",
  "samplewiki-de-pages-articles-multistream-index.txt.bz2",
  "wikidata-sample.json.bz2",
]
WIKIS = ["samplewiki", "samplewiki-de"]


def test_regenerating_gives_the_same_bytes(tmp_path):
  command = [sys.executable, "-m", "data.sample_wiki.generate", str(tmp_path)]
  subprocess.run(command, cwd=FOLDER.parents[1], check=True)
  assert sorted(path.name for path in tmp_path.iterdir()) == sorted(OUTPUTS)
  for name in OUTPUTS:
    assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes(), name


@pytest.mark.parametrize("name", WIKIS)
def test_every_revision_says_its_own_size_and_hash(name):
  root, pages = read_dump(name)
  assert root.get("version") == "0.11"
  assert len({page.title for page in pages}) == len(pages)
  ids = [page.id for page in pages]
  assert ids == sorted(set(ids))
  for revision in root.iter(f"{SPACE}revision"):
    text = revision.find(f"{SPACE}text")
    assert text is not None
    data = (text.text or "").encode()
    assert int(text.get("bytes", "")) == len(data)
    number = int(text.get("sha1", ""), 36)
    assert number == int.from_bytes(hashlib.sha1(data).digest())


@pytest.mark.parametrize("name", WIKIS)
def test_the_index_names_the_start_of_each_stream(name):
  data = dump_path(name).read_bytes()
  path = dump_path(name).name.replace("multistream.xml", "multistream-index.txt")
  lines = bz2.decompress((FOLDER / path).read_bytes()).decode().splitlines()
  streams: dict[int, list[str]] = {}
  for line in lines:
    offset, _, rest = line.partition(":")
    streams.setdefault(int(offset), []).append(rest)
  for offset, listed in streams.items():
    text = bz2.BZ2Decompressor().decompress(data[offset:]).decode()
    titles, ids = re.findall("<title>(.*)</title>", text), re.findall("\n    <id>(.*)</id>", text)
    assert listed == [f"{id}:{title}" for id, title in zip(ids, titles, strict=True)]
  assert len(lines) == len(read_dump(name)[1])


def test_the_readme_counts_right(world, pages, redirects):
  disambiguations = [p for p in pages.values() if re.search(r"\{\{(?:disamb|dab)", p.text, re.I)]
  facts = Counter(fact.status for fact in world.facts)
  counts = {
    "bytes of English XML": len(bz2.decompress(dump_path("samplewiki").read_bytes())),
    "pages of the English dump": len(read_dump("samplewiki")[1]),
    "articles about an entity": len(world.pages),
    "redirects": len(redirects),
    "disambiguation pages": len(disambiguations),
    "pages of the German dump": len(read_dump("samplewiki-de")[1]),
    "entities": len(world.entities),
    "facts told": facts[TOLD],
    "facts implied": facts[IMPLIED],
    "facts of unseen entities": facts[UNSEEN],
  }
  rows = re.findall(r"^\| (.*) \| ([\d,]+) \|$", (FOLDER / "README.md").read_text(), re.M)
  assert {name: int(number.replace(",", "")) for name, number in rows} == counts


def test_links_lead_to_pages_or_are_listed_as_red(pages, redirects):
  missing = {
    target
    for page in pages.values()
    for _, target in links(page.text, redirects)
    if target not in pages and not re.match(r"[A-Za-z]+:", target)
  }
  odd = {target for title, target in redirects.items() if title in dict(ODD_REDIRECTS)}
  assert missing - odd == set(RED_LINKS) - odd


def test_german_links_lead_to_pages():
  _, pages = read_dump("samplewiki-de")
  titles = {page.title for page in pages}
  targets = {target for page in pages for _, target in links(page.text, {})}
  assert {t for t in targets - titles if ":" not in t} == set()


def test_redirects_chain_and_loop_as_they_do_elsewhere(pages, redirects):
  hops = {title: redirects.get(target) for title, target in redirects.items()}
  assert redirects[redirects["Kastrell"]] == "Castrel"
  assert any(title == second for title, second in hops.items())  # a loop of two
  assert sum(target in pages for target in redirects.values()) >= 60


def test_sitelinks_name_pages_of_the_dumps(world):
  lines = bz2.decompress((FOLDER / "wikidata-sample.json.bz2").read_bytes()).decode().splitlines()
  assert (lines[0], lines[-1]) == ("[", "]")
  items = [json.loads(line.rstrip(",")) for line in lines[1:-1]]
  titles = {}
  for site, name in (("samplewiki", "samplewiki"), ("sampledewiki", "samplewiki-de")):
    dumped = {page.title for page in read_dump(name)[1] if not page.redirect}
    titles[site] = {
      item["sitelinks"][site]["title"] for item in items if site in item.get("sitelinks", {})
    }
    assert titles[site] <= dumped
  assert len(titles["samplewiki"]) == len(world.pages)
  assert len(titles["sampledewiki"]) >= 60
  assert sum("samplejawiki" in item.get("sitelinks", {}) for item in items) >= 20


@pytest.mark.parametrize("size", [1 << 14, 1 << 30])
def test_the_package_reads_the_dumps(world, redirects, size):
  faults: dict[str, Counter] = {}
  counts = Counter()
  for raw, page in read_pages_of("samplewiki", size, faults):
    assert redirects.get(raw.title) in (raw.redirect, None)
    for paragraph in page.paragraphs:
      for link in paragraph.links:
        assert paragraph.text[link.start : link.end] == link.text
        title = redirects.get(link.target, link.target)
        counts[redirects.get(title, title)] += 1
  assert [title for title, found in faults.items() if found] == ["Nine rules of the night tram"]
  assert sum(counts[entity.title] >= 5 for entity in world.pages) >= 300
  assert sum(page.disambiguation for _, page in read_pages_of("samplewiki", size, {})) >= 10
  assert sum(raw.redirect is None for raw, _ in read_pages_of("samplewiki-de", size, {})) >= 60


def read_pages_of(name: str, size: int, faults: dict[str, Counter]):
  """The pages of the namespace of articles, with what each could not be read."""
  site = read_site(dump_path(name))
  for part in split_dumps([dump_path(name)], size):
    for raw in read_pages(part):
      if raw.namespace == 0:
        faults[raw.title] = Counter()
        yield raw, page_from_raw(raw, site, faults=faults[raw.title])


def test_the_tokenizer_spells_every_sentence_of_the_pages(articles):
  tokenizer = load_tokenizer(FOLDER / "tokenizer")
  assert tokenizer.vocab_size == 2002
  texts = [plain(sentence)[0] for article in articles for sentence in article.sentences]
  encoded = tokenizer.encode(texts)
  assert [tokenizer.decode(tokens.ids) for tokens in encoded] == texts
  pieces = sum(len(tokens.ids) for tokens in encoded)
  assert pieces < 1.9 * sum(len(text.split()) for text in texts)
