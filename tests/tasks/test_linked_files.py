"""Files of texts with linked entities, as they were published."""

import json
import warnings

import pytest

from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.formats.records import to_json
from luke_jax.tasks.relations import files as relations
from luke_jax.tasks.relations.score import score
from luke_jax.tasks.typing import files as typing
from luke_jax.text.alignment import AlignedEntity


def written(path, value):
  path.write_text(json.dumps(value), encoding="utf-8")
  return path


def one(read, path):
  (example,) = read(path, Faults())
  return example


def test_few_rel(tmp_path):
  item = {"tokens": ["Jim", "Henson", "was", "a", "puppeteer"]}
  item |= {"h": ["jim henson", "Q191037", [[0, 1], [3]]], "t": ["puppeteer", "Q3286043", [[4]]]}
  example = one(relations.read, written(tmp_path / "val.json", {"P106": [item]}))
  assert (example.id, example.text, example.label) == (
    "P106-1",
    "Jim Henson was a puppeteer",
    "P106",
  )
  assert (example.head, example.tail) == ((0, 10), (17, 26))
  assert example.links == (AlignedEntity("Q191037", 0, 10), AlignedEntity("Q3286043", 17, 26))
  assert relations.parse(to_json(example), example.id, example.place) == example


@pytest.mark.parametrize(("text", "start"), [("Jim was a cook", 0), ('"Jim was a cook', 1)])
def test_relations_of_the_authors_of_ernie(tmp_path, text, start):
  """A start of 1 stands for 0 in their FewRel, unless a word begins there."""
  ents = [["Q1", 1, text.index(" ")], ["Q2", len(text) - 4, len(text)]]
  item = {"text": text, "ents": ents, "label": "NA", "ann": [["Q3", len(text) - 4, len(text), 0.3]]}
  example = one(relations.read, written(tmp_path / "train.json", [item]))
  assert example.head == (start, text.index(" "))
  assert [link.score for link in example.links] == [1.0, 1.0, 0.3]
  assert score(["NA", "a"], ["a", "a"])["precision"] == 0.5
  assert score(["NA", "a"], ["NA", "a"])["f1"] == 1.0


def test_open_entity_of_the_authors_of_ernie(tmp_path):
  sentence = "-LRB- He saw Ada -RRB- in Rome"
  start = sentence.index("Ada")
  item = {"sent": sentence, "start": start, "end": start + 3, "labels": ["person"]}
  item["ents"] = [["Q220", len(sentence) - 4, len(sentence), 0.41]]
  example = one(typing.read, written(tmp_path / "dev.json", [item]))
  assert example.text == "( He saw Ada ) in Rome"
  assert example.text[slice(*example.span)] == "Ada"
  (link,) = example.links
  assert (example.text[link.start : link.end], link.score) == ("Rome", 0.41)
  assert typing.parse(to_json(example), example.id, example.place) == example


GOLD = """\
A\tO
UW\tB-/organization/university,/organization

The\tO
New\tB-/location
York\tI-/location
"""


def test_figer(tmp_path):
  path = tmp_path / "gold.label"
  path.write_text(GOLD)
  first, second = typing.read(path, Faults())
  assert (first.text, first.span) == ("A UW", (2, 4))
  assert first.labels == ("/organization/university", "/organization")
  assert (second.text[slice(*second.span)], second.labels) == ("New York", ("/location",))
  path.write_text("A\tX-/location\n")
  with pytest.raises(
    InputError, match=r"gold.label: line 1: .*; expected a token, a tab and O, B-"
  ):
    typing.read(path, Faults())


@pytest.mark.parametrize(
  ("item", "message"),
  [
    (
      {"h": ["x", "Q1", []]},
      r"P1: example 1: h: \['x', 'Q1', \[\]\]; expected \[\"name\", \"Q42\"",
    ),
    ({"h": ["x", "Q1", [[9]]]}, r"head: \[9, 10\]; expected 0 <= start < end <= 2, tokens"),
    ({"h": ["x", "Q1", [[1]]]}, "overlaps tail"),
  ],
)
def test_faults_of_few_rel(tmp_path, item, message):
  whole = {"tokens": ["a", "b"], "h": ["x", "Q1", [[0]]], "t": ["y", "Q2", [[1]]]}
  with pytest.raises(InputError, match=message):
    relations.read(written(tmp_path / "val.json", {"P1": [whole | item]}), Faults())


@pytest.mark.real_data
def test_the_published_files(real_data):
  with warnings.catch_warnings():
    warnings.simplefilter("error")
    few_rel = relations.read(real_data / "siblings/fewrel/val_wiki.json", Faults())
    gold = typing.read(real_data / "siblings/figer/exp.label", Faults())
  assert (len(few_rel), len({x.label for x in few_rel})) == (11_200, 16)
  assert all(len(x.links) == 2 and x.links[0].entity.startswith("Q") for x in few_rel)
  assert len(gold) == 563
