"""Vectors of words from a file, in the rows of a task, for a system that reads them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from luke_jax.errors import InputError
from luke_jax.models.family import Backbone
from luke_jax.pipeline.cache import cached
from luke_jax.pipeline.reads import Reads
from luke_jax.text.rows import Room
from luke_jax.text.word_vectors import (
  ARRAY,
  NONE,
  SENTENCES,
  VECTORS,
  SentenceVectors,
  read_sentence_vectors,
)

ROWS = "vector_rows"  # of a row's `extra`: the numbers of its words in the file


@cached(4)
def open_vectors(folder: str) -> SentenceVectors:
  """Returns the vectors of a folder, opened once in a process."""
  return read_sentence_vectors(folder)


def reads(task: Any) -> Reads:
  """Returns the files of the words' vectors that a task names, if it names some."""
  folder = getattr(task, VECTORS, "")
  return Reads((f"{folder}/{SENTENCES}",), (f"{folder}/{ARRAY}",)) if folder else Reads()


def rooms(backbone: Backbone, words: int) -> dict[str, Room]:
  """Returns the room for what the model reads beside words; of vectors, for their numbers."""
  found = dict(backbone.family.beside(backbone.config, words))
  if found.pop(VECTORS, None):
    found[ROWS] = Room((words,), NONE)
  return found


def rows_of(folder: str, sentences: Sequence[Sequence[str]], place: str) -> np.ndarray:
  """Returns the numbers of the words of a document's sentences in the file of a folder."""
  vectors = open_vectors(folder)
  return np.concatenate([vectors.rows(words, place) for words in sentences if words])


def with_vectors(task: Any, backbone: Backbone, arrays: dict[str, np.ndarray]) -> dict:
  """Returns a batch with vectors in the place of their numbers, zero where there is none."""
  numbers = arrays.pop(ROWS, None)
  if numbers is None:
    return arrays
  return arrays | {VECTORS: open_vectors(task.word_vectors)[numbers]}


def check_task(task: Any, backbone: Backbone) -> None:
  """Raises InputError for vectors that the model does not read, and for a lack of those it does."""
  folder, room = getattr(task, "word_vectors", ""), backbone.family.beside(backbone.config, 1)
  wanted = room[VECTORS].shape[1:] if VECTORS in room else None
  if wanted is None and folder:
    raise InputError(f"task.word_vectors: {folder}; expected none, for the model reads no vectors")
  if wanted and not folder:
    raise InputError("task.word_vectors: empty; expected a folder, for the model reads vectors")
  if wanted and open_vectors(folder).shape != wanted:
    found = " x ".join(map(str, open_vectors(folder).shape))
    expected = " x ".join(map(str, wanted))
    raise InputError(f"{folder}: vectors of {found}; expected {expected}, layers and width")
