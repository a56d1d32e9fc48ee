"""Vectors of words from a file, in the rows of a task, for a system that reads them."""

import dataclasses
from collections.abc import Sequence

import jax
import numpy as np

from luke_jax.errors import InputError
from luke_jax.models.system import Backbone
from luke_jax.pipeline.reads import Reads, cached
from luke_jax.tasks.extra_inputs import ExtraInputs
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


def rows_of(folder: str, sentences: Sequence[Sequence[str]], place: str) -> np.ndarray:
  """Returns the numbers of the words of a document's sentences in the file of a folder."""
  vectors = open_vectors(folder)
  return np.concatenate([vectors.rows(words, place) for words in sentences if words])


@dataclasses.dataclass(frozen=True)
class WordVectors(ExtraInputs):
  """Vectors of the words of a task's files, from a folder; an empty name is none."""

  folder: str

  def reads(self) -> Reads:
    """Returns the files of the vectors."""
    if not self.folder:
      return Reads()
    return Reads((f"{self.folder}/{SENTENCES}",), (f"{self.folder}/{ARRAY}",))

  def check(self, backbone: Backbone) -> None:
    """Raises InputError for vectors that the model does not read, and where it lacks its own."""
    shapes = self.shapes(backbone, 1)
    wanted = shapes[VECTORS].shape[1:] if shapes else None
    if wanted is None and self.folder:
      raise InputError(
        f"task.word_vectors: {self.folder}; expected none, for the model reads no vectors"
      )
    if wanted and not self.folder:
      raise InputError("task.word_vectors: empty; expected a folder, for the model reads vectors")
    if wanted and open_vectors(self.folder).shape != wanted:
      there = " x ".join(map(str, open_vectors(self.folder).shape))
      expected = " x ".join(map(str, wanted))
      raise InputError(f"{self.folder}: vectors of {there}; expected {expected}, layers and width")

  def rooms(self, backbone: Backbone, words: int) -> dict[str, Room]:
    """Returns the room for the numbers of a row's words in the file."""
    return {ROWS: Room((words,), NONE)} if self.shapes(backbone, words) else {}

  def shapes(self, backbone: Backbone, words: int) -> dict[str, jax.ShapeDtypeStruct]:
    """Returns the shape of a row's vectors, if the model reads them."""
    room = backbone.config.beside(words).get(VECTORS)
    return {VECTORS: jax.ShapeDtypeStruct(room.shape, room.dtype)} if room else {}

  def batch(self, backbone: Backbone, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Returns a batch with vectors in the place of their numbers, zero where there is none."""
    numbers = arrays.pop(ROWS, None)
    if numbers is None:
      return arrays
    return arrays | {VECTORS: open_vectors(self.folder)[numbers]}
