"""Vectors of words in files: of each word of a language, or of each word of given sentences."""

import dataclasses
from collections.abc import Container, Iterator, Sequence

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.files.copies import local

VECTORS = "word_vectors"  # an encoder's input of vectors, and a task's field for their folder
SENTENCES, ARRAY = "sentences.txt", "vectors.npy"
NONE = -1  # the row of a place without a vector


def read_word_vectors(path: Path, wanted: Container[str]) -> dict[str, np.ndarray]:
  """Returns the vectors of the wanted words in a text file of GloVe's or word2vec's form.

  A line is a word and its numbers; word2vec's first line has the numbers of words and of values. Of
  a word that stands twice the first vector counts.
  """
  vectors: dict[str, np.ndarray] = {}
  width = 0
  for number, line in _lines(path):
    parts = line.split(" ")
    if number == 1 and len(parts) == 2 and all(part.isdecimal() for part in parts):
      width = int(parts[1])
      continue
    width = width or len(parts) - 1
    # A few words of GloVe's largest file have spaces in them.
    word, *values = line.rsplit(" ", width)
    if width < 1 or len(values) != width:
      raise InputError(
        f"{path}: line {number}: {len(parts) - 1} numbers after a word; expected {max(width, 1)}"
      )
    if word in wanted and word not in vectors:
      place = f"{path}: line {number}"
      try:
        vector = np.array(values, np.float32)
      except ValueError:
        raise InputError(f"{place}: {' '.join(values)!r:.60}; expected numbers") from None
      if not np.isfinite(vector).all():
        raise InputError(f"{place}: a number that is not finite; expected finite ones")
      vectors[word] = vector
  if not width:
    raise InputError(f"{path}: empty; expected a word and its numbers on each line")
  return vectors


def _lines(path: Path) -> Iterator[tuple[int, str]]:
  """Yields the lines of a file that are not empty, numbered from 1."""
  try:
    with path.open(encoding="utf-8", newline="\n") as file:
      for number, line in enumerate(file, start=1):
        if line.strip():
          yield number, line.rstrip(" \r\n")
  except FileNotFoundError:
    raise InputError(f"{path}: no such file; expected vectors of words, in text") from None
  except UnicodeDecodeError:
    raise InputError(f"{path}: not UTF-8; expected vectors of words, in text") from None
  except OSError as fault:
    raise InputError(f"{path}: {fault.strerror}; expected vectors of words, in text") from None


@dataclasses.dataclass(frozen=True, eq=False)
class SentenceVectors:
  """Vectors of every word of known sentences, such as a language model computes them."""

  folder: Path
  first: dict[str, int]  # sentence -> the row of its first word
  table: np.ndarray  # (words, layers, K), on the disk

  @property
  def shape(self) -> tuple[int, ...]:
    """Returns the number of layers, and the width."""
    return self.table.shape[1:]

  def rows(self, words: Sequence[str], place: str) -> np.ndarray:
    """Returns the numbers of the words of a sentence; raises InputError for an unknown one."""
    sentence = " ".join(words)
    first = self.first.get(sentence)
    if first is None:
      raise InputError(
        f"{place}: no vectors of the sentence {sentence!r:.60} in {self.folder}; expected each"
        f" sentence in {SENTENCES}, its words with a space between"
      )
    return np.arange(first, first + len(words), dtype=np.int32)

  def __getitem__(self, rows: np.ndarray) -> np.ndarray:
    """Returns the vectors of rows (..., layers, K) in float32; zero for `NONE`."""
    vectors = np.asarray(self.table[np.maximum(rows, 0)], np.float32)
    return np.where((rows != NONE)[..., None, None], vectors, np.float32(0))

  def __reduce__(self) -> tuple[object, ...]:
    return read_sentence_vectors, (self.folder,)


def read_sentence_vectors(folder: str | Path) -> SentenceVectors:
  """Opens a folder of vectors: sentences, one a line, and an array of a row for each word.

  The array is (words, K), or (words, layers, K).
  """
  folder = Path(folder)
  first, total = {}, 0
  for _, line in _lines(folder / SENTENCES):
    first.setdefault(line, total)
    total += len(line.split(" "))
  path = folder / ARRAY
  try:
    table = np.load(local(path), mmap_mode="r", allow_pickle=False)
  except (ValueError, OSError, EOFError) as fault:
    raise InputError(f"{path}: {fault}; expected an array of NumPy") from None
  if table.ndim not in (2, 3) or len(table) != total or table.dtype.kind != "f":
    raise InputError(
      f"{path}: {table.dtype} of shape {table.shape}; expected floating point numbers"
      f" ({total}, width) or ({total}, layers, width), as {SENTENCES} has {total} words"
    )
  return SentenceVectors(folder, first, table if table.ndim == 3 else table[:, None])
