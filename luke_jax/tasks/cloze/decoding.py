"""From scores of candidates to answers."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from luke_jax.tasks.cloze.files import Example
from luke_jax.tasks.predictions import Answer
from luke_jax.text import Row


def decode(
  examples: Sequence[Example], features: Sequence[Row], outputs: Mapping[str, Any]
) -> list[list[Answer]]:
  """All candidates of each example, the best first; of several windows the best score counts."""
  scores: list[dict[int, float]] = [{} for _ in examples]
  for i, row in enumerate(features):
    logits, found = outputs["logits"][i], scores[row.example]
    for number, logit in zip(row.source, logits[: len(row.source)], strict=True):
      found[number] = max(float(logit), found.get(number, -math.inf))
  return [_ranked(example, found) for example, found in zip(examples, scores, strict=True)]


def _ranked(example: Example, scores: Mapping[int, float]) -> list[Answer]:
  answers = []
  for number in sorted(scores, key=lambda number: (-scores[number], number)):
    start, end = example.entities[number]
    probability = (1 + math.tanh(scores[number] / 2)) / 2  # the logistic function
    answers.append(Answer(example.text[start:end], start, end, probability))
  return answers
