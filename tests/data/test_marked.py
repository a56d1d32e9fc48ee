"""The sentences that were marked by hand: everyday kinds of names, and entries of catalogues."""

import io
import json
import tarfile
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from data.catalogues.make import CITIES, COUNTRIES, NOUNS, STATES, aliases, main
from luke_jax.errors import InputError

DATA = Path(__file__).parents[2] / "data"
EVERYDAY = sorted((DATA / "everyday").glob("*.jsonl"))
NOUN = """  1 the licence
09168488 15 n 01 Paris 0 002 @i 08642803 n 0000 #p 09165000 n 0000 | a town in northeastern Texas
11152452 18 n 02 Lincoln 0 Abraham_Lincoln 0 001 @i 10487592 n 0000 | 16th President; "Lincoln said"
10487592 18 n 01 President 0 001 @ 10183157 n 0000 | the chief executive of a republic
"""
PLACE = {"geonameid": 4717560, "name": "Paris", "countrycode": "US", "admin1code": "TX"}


def read(path):
  return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("path", EVERYDAY, ids=lambda x: x.stem)
def test_each_file_of_everyday_kinds_has_ten_with_six_names_or_more(path):
  examples = read(path)
  counts = Counter(kind for x in examples for _, _, kind in x["spans"])
  assert len({x["id"] for x in examples}) == len(examples) == 50
  assert len(counts) == 10
  assert min(counts.values()) >= 6


@pytest.mark.parametrize("path", EVERYDAY, ids=lambda x: x.stem)
def test_names_of_everyday_kinds_lie_in_their_text_apart(path):
  for example in read(path):
    end = 0
    for start, stop, _ in example["spans"]:
      name = example["text"][start:stop]
      assert end <= start < stop
      assert name.strip() == name != ""
      end = stop


def test_every_sentence_of_everyday_kinds_has_a_source():
  table = (DATA / "everyday" / "sources.tsv").read_text(encoding="utf-8").splitlines()[1:]
  assert [x.split("\t")[:2] for x in table if x.startswith("places\t")] == [
    ["places", x["id"]] for x in read(DATA / "everyday" / "places.jsonl")
  ]
  assert len(table) == 300


@pytest.mark.parametrize("name", ["wordnet", "places"])
def test_sentences_of_a_catalogue_have_a_name_each_and_one_in_five_means_nothing(name):
  examples = read(DATA / "catalogues" / f"{name}.jsonl")
  assert len({x["id"] for x in examples}) == len({x["text"] for x in examples}) == 200
  assert sum(x["mentions"][0][2] is None for x in examples) == 40
  for example in examples:
    ((start, end, id),) = example["mentions"]
    assert example["text"][start:end].strip() == example["text"][start:end] != ""
    assert id is None or id[0] == name[0].replace("w", "n").replace("p", "g")


def test_wordnet_has_what_is_an_instance(tmp_path):
  package, output = tmp_path / "w.tgz", tmp_path / "entities.jsonl"
  with tarfile.open(package, "w:gz") as archive:
    info = tarfile.TarInfo(NOUNS)
    info.size = len(NOUN)
    archive.addfile(info, io.BytesIO(NOUN.encode()))
  main("wordnet", package, output)
  paris, lincoln = read(output)
  assert paris["description"] == "a town in northeastern Texas"
  assert lincoln == {
    "name": "Lincoln",
    "description": "16th President",
    "aliases": ["Abraham Lincoln"],
    "id": "n11152452",
  }


def test_places_say_their_state_and_country(tmp_path):
  package, output = tmp_path / "g.whl", tmp_path / "entities.jsonl"
  place = {**PLACE, "population": 24782, "alternatenames": ["PRX", "Pari", "Pinhook", "باريس"]}
  empty = {**place, "countrycode": "FR", "admin1code": "11", "population": 0}
  countries = {"US": {"name": "United States"}, "FR": {"name": "France"}}
  with zipfile.ZipFile(package, "w") as archive:
    archive.writestr(CITIES, json.dumps({"1": place, "2": empty}))
    archive.writestr(COUNTRIES, json.dumps(countries))
    archive.writestr(STATES, json.dumps({"TX": {"name": "Texas"}}))
  main("places", package, output)
  texan, french = read(output)
  assert texan["description"] == "a town in Texas, United States, population 24,782"
  assert texan["aliases"] == ["Pari", "Pinhook"]
  assert french["description"] == "a village in France"


def test_other_names_are_at_most_five_and_the_likest_come_first():
  assert aliases("Halle (Saale)", ["Galle", "Gala", "Halle", "Hala", "HAL"])[0] == "Halle"
  assert len(aliases("Paris", [f"Pari{x}" for x in "abcdefg"])) == 5


@pytest.mark.parametrize("catalogue", ["wordnet", "places"])
def test_another_file_is_no_package(tmp_path, catalogue):
  (tmp_path / "other").write_text("no archive", encoding="utf-8")
  with pytest.raises(InputError, match="expected the package of"):
    main(catalogue, tmp_path / "other", tmp_path / "out.jsonl")
