"""Pages of a build as documents, and the command that makes pairs of them."""

import bz2
import itertools
import json

import numpy as np
import pytest
from small_wikis import TOKENIZER, build_wiki, write_wikidata

from data.ernie_baidu import units
from data.ernie_thu import pairs
from data.ernie_thu.linked_documents import LinkedDocuments
from luke_jax.cli import main, script
from luke_jax.pipeline.stored import StoredInstances
from luke_jax.systems.ernie_baidu.units import read_units
from luke_jax.text import load_tokenizer
from luke_jax.wiki.mentions import MentionLinker

# Towns link to each other, one of them by a redirect, and one to a page without an item.
PAGES = {
  "Alton": "'''Alton''' lies near [[Berk]]. It is older than [[The Berk]] and [[Corde|old Corde]].",
  "Berk": "'''Berk''' is a town. Its rival is [[Alton]]. The [[Nowhere]] is far.",
  "Corde": "'''Corde''' traded with [[Alton]] and with [[Berk]]. It had walls.",
  "The Berk": "#REDIRECT [[Berk]]",
}
NUMBERS = {"Q1": 0, "Q2": 1}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
  place = tmp_path_factory.mktemp("pairs")
  build_wiki(place / "wiki", PAGES)
  (place / "titles.tsv").write_text("Alton\tQ1\nBerk\tQ2\nCorde\tQ99\nElsewhere\tQ1\n")
  (place / "kg").mkdir()
  (place / "kg" / "entity2id.txt").write_text("2\nQ1\t0\nQ2\t1\n")
  (place / "kg" / "entity2vec.vec").write_text("1\t2\n3\t4\n")
  return place


def test_links_lead_to_numbers_through_redirects(place):
  tokenizer = load_tokenizer(TOKENIZER)
  made = LinkedDocuments(place / "wiki", tokenizer, place / "titles.tsv", NUMBERS)
  documents = list(made)
  assert (made.links, made.known) == (7, 5)  # Corde has no number, and Nowhere no page
  beside = [[x.entities[x.entities >= 0].tolist() for x in document] for document in documents]
  assert beside == [[[1], [1]], [[], [0], []], [[0, 1], []]]
  text = tokenizer.decode(np.concatenate([x.ids for x in documents[1]]))
  assert text.strip() == "Berk is a town. Its rival is Alton. The Nowhere is far."


def test_names_from_a_dump_of_wikidata(place, tmp_path):
  items = {"Q1": {"enwiki": "Alton"}, "Q2": {"dewiki": "Berk"}, "Q5": {"enwiki": "Corde"}}
  path = tmp_path / "items.json"
  write_wikidata(path, items)
  dump = tmp_path / "items.json.bz2"
  dump.write_bytes(bz2.compress(path.read_bytes()))
  made = LinkedDocuments(place / "wiki", load_tokenizer(TOKENIZER), dump, NUMBERS)
  list(made)
  assert (made.links, made.known) == (7, 2)


def test_a_linker_of_the_wikis_own_links(place):
  assert main(["wiki", "mentions", str(place / "wiki")]) == 0
  link = MentionLinker.of(place / "wiki", place / "titles.tsv")
  text = "From Alton to Corde and on to berk."
  found = link(text)
  assert [(x.entity, text[x.start : x.end]) for x in found] == [("Q1", "Alton"), ("Q2", "berk")]
  assert all(0 < x.score <= 1 for x in found)


def command(place, *more, output="pairs.bin"):
  fixed = ["--vectors", str(place / "kg"), "--tokenizer", str(TOKENIZER)]
  return [*fixed, "--output", str(place / output), *more]


def test_the_command(place, capsys):
  options = ["--titles", str(place / "titles.tsv"), "--least-entities", "1", "--words", "64"]
  arguments = [*command(place, str(place / "wiki")), *options]
  assert script(pairs.main, "pairs", arguments) == 0
  result = json.loads(capsys.readouterr().out.splitlines()[-1])
  assert (result["links"], result["links with a vector"]) == (7, 5)
  stored = StoredInstances(str(place / "pairs.bin"))
  assert len(stored) == result["pairs"] > 1
  assert all(set(stored[i].entities.tolist()) <= {-1, 0, 1} for i in range(len(stored)))


@pytest.mark.parametrize("form", ["texts.txt", "texts.jsonl"])
def test_own_texts_become_pairs(place, capsys, form):
  text, links = "Alton is old. It is near Berk.", [["Q1", 0, 5], ["Q2", 25, 29], ["Q9", 9, 12]]
  lines = ["[Alton](Q1) is [old](Q9). It is near [Berk](Q2).", "She saw [Alton](Q1)."]
  if form.endswith(".jsonl"):
    lines = [{"text": text, "links": links}, {"text": "She saw Alton.", "links": [["Q1", 8, 13]]}]
    lines = list(map(json.dumps, lines))
  (place / form).write_text("\n".join(lines) + "\n")
  options = ["--least-entities", "1", "--words", "64"]
  arguments = [*command(place, str(place / form), output=f"{form}.bin"), *options]
  assert script(pairs.main, "pairs", arguments) == 0
  result = json.loads(capsys.readouterr().out.splitlines()[-1])
  assert (result["links"], result["links with a vector"]) == (4, 3)
  stored = StoredInstances(str(place / f"{form}.bin"))
  entities = [id for i in range(len(stored)) for id in stored[i].entities.tolist() if id >= 0]
  assert sorted(set(entities)) == [0, 1] and len(entities) >= 3


@pytest.mark.parametrize(
  ("more", "output", "message"),
  [
    (["wiki"], "pairs.bin", "a build; expected --titles"),
    (["wiki", "--entities", "titles.tsv"], "pairs.bin", "expected them for a file of documents"),
    (["titles.tsv", "--titles", "titles.tsv"], "pairs.bin", "titles.tsv is a file; expected them"),
    (["titles.tsv"], "pairs.bin", "0 links, none to an entity with a vector; expected some"),
    (["wiki"], "pairs.txt", "expected a name that ends in .bin"),
    (["wiki", "--titles", "kg/entity2vec.vec"], "pairs.bin", "has a vector; expected some"),
    (["kg", "--titles", "titles.tsv"], "pairs.bin", "kg"),
  ],
)
def test_faults_are_a_line(place, capsys, more, output, message):
  places = [x if x.startswith("--") else str(place / x) for x in more]
  assert script(pairs.main, "pairs", command(place, *places, output=output)) == 2
  error = capsys.readouterr().err
  assert message in error
  assert error.count("\n") == 1


def test_links_are_units_of_an_ernie(place, tmp_path, capsys, monkeypatch):
  letters = "abcdefghijklmnopqrstuvwxyz"
  pieces = [
    "[PAD]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "[UNK]",
    *letters,
    *(f"##{x}" for x in letters),
    ".",
  ]
  (tmp_path / "vocab.txt").write_text("\n".join(pieces))
  monkeypatch.setenv("LUKE_JAX_CACHE", str(tmp_path / "cache"))
  made = str(tmp_path / "units.gz")
  command = [str(place / "wiki"), "--output", made]
  assert script(units.main, "units", [*command, "--tokenizer", str(tmp_path)]) == 0
  file, tokenizer = read_units(made, 2), load_tokenizer(tmp_path)
  assert json.loads(capsys.readouterr().out)["instances"] == len(file) > 1
  of_levels: list = [set(), set()]
  for index in range(len(file)):
    instance = file.instance(index, 0)
    for found, labels in zip(of_levels, instance.units, strict=True):
      starts = [*np.flatnonzero(labels != 1).tolist(), len(labels)]
      parts = [instance.input_ids[a:b] for a, b in itertools.pairwise(starts) if b - a > 1]
      found |= {tokenizer.decode(part.tolist()) for part in parts}
  phrases, entities = of_levels
  assert entities == {"old corde", "the berk", "alton", "berk", "nowhere"}
  assert phrases >= {"old", "corde", "town.", "lies", "rival"}
  assert script(units.main, "units", [*command, "--tokenizer", str(TOKENIZER)]) == 2
  assert "pieces with spaces in them; expected a vocab.txt" in capsys.readouterr().err
