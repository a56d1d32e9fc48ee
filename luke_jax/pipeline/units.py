"""Texts cut into units that are masked whole, in the files of ERNIE of Baidu.

A line is an instance; a file whose name ends in .gz is gzipped. Between semicolons are fields of
whole numbers, with spaces between them: the ids of the words, their types (of two parts, or of the
roles in a dialogue), their positions, the labels of their units, and whether the text is a true
one: the second part follows the first, or no utterance of the dialogue is another's. A label is 0
at the first word of a unit, 1 at its other words, -1 at special tokens. The authors' files have one
field of labels; others have one for each level of units.
"""

import contextlib
import gzip
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path

SPECIAL, FIRST, CONTINUED = -1, 0, 1  # labels of units
EXPECTED = "expected ids;types;positions;unit labels;0 or 1"


class UnitInstance(NamedTuple):
  """An instance: words (W,), their types (W,), unit labels (levels, W), and its file's number."""

  input_ids: np.ndarray
  token_type_ids: np.ndarray
  units: np.ndarray
  true: bool
  file: int = 0


def check_units(labels: np.ndarray, place: str) -> None:
  """Raises InputError for labels that are none, and for units that no word begins."""
  odd = ~np.isin(labels, (SPECIAL, FIRST, CONTINUED))
  before = np.concatenate([[SPECIAL], labels[:-1]])
  odd |= (labels == CONTINUED) & (before == SPECIAL)
  if odd.any():
    word = int(odd.argmax())
    raise InputError(
      f"{place}: unit label {labels[word]} at word {word + 1}; expected 0 where a unit begins, 1"
      " after that, -1 at special tokens"
    )


def write_units(path: Path, instances: Iterable[UnitInstance]) -> int:
  """Writes instances to a file, gzipped by its name, and returns their number."""
  count = 0
  with contextlib.ExitStack() as stack:
    file: Any = stack.enter_context(path.open("wb"))
    if path.name.endswith(".gz"):
      # Without a time in its head, the same instances are the same bytes.
      file = stack.enter_context(gzip.GzipFile("", "wb", fileobj=file, mtime=0))
    for instance in instances:
      places = np.arange(len(instance.input_ids))
      arrays = (instance.input_ids, instance.token_type_ids, places, *instance.units)
      fields = [*map(_text, arrays), str(int(instance.true))]
      file.write(f"{';'.join(fields)}\n".encode())
      count += 1
  return count


def _text(numbers: Sequence[int] | np.ndarray) -> str:
  return " ".join(map(str, np.asarray(numbers).tolist()))
