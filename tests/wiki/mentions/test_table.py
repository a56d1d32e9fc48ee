"""The table of mentions says of each name what plain loops over all pages say."""

import fcntl
import json
import os
import pickle
import random
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pytest
from small_wikis import build_wiki

from luke_jax.cli import main
from luke_jax.errors import InputError
from luke_jax.wiki.mentions import BuiltPages, Mentions, make_mentions
from luke_jax.wiki.stages.engines import local
from luke_jax.wiki.stages.mentions import Filter
from luke_jax.wiki.stages.page_stage import shards_of
from luke_jax.wiki.stages.stage import read_finished
from luke_jax.wiki.stages.tokens import TOKEN, folded_token, name_of

ALL = Filter(min_link_probability=0.0)
FOLDERS = ("mention_links", "mention_names", "mention_counts", "mentions")
WORDS = ("the", "River", "of", "small", "Town", "near", "É", "old-new", "U.S.", "7")


def made_up_pages(number=60, seed=0):
  rng = random.Random(seed)
  titles = [f"{rng.choice(WORDS).capitalize()} {i}" for i in range(number)]
  titles += ["Of the", "Town", "É"]

  def words(most=4):
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(1, most)))

  def link():
    target = rng.choice([*titles, "No such page", "Alias"])
    return rng.choice((f"[[{target}]]", f"[[{target}|{words()}]]", f"[[{target}]]s"))

  def line():
    return " ".join(rng.choice((words(), words(), link())) for _ in range(rng.randint(4, 20)))

  pages = {title: "\n\n".join(line() for _ in range(3)) for title in titles}
  long = " ".join(["long"] * 21)
  pages["Long"] = f"A name too long is this one: [[Town|{long}]] and [[Town|{long[5:]}]]."
  loop = {"Loop": "#REDIRECT [[Pool]]", "Pool": "#REDIRECT [[Loop]]"}
  return {"Alias": "#REDIRECT [[Town]]"} | loop | pages


@pytest.fixture(scope="module")
def wiki(tmp_path_factory):
  """A build with a whole table, in several shards."""
  folder = build_wiki(tmp_path_factory.mktemp("wiki") / "en", made_up_pages(), part_size=4096)
  made(folder)
  return folder


def made(folder, chosen=ALL, workers=1, **options):
  with local(workers) as engine:
    return make_mentions(folder, chosen, engine, **options)


def contents(folder):
  return {
    path.relative_to(folder): path.read_bytes()
    for name in FOLDERS
    for path in sorted((folder / name).rglob("*"))
  }


def without_table(wiki, folder):
  """The wiki's build, before the table was made."""
  folder.mkdir()
  for name in ("pages", "titles"):
    (folder / name).symlink_to(wiki / name)
  return folder


def all_pages(folder):
  shards = shards_of(folder / "pages", read_finished(folder / "pages"))
  return [page for shard in range(len(shards)) for page in shards.read_pages(shard)]


def counted(pages, titles):
  """The links of each name by page, and the pages that it stands on, by plain loops."""
  links, documents = {}, Counter()
  for page in pages:
    for paragraph in page.paragraphs:
      for link in paragraph.links:
        name, to = name_of(link.text, 20), titles.page(link.target)
        if name and to >= 0:
          links.setdefault(name, Counter())[titles.table[to]] += 1
  for page in pages:
    grams = set()
    for paragraph in page.paragraphs:
      for line in paragraph.text.split("\n"):
        tokens = [folded_token(token) for token in TOKEN.findall(line)]
        for i in range(len(tokens)):
          grams |= {" ".join(tokens[i:j]) for j in range(i + 1, min(i + 20, len(tokens)) + 1)}
    documents.update(grams & links.keys())
  return links, documents


def test_the_table_is_that_of_plain_loops(wiki):
  mentions = Mentions(wiki)
  links, documents = counted(all_pages(wiki), mentions.titles)
  assert len(shards_of(wiki / "pages", read_finished(wiki / "pages"))) > 4
  assert list(mentions.names.strings) == sorted(links, key=str.encode)
  assert len(mentions) > 100
  for number, name in enumerate(mentions.names.strings):
    total = links[name].total()
    (probability,) = mentions.link_probabilities(np.array([number]))
    assert probability == min(1.0, total / max(documents[name], 1))
    found = mentions.candidates(number)
    assert {x.title: x.prior * total for x in found} == pytest.approx(links[name])
    assert [x.prior for x in found] == sorted((x.prior for x in found), reverse=True)
    assert mentions.number(name) == number
  assert mentions.number("no such name") == -1
  assert 0.1 < np.mean([documents[name] > links[name].total() for name in links]) < 0.9


def test_a_filter_leaves_out_what_it_says(wiki, tmp_path):
  everything = Mentions(wiki)
  folder = without_table(wiki, tmp_path / "en")
  made(folder, Filter(min_link_probability=0.3, max_candidates=2, min_count=2))
  some = Mentions(folder)
  kept = 0
  for number, name in enumerate(everything.names.strings):
    (probability,) = everything.link_probabilities(np.array([number]))
    total = everything._totals[number]
    expected = [x for x in everything.candidates(number)[:2] if round(x.prior * total) >= 2]
    if probability < 0.3 or not expected:
      assert some.number(name) == -1
      continue
    kept += 1
    assert some.candidates(some.number(name)) == expected
    assert some.link_probabilities(np.array([some.number(name)])) == probability
  assert 0 < kept == len(some) < len(everything)


@pytest.mark.parametrize("workers", [2, pytest.param(7, marks=pytest.mark.slow)])
def test_any_number_of_workers_makes_the_same_bytes(workers, wiki, tmp_path):
  # `made_of` tells folders apart by nothing but what is in them.
  folder = without_table(wiki, tmp_path / "en")
  made(folder, workers=workers)
  assert contents(folder) == contents(wiki)


@pytest.mark.slow
def test_beam_makes_the_same_bytes(wiki, tmp_path):
  pytest.importorskip("apache_beam", reason="needs the extra `beam`")
  from luke_jax.wiki.stages.engines import beam

  folder = without_table(wiki, tmp_path / "en")
  with beam([]) as engine:
    make_mentions(folder, ALL, engine)
  assert contents(folder) == contents(wiki)


def test_a_second_run_does_nothing_and_thresholds_only_the_last_stage(wiki, tmp_path):
  folder = without_table(wiki, tmp_path / "en")
  assert all(done.fresh for done in made(folder).values())
  assert not any(done.fresh for done in made(folder).values())
  fresh = {name: done.fresh for name, done in made(folder, Filter(0.5)).items()}
  assert fresh == dict.fromkeys(FOLDERS[:-1], False) | {"mentions": True}
  assert all(done.fresh for done in made(folder, max_tokens=2).values())
  assert max(len(name.split(" ")) for name in Mentions(folder).names.strings) == 2


RUN = """
import sys
from pathlib import Path
from luke_jax.wiki.stages.engines import local
from luke_jax.wiki.stages.mentions import Filter
from luke_jax.wiki.mentions import make_mentions
if __name__ == "__main__":
  with local(int(sys.argv[2])) as engine:
    make_mentions(Path(sys.argv[1]), Filter(min_link_probability=0.0), engine)
"""


def test_a_killed_run_goes_on(wiki, tmp_path):
  folder, script = without_table(wiki, tmp_path / "en"), tmp_path / "run.py"
  script.write_text(RUN)
  killed = 0
  for moment in (5, 20, None):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(script), str(folder), "1"]
    child = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    while moment and child.poll() is None and len(list(folder.glob("m*/**/*"))) < moment:
      time.sleep(0.001)
    if moment and child.poll() is None:
      child.kill()
      killed += 1
    _, error = child.communicate()
    assert child.returncode in (0, -9), error
  assert killed
  assert contents(folder) == contents(wiki)


def test_pages_by_title(wiki):
  built, pages = BuiltPages(wiki), all_pages(wiki)
  for page in pages:
    assert built.page(page.title) == page
  assert built.page("Of_the").title == "Of the"
  assert built.page("%C3%89").title == "É"
  assert built.page("Alias").title == "Town"
  assert built.page("Loop") is None
  assert built.page("No such page") is None


def test_the_command(wiki, tmp_path, capsys):
  folder = without_table(wiki, tmp_path / "en")
  assert main(["wiki", "mentions", str(folder), "--workers", "2"]) == 0
  result = json.loads(capsys.readouterr().out)
  assert result["folder"] == str(folder / "mentions")
  assert result["names"] == len(Mentions(folder))
  assert len(pickle.dumps(Mentions(folder))) < 500


@pytest.mark.parametrize(
  "options, line",
  [
    (("--min-link-probability", "1.5"), "--min-link-probability: 1.5; expected a number"),
    (("--max-candidates", "0"), "--max-candidates: 0; expected a whole number from 1"),
    (("--min-count", "0"), "--min-count: 0; expected a whole number from 1"),
    (("--min-count", "99999"), "names is linked so often; expected a lower"),
    (("--max-tokens", "0"), "--max-tokens: 0; expected"),
    (("--workers", "0"), "--workers: 0; expected"),
    (("--beam-options", "x"), "--beam-options: without --engine beam"),
  ],
)
def test_bad_options_are_one_line(options, line, wiki, tmp_path, capsys):
  folder = without_table(wiki, tmp_path / "en")
  assert main(["wiki", "mentions", str(folder), *options]) == 2
  error = capsys.readouterr().err.splitlines()[-1]
  assert error.startswith("luke-jax: ")
  assert line in error
  with pytest.raises(InputError, match="no table of mentions; expected luke-jax wiki mentions"):
    Mentions(folder)


def test_folders_that_are_no_build(wiki, tmp_path, capsys):
  assert main(["wiki", "mentions", str(tmp_path)]) == 2
  assert "pages: no finished stage; expected a folder of luke-jax wiki build" in (
    capsys.readouterr().err
  )
  folder = without_table(wiki, tmp_path / "en")
  made(folder)
  (folder / "titles").unlink()
  other = build_wiki(tmp_path / "other", made_up_pages(seed=1))
  (folder / "titles").symlink_to(other / "titles")
  with pytest.raises(InputError, match="mentions: made of other titles"):
    Mentions(folder)
  with pytest.raises(InputError, match="titles: made of other pages"):
    BuiltPages(folder)
  assert main(["wiki", "mentions", str(folder)]) == 2
  assert "titles: made of other pages" in capsys.readouterr().err


def test_two_at_once_are_refused(wiki, tmp_path, capsys):
  folder = without_table(wiki, tmp_path / "en")
  with (folder / ".lock").open("w") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    assert main(["wiki", "mentions", str(folder)]) == 2
  assert "another command is at work here" in capsys.readouterr().err
  assert main(["wiki", "mentions", str(folder)]) == 0
