"""Sections of the demo's page on real English: what models read in texts they do not know."""

import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

import luke_jax
from luke_jax import english, show
from luke_jax.demo import texts
from luke_jax.demo.steps import ENGLISH, REPOSITORY, result, run_folder
from luke_jax.files import Path

DRAWN = {"ner": 2, "relations": 2}  # sentences of a test file
Parts = list[str | show.Picture]


def sections(folder: Path, text: str, chosen: random.Random) -> list[show.Section]:
  """Returns the sections on English; `text` is the user's, or empty."""
  models = {task: luke_jax.load(f"{english.NAME}/{task}") for task in ("ner", "typing", "qa")}
  trained = luke_jax.load(run_folder(folder, "relations") / "model")
  return [
    show.Section("A sentence", sentence(models, trained, text or texts.READ)),
    show.Section("Names in sentences drawn at random", _drawn_names(models["ner"], chosen)),
    show.Section("Relations, trained just now", _relations(folder, trained, chosen)),
  ]


def sentence(models: Mapping[str, Any], relations: Any, text: str) -> Parts:
  """Returns all that is read in a text: names, their types, a relation, and an answer."""
  names = models["ner"].predict(text)
  spans = [(name.start, name.end) for name in names]
  types = models["typing"].predict([text] * len(spans), span=spans) if spans else []
  kinds = [span for found in types for span in found[:1]]
  parts: Parts = [show.entities(text, [*names, *kinds])]
  if len(spans) > 1:
    relation = relations.predict(text, head=spans[0], tail=spans[1])
    parts += [
      "Of the sixteen relations that it knows, the one that fits the first two names best:",
      show.relations(text, relation),
    ]
  if text == texts.READ:
    answers = models["qa"].predict(text, question=texts.QUESTION)
    parts.append(show.answers(text, texts.QUESTION, answers, count=2))
  return parts


def _drawn_names(model: Any, chosen: random.Random) -> Parts:
  parts: Parts = [
    "From the test part of CrossNER: ✓ right, ✗ wrong; what was missed says so. names.html, beside"
    " this page, has the mistakes in all 120."
  ]
  for example in _drawn("ner", chosen):
    found = model.predict(example["text"])
    parts.append(show.entities(example["text"], found, gold=example["spans"]))
  return parts


def _relations(folder: Path, model: Any, chosen: random.Random) -> Parts:
  accuracy = 100 * result(folder, "relations")["scores"]["test"]["accuracy"]
  parts: Parts = [
    f"Sixteen relations of FewRel, learnt from 2,400 sentences: {accuracy:.0f} % of 320 others are"
    " right, where one relation for all would get 6 %.",
    show.curves(run_folder(folder, "relations"), metrics=["loss"]),
  ]
  for example in _drawn("relations", chosen):
    relation = model.predict(example["text"], head=example["head"], tail=example["tail"])
    parts += [show.relations(example["text"], relation), verdict(relation.label, example["label"])]
  return parts


def verdict(predicted: str, expected: str) -> str:
  """Returns whether a prediction is right, and what was expected where it is not."""
  return "✓ right" if predicted == expected else f"✗ wrong; expected: {expected}"


def _drawn(task: str, chosen: random.Random) -> Sequence[Mapping[str, Any]]:
  """Returns some examples of a test file, others each time."""
  path = REPOSITORY / ENGLISH / task / "test.jsonl"
  lines = path.read_text(encoding="utf-8").splitlines()
  return [json.loads(line) for line in chosen.sample(lines, DRAWN[task])]
