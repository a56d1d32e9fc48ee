"""Logits of candidates to entities."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from luke_jax.tasks.ner.documents import Example
from luke_jax.tasks.predictions import Span
from luke_jax.text import Row


class _Candidate(NamedTuple):
  """A span of words with its best label, if that is not the label of no entity."""

  logit: float
  start: int
  end: int
  label: int
  score: float


def decode(
  examples: Sequence[Example],
  rows: Sequence[Row],
  outputs: Mapping[str, Any],
  labels: Sequence[str],
) -> list[list[Span]]:
  """Returns each document's entities in order; of overlapping ones, that with the highest logit."""
  candidates: list[list[_Candidate]] = [[] for _ in examples]
  for i, row in enumerate(rows):
    candidates[row.example] += _entities(row, np.asarray(outputs["logits"][i], np.float64))
  return [_spans(example, own, labels) for example, own in zip(examples, candidates, strict=True)]


def _entities(row: Row, logits: np.ndarray) -> list[_Candidate]:
  logits = logits[: len(row.entity_ids)]
  labels = logits.argmax(axis=-1)
  entities = labels.nonzero()[0]
  logits, labels = logits[entities], labels[entities]
  best = logits.max(axis=-1, initial=-np.inf)
  scores = 1 / np.exp(logits - best[:, None]).sum(axis=-1)
  columns = (best, *row.source[entities].T, labels, scores)
  return [_Candidate(*values) for values in zip(*(x.tolist() for x in columns), strict=True)]


def _spans(example: Example, candidates: list[_Candidate], labels: Sequence[str]) -> list[Span]:
  words, taken, spans = example.words, bytearray(len(example.words)), []
  for candidate in sorted(candidates, key=lambda candidate: -candidate.logit):
    start, end = candidate.start, candidate.end
    if not any(taken[start:end]):
      taken[start:end] = bytes([1]) * (end - start)
      first, last = words[start][0], words[end - 1][1]
      label = labels[candidate.label]
      spans.append(Span(example.text[first:last], first, last, label, candidate.score))
  return sorted(spans, key=lambda span: span.start)
