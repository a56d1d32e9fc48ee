"""Entities of a file that a model can find, as candidates, and the reasons for others."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from luke_jax.errors import InputError
from luke_jax.tasks.ner.documents import Example, to_words
from luke_jax.tasks.ner.tags import Labelled
from luke_jax.text import Row


class Missed(NamedTuple):
  """An entity that is no candidate, its place, and the reason."""

  place: str
  text: str
  why: str


def missed(example: Example, span_words: int, rows: Sequence[Row] | None = None) -> list[Missed]:
  """Returns the entities of a document that no model can find.

  With the document's `rows` also those that their tokenizer has no candidate for.
  """
  entities = []
  for span, words in zip(example.spans or (), to_words(example, example.spans or ()), strict=True):
    why = _why(example, span, words, span_words)
    if not why and rows is not None and words is not None and not _is_candidate(words, rows):
      why = "no candidate with this model's word pieces"
    if why:
      entities.append(
        Missed(example.place_of(span.start), example.text[span.start : span.end], why)
      )
  return entities


def _why(example: Example, span: Labelled, words: Labelled | None, most: int) -> str:
  text = example.text[span.start : span.end]
  if not text.strip():
    return "white space"
  if text != text.strip():
    return "white space at its edge"
  if words is None:
    return "begins or ends inside a word"
  if words.end - words.start > most:
    return f"{words.end - words.start} words; candidates have at most {most}"
  edges = np.cumsum([0, *map(len, example.sentences)])
  if np.searchsorted(edges, words.start, "right") != np.searchsorted(edges, words.end, "left"):
    return "in more than one sentence"
  return ""


def _is_candidate(words: Labelled, rows: Sequence[Row]) -> bool:
  wanted = (words.start, words.end)
  return any(bool(np.any(np.all(row.source == wanted, axis=-1))) for row in rows)


def marks(row: Row, labels: Sequence[str]) -> Iterator[Labelled]:
  """The entities of a row, as places in its word pieces."""
  if row.labels is not None:
    for number in np.flatnonzero(row.labels > 0).tolist():
      start, end = row.entity_tokens[number].tolist()
      yield Labelled(start, end, labels[row.labels[number]])


def check_learnable(path: str, examples: Sequence[Example], rows: Sequence[Row]) -> None:
  """Raises InputError for a training file of which no entity can be found."""
  total = sum(len(example.spans or ()) for example in examples)
  if not total:
    raise InputError(f"{path}: no entities; expected one at least, to learn from")
  if not any(np.any(row.labels) for row in rows if row.labels is not None):
    raise InputError(
      f"{path}: none of its {total} entities can be found; expected whole words of a sentence:"
      f" luke-jax data check {path} --task ner says what is wrong"
    )
