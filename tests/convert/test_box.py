"""The models in the box: small, of the backbone that `luke-jax get` fetches, and right."""

import json
from pathlib import Path

import pytest
from safetensors import safe_open

import luke_jax
from luke_jax import english
from luke_jax.convert.published import ENGLISH, WEIGHTS
from luke_jax.convert.tensors import ADAPTER, CHECKSUMS

MOST = 8_000_000  # bytes of all
TEXT = "Marie Curie and her husband Pierre Curie worked in Paris."


def test_all_of_them_are_small_and_of_the_english_backbone():
  folder, every = Path(english.__file__).parent, (*english.TASKS, english.LINKING)
  assert sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) < MOST
  assert {path.name for path in folder.iterdir() if (path / "config.json").is_file()} == set(every)
  for task in every:
    config = json.loads((english.directory(task) / "config.json").read_text("utf-8"))
    assert config["luke_jax"]["adapter"]["backbone"]["sha256"] == ENGLISH.files[WEIGHTS]
    assert config["luke_jax"]["task"] == task
    if task == "ner":  # documents are read as its sentences were
      trained = config["luke_jax"]["run"]["settings"]["task.words"]
      assert config["luke_jax"]["settings"]["window"] == trained
    with safe_open(english.directory(task) / ADAPTER, framework="np") as file:
      assert CHECKSUMS in file.metadata()  # without them damage would go unnoticed
    card = (english.directory(task) / "README.md").read_text("utf-8")
    assert "license: apache-2.0" in card and "/root" not in card
    licence = card.partition("## Licence\n")[2]
    assert config["luke_jax"]["run"]["data_licence"] in licence and "../NOTICE.md" in licence


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
