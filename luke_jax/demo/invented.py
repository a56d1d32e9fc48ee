"""Sections of the demo's page on an invented world: a LUKE pretrained from a dump on."""

from typing import Any

import luke_jax
from luke_jax import show
from luke_jax.demo import texts
from luke_jax.demo.steps import FRESH, result
from luke_jax.files import Path

PRETRAINING = ("word_loss", "entity_accuracy")


def sections(folder: Path) -> list[show.Section]:
  """Returns what pretraining made of the sample wiki."""
  model = luke_jax.load(folder / "luke")
  first, fresh = (100 * typing_f1(folder, name) for name in ("typing", "typing" + FRESH))
  parts: list[str | show.Picture] = [
    "A wiki of an invented world, from its dump to records, and a LUKE of two layers that learns to"
    " fill in masked words and masked entities.",
    show.curves(folder / "pretraining", metrics=PRETRAINING),
    f"Fine-tuned to type names, it has a loose micro F1 of {first:.0f}; without pretraining"
    f" {fresh:.0f}. One seed: a few points either way are chance.",
  ]
  attention = (
    "LUKE has a query of its own for each of the four kinds of pairs of words and entities:"
  )
  inside = ["Entities whose vectors are alike:", _alike(model), attention, _attention(model)]
  return [
    show.Section("LUKE from a dump", parts),
    show.Section("Its entities and attention", inside, folded=True),
  ]


def typing_f1(folder: Path, name: str) -> float:
  """Returns the loose micro F1 of a run on the test file."""
  return result(folder, name)["scores"]["test"]["f1"]


def _alike(model: Any) -> show.Picture:
  vocabulary = model.processor.entity_vocab.ids
  return show.nearest(model, [title for title in texts.ALIKE if title in vocabulary], count=4)


def _attention(model: Any) -> show.Picture:
  spans = [texts.place(texts.ATTENDED, name) for name in ("Aurelio Verdano", "A Grammar of Rain")]
  return show.attention(model, texts.ATTENDED, spans)
