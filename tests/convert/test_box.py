"""The models in the box: small, of the backbone that `luke-jax get` fetches, and right."""

import json
import re

import pytest
from safetensors import safe_open

import luke_jax
from luke_jax import english
from luke_jax.convert.published import PUBLISHED, WEIGHTS
from luke_jax.convert.reading import named_directory
from luke_jax.convert.tensors import ADAPTER, CHECKSUMS
from luke_jax.errors import InputError
from luke_jax.files import Path as AnyPath

# Bytes of all in a box, and of one of them.
MOST, MOST_OF_ONE = {"english": 8_000_000, "english-base": 14_000_000}, 6_000_000
TEXT = "Marie Curie and her husband Pierre Curie worked in Paris."


@pytest.mark.parametrize("box", english.BOXES)
def test_all_of_them_are_small_and_of_the_boxs_backbone(box):
  folder, every = english.BOXES[box]
  sizes = {x: sum(file.stat().st_size for file in (folder / x).iterdir()) for x in every}
  assert sum(sizes.values()) < MOST[box] and max(sizes.values()) < MOST_OF_ONE
  assert {path.name for path in folder.iterdir() if (path / "config.json").is_file()} == set(every)
  for task in every:
    directory = named_directory(AnyPath(box) / task)
    assert english.named(directory) == f"{box}/{task}"
    config = json.loads((directory / "config.json").read_text("utf-8"))
    assert config["luke_jax"]["adapter"]["backbone"]["sha256"] == PUBLISHED[box].files[WEIGHTS]
    assert config["luke_jax"]["task"] == task
    if task == "ner":  # documents are read as its sentences were
      trained = config["luke_jax"]["run"]["settings"]["task.words"]
      assert config["luke_jax"]["settings"]["window"] == trained
    with safe_open(directory / ADAPTER, framework="np") as file:
      assert CHECKSUMS in file.metadata()  # without them damage would go unnoticed
    card = (directory / "README.md").read_text("utf-8")
    assert "license: apache-2.0" in card and "/root" not in card
    licence = card.partition("## Licence\n")[2]
    assert config["luke_jax"]["run"]["data_licence"] in licence
    link = re.search(r"\(([./]+NOTICE\.md)\)", licence)
    assert link and (directory / link[1]).samefile(english.BOXES["english"][0] / "NOTICE.md")


def test_another_task_of_a_box_is_refused_with_what_there_is():
  expected = "english-base/linking: no such model; expected one of english-base/ner, "
  with pytest.raises(InputError, match=expected):
    named_directory(AnyPath("english-base/linking"))


def test_the_name_of_a_box_means_its_models():
  box, run = AnyPath("english"), AnyPath("runs/facts")
  names = ("ner", "labels", "qa", "facts", "typing")
  assert english.answering(box) == [box / task for task in names]
  assert english.answering(run) == [run]


@pytest.mark.slow
def test_they_are_right_about_a_sentence(minilm):
  names = luke_jax.load("english/ner").predict(TEXT)
  assert [(x.text, x.label) for x in names] == [
    ("Marie Curie", "PER"),
    ("Pierre Curie", "PER"),
    ("Paris", "LOC"),
  ]
  _, _, place = ((x.start, x.end) for x in names)
  spans = [(x.start, x.end, x.label) for x in names]
  facts = luke_jax.load("english/facts").predict(TEXT, names=spans)
  found = {(x.head.text, x.label, x.tail.text) for x in facts}
  assert ("Marie Curie", "spouse", "Pierre Curie") in found
  (kind,) = luke_jax.load("english/typing").predict(TEXT, span=place)
  assert kind.label == "location"
  best = luke_jax.load("english/qa").predict(TEXT, question="Who was Marie's husband?")[0]
  assert best.text == "Pierre Curie"
  none = luke_jax.load("english/qa").predict(TEXT, question="How tall is the Eiffel Tower?")[0]
  assert none.text == ""
  (kind,) = luke_jax.load("english/labels").predict("I live in London.", labels=["city"])
  assert (kind.text, kind.label) == ("London", "city")
