"""Relations are asked for by their names, or in words that people use for them."""

import itertools
import json

import pytest

from luke_jax.english import directory
from luke_jax.errors import InputError
from luke_jax.tasks.facts.relations import meant

KNOWN = (
  "place of birth",
  "founded by",
  "languages spoken, written or signed",
  "part of",
  "member of",
)


@pytest.mark.parametrize(
  ("asked", "labels"),
  [
    (["founded by"], ["founded by"]),
    (["Born  In", "FOUNDER"], ["place of birth", "founded by"]),
    (["languages spoken", "written or signed", "part of"], [KNOWN[2], "part of"]),
    (["birthplace", "born in"], ["place of birth"]),
  ],
)
def test_names_and_other_words(asked, labels):
  assert meant(asked, KNOWN) == labels


def test_order_changes_nothing():
  for asked in itertools.permutations(["born in", "founder", "part of"]):
    assert set(meant(asked, KNOWN)) == {"place of birth", "founded by", "part of"}


def test_a_model_of_other_relations_has_these_alone():
  assert meant(["buys"], ["buys", "sells"]) == ["buys"]
  with pytest.raises(InputError, match="'born in': not known; expected some of the 2 relations"):
    meant(["buys", "born in"], ["buys", "sells"])


def test_none_is_refused():
  with pytest.raises(InputError, match="relations: none; expected some, such as place of birth"):
    meant([], KNOWN)


def test_the_nearest_are_told():
  with pytest.raises(InputError, match=r"'belongs': not known; .* perhaps part of"):
    meant(["belongs"], KNOWN)
  with pytest.raises(InputError, match=r"'founded bye': not known; .* perhaps founded by"):
    meant(["founded bye"], KNOWN)


def test_every_relation_of_the_box_has_other_words():
  config = json.loads((directory("facts") / "config.json").read_text(encoding="utf-8"))
  labels = list(config["id2label"].values())
  for label in labels:
    assert meant([label], labels) == [label]
  assert meant(["works for", "married to", "came out in"], labels) == [
    "employer",
    "spouse",
    "publication date",
  ]
