"""From scores of candidates to answers."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from luke_jax.tasks.cloze.files import Example
from luke_jax.tasks.predictions import Answer
from luke_jax.text import Row


def decode(
  examples: Sequence[Example], rows: Sequence[Row], outputs: Mapping[str, Any]
) -> list[list[Answer]]:
  """Returns all candidates of each example by their best score in any window, the best first."""
  scores: list[dict[int, float]] = [{} for _ in examples]
  for i, row in enumerate(rows):
    logits, best = outputs["logits"][i], scores[row.example]
    for number, logit in zip(row.source, logits[: len(row.source)], strict=True):
      best[number] = max(float(logit), best.get(number, -math.inf))
  return [_ranked(example, best) for example, best in zip(examples, scores, strict=True)]


def _ranked(example: Example, scores: Mapping[int, float]) -> list[Answer]:
  answers = []
  for number in sorted(scores, key=lambda number: (-scores[number], number)):
    start, end = example.entities[number]
    probability = (1 + math.tanh(scores[number] / 2)) / 2  # the logistic function
    answers.append(Answer(example.text[start:end], start, end, probability))
  return answers
