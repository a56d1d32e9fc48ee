"""Documents with entities in the text files of ERNIE of Tsinghua: two files, line by line alike.

A line is a document: the number of its sentences, then each one's length and its word ids, with
tabs between. In the second file `Q42` or `#UNK#` stand in the place of word ids.
"""

import itertools
from collections.abc import Iterator, Mapping

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.pipeline.instances import NONE
from luke_jax.pipeline.sentence_pairs import Document, Pieces, first_pieces

NO_ENTITY = "#UNK#"


def read_documents(
  words: Path, entities: Path, numbers: Mapping[str, int], how: str = "first"
) -> Iterator[Document]:
  """Yields the documents of both files; entities without a number are none."""
  with _opened(words) as first, _opened(entities) as second:
    for number, pair in enumerate(itertools.zip_longest(first, second), start=1):
      if None in pair:
        raise InputError(f"{entities}: other lines than {words}; expected line {number} in both")
      ids, names = (
        list(_sentences(line, f"{path}: line {number}"))
        for line, path in zip(pair, (words, entities), strict=True)
      )
      if list(map(len, ids)) != list(map(len, names)):
        raise InputError(f"{entities}: line {number}: other sentences than {words}; expected alike")
      yield [
        Pieces(_ids(own, f"{words}: line {number}"), first_pieces(_numbers(beside, numbers), how))
        for own, beside in zip(ids, names, strict=True)
      ]


def _opened(path: Path):
  try:
    return path.open(encoding="utf-8")
  except OSError as fault:
    raise InputError(f"{path}: {fault.strerror}; expected documents as text") from None


def _sentences(line: str, place: str) -> Iterator[list[str]]:
  fields = line.split()
  if not fields or not fields[0].isdecimal():
    raise InputError(f"{place}: {line[:20]!r}; expected the number of sentences")
  at = 1
  while at < len(fields):
    if not fields[at].isdecimal() or at + int(fields[at]) >= len(fields):
      raise InputError(f"{place}: field {at + 1}: {fields[at]!r}; expected a sentence's length")
    end = at + 1 + int(fields[at])
    if end > at + 1:  # the count leaves empty ones out
      yield fields[at + 1 : end]
    at = end


def _ids(fields: list[str], place: str) -> np.ndarray:
  try:
    return np.array(fields, np.int32)
  except (ValueError, OverflowError):
    raise InputError(f"{place}: {' '.join(fields)[:40]!r}; expected ids of words") from None


def _numbers(names: list[str], numbers: Mapping[str, int]) -> np.ndarray:
  return np.array([numbers.get(name, NONE) for name in names], np.int32)
