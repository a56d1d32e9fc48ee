"""`luke-jax entities resolve`: the titles that a vocabulary's entities have in a later dump."""

import gzip
import json

import pytest
from sample_models import ROOT
from small_wikis import build_wiki, write_dump, write_wikidata

from luke_jax.cli import main
from luke_jax.text import EntityVocab, save_entity_vocab

PAGES = {
  "Bombay": "#REDIRECT [[Mumbai city]]",
  "Mumbai city": "#REDIRECT [[Mumbai]]",
  "Mumbai": "A [[Rome|city]].",
  "Rome": "[[Mumbai]] is far away.",
  "Left": "#REDIRECT [[Removed]]",
  "Round": "#REDIRECT [[Round]]",
}
TITLES = ["Rome", "Bombay", "Left", "Round", "Never there"]
SPECIAL = ["[PAD]", "[UNK]", "[MASK]"]
EXPECTED = """\
Rome\tRome\tQ220\tsame
Bombay\tMumbai\tQ1156\tmoved
Left\t\t\tgone
Round\t\t\tgone
Never there\t\t\tgone
"""


def vocabulary(path, titles, language=None):
  keys = SPECIAL + [f"{language}:{x}" if language else x for x in titles]
  ids = {key: id for id, key in enumerate(keys)}
  save_entity_vocab(EntityVocab(ids, multilingual=language is not None), path)
  return str(path)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
  folder = tmp_path_factory.mktemp("resolve")
  write_dump(folder / "dump.xml", PAGES)
  vocabulary(folder / "old.tsv", TITLES)
  props = "INSERT INTO `page_props` VALUES (3,'wikibase_item','Q1156',NULL)"
  props += ",(4,'wikibase_item','Q220',NULL),(1,'wikibase_item','Q9',NULL);\n"
  (folder / "page_props.sql.gz").write_bytes(gzip.compress(props.encode()))
  return folder


def resolved(place, output, *more, dump="dump.xml", vocab="old.tsv"):
  given = [str(place / vocab), "--dump", str(place / dump), "--output", str(output)]
  return main(["entities", "resolve", *given, *more])


def test_titles_lead_over_redirects_to_pages_and_their_items(place, tmp_path, capsys):
  items = ["--items", str(place / "page_props.sql.gz")]
  assert resolved(place, tmp_path / "new.tsv", *items) == 0
  assert (tmp_path / "new.tsv").read_text() == EXPECTED
  printed = json.loads(capsys.readouterr().out)
  counts = {"same": 1, "moved": 1, "gone": 3, "items": 2}
  assert printed == {"file": str(tmp_path / "new.tsv"), **counts}


def test_a_build_has_the_same_titles_as_its_dump(place, tmp_path):
  build_wiki(place / "build", PAGES)
  items = write_wikidata(
    tmp_path / "a.json", {"Q220": {"enwiki": "Rome"}, "Q1156": {"enwiki": "Mumbai"}}
  )
  for name, dump in (("a.tsv", "build"), ("b.tsv", "dump.xml")):
    assert resolved(place, tmp_path / name, "--items", str(items), dump=dump) == 0
    assert (tmp_path / name).read_text() == EXPECTED


def test_lines_of_json_without_items(place, tmp_path, capsys):
  assert resolved(place, tmp_path / "new.jsonl") == 0
  rows = [json.loads(line) for line in (tmp_path / "new.jsonl").read_text().splitlines()]
  assert rows[1] == {"title": "Bombay", "now": "Mumbai", "item": "", "state": "moved"}
  assert json.loads(capsys.readouterr().out)["items"] == 0


def test_of_several_languages_those_of_the_dump(place, tmp_path):
  ids = {key: id for id, key in enumerate([*SPECIAL, "en:Rome", "en:Bombay"])}
  both = EntityVocab(ids | {"de:Rom": ids["en:Rome"]}, multilingual=True)
  save_entity_vocab(both, place / "both.jsonl")
  assert resolved(place, tmp_path / "new.tsv", vocab="both.jsonl") == 0
  assert (tmp_path / "new.tsv").read_text() == "Rome\tRome\t\tsame\nBombay\tMumbai\t\tmoved\n"


def test_the_sample_wiki_from_several_processes(tmp_path, capsys):
  sample = ROOT / "data/sample_wiki"
  vocabulary(tmp_path / "v.json", ["Lanhai", "City of Meiwan", "River Layl"])
  dump, items = sample / "samplewiki-pages-articles-multistream.xml.bz2", "wikidata-sample.json.bz2"
  more = ["--items", str(sample / items), "--workers", "2"]
  assert resolved(tmp_path, tmp_path / "new.tsv", *more, dump=dump, vocab="v.json") == 0
  first, *others = (tmp_path / "new.tsv").read_text().splitlines()
  assert first == "Lanhai\tLanhai\tQ9616\tsame"
  assert [line.split("\t")[1] for line in others] == ["Meiwan", "Layl"]


@pytest.mark.parametrize(
  ("given", "fault"),
  [
    ({"output": "new.txt"}, "new.txt: expected a name in .tsv or .jsonl"),
    ({"output": "nowhere/new.tsv"}, "no folder"),
    ({"dump": "no.xml"}, "no.xml: No such file or directory; expected a dump"),
    ({"vocab": "no.tsv"}, "no.tsv: no such file or directory; expected a .json, .jsonl or .tsv"),
    ({"vocab": "other.tsv"}, "no title in it is a page of"),
    ({"vocab": "german.jsonl"}, "no title in it is a page of"),
    ({"dump": "."}, "no finished stage; expected a folder of luke-jax wiki build"),
    ({"more": ["--items", "no.sql.gz"]}, "no.sql.gz: no such file; expected page_props.sql.gz"),
    ({"more": ["--items", "old.tsv"]}, "'0' is no item; expected Q and a number"),
  ],
)
def test_faults_are_one_line(place, tmp_path, capsys, monkeypatch, given, fault):
  monkeypatch.chdir(place)
  vocabulary(place / "other.tsv", ["Tokyo"])
  vocabulary(place / "german.jsonl", ["Rome"], "de")
  output = tmp_path / given.pop("output", "new.tsv")
  assert resolved(place, output, *given.pop("more", ()), **given) == 2
  err = capsys.readouterr().err.splitlines()[-1]
  assert err.startswith("luke-jax: ") and fault in err
  assert not list(tmp_path.iterdir())
