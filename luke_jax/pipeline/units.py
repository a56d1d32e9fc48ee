"""Texts cut into units that are masked whole, in the files of ERNIE of Baidu.

A line is an instance; a file whose name ends in .gz is gzipped. Between semicolons are fields of
whole numbers, with spaces between them: the ids of the words, their types (of two parts, or of the
roles in a dialogue), their positions, the labels of their units, and whether the text is a true
one: the second part follows the first, or no utterance of the dialogue is another's. A label is 0
at the first word of a unit, 1 at its other words, -1 at special tokens. The authors' files have one
field of labels; others have one for each level of units.
"""

import contextlib
import dataclasses
import gzip
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.files.copies import local
from luke_jax.pipeline.cache import cached

SPECIAL, FIRST, CONTINUED = -1, 0, 1  # labels of units
_EXPECTED = "expected ids;types;positions;unit labels;0 or 1"


class UnitInstance(NamedTuple):
  """An instance: words (W,), their types (W,), unit labels (levels, W), and its file's number."""

  input_ids: np.ndarray
  token_type_ids: np.ndarray
  units: np.ndarray
  true: bool
  file: int = 0


@dataclasses.dataclass(frozen=True, eq=False)
class UnitFile:
  """The instances of a file, in memory one after the other."""

  ids: np.ndarray  # (all words,)
  types: np.ndarray
  units: np.ndarray  # (levels, all words)
  ends: np.ndarray  # (instances + 1,), from 0
  true: np.ndarray  # (instances,)

  def __len__(self) -> int:
    return len(self.true)

  def instance(self, index: int, file: int) -> UnitInstance:
    """Returns an instance by its number."""
    part = slice(int(self.ends[index]), int(self.ends[index + 1]))
    ids, types = (x[part].astype(np.int32) for x in (self.ids, self.types))
    return UnitInstance(ids, types, self.units[:, part], bool(self.true[index]), file)


@dataclasses.dataclass(frozen=True)
class UnitInstances:
  """The first instances of each of several files as "train", or the other ones as "dev".

  Pickled as paths, so that every process reads the files.
  """

  paths: tuple[str, ...]
  levels: int
  held_out: float
  split: str
  most: int  # of "dev"

  def __len__(self) -> int:
    return self._ends[-1]

  def __getitem__(self, index: int) -> UnitInstance:
    if not 0 <= index < len(self):
      raise IndexError(index)
    file = int(np.searchsorted(self._ends, index, side="right")) - 1
    stored = read_units(self.paths[file], self.levels)
    first = 0 if self.split == "train" else self._trained(len(stored))
    return stored.instance(first + index - self._ends[file], file)

  def _trained(self, count: int) -> int:
    return count - max(1, round(count * self.held_out))

  @property
  def _ends(self) -> list[int]:
    return _ends(self)


@cached(8)
def _ends(instances: UnitInstances) -> list[int]:
  ends = [0]
  for path in instances.paths:
    count = len(read_units(path, instances.levels))
    trained = instances._trained(count)
    if not trained:
      raise InputError(f"{path}: {count} instances; expected some to train on and some not")
    size = trained if instances.split == "train" else count - trained
    ends.append(ends[-1] + size)
  if instances.split == "train":
    return ends
  return [min(end, instances.most) for end in ends]


@cached(64)
def read_units(path: str, levels: int) -> UnitFile:
  """Reads a file whose lines have so many fields of unit labels."""
  ids, types, units, ends, true = [], [], [], [0], []
  for number, line in enumerate(_lines(path), start=1):
    instance = _instance(line.rstrip("\r\n"), levels, f"{path}: line {number}")
    ids.append(instance.input_ids.astype(np.uint32))
    types.append(instance.token_type_ids.astype(np.int8))
    units.append(instance.units.astype(np.int8))
    ends.append(ends[-1] + len(ids[-1]))
    true.append(instance.true)
  if not ids:
    raise InputError(f"{path}: no instances; {_EXPECTED} on each line")
  joined = np.concatenate(ids), np.concatenate(types), np.concatenate(units, axis=1)
  return UnitFile(*joined, np.array(ends), np.array(true))


def _lines(path: str) -> Iterator[str]:
  place = Path(path)
  try:
    file = local(place)
    opened = gzip.open if path.endswith(".gz") else open
    with opened(file, "rt", encoding="utf-8") as lines:
      yield from lines
  except (OSError, EOFError, UnicodeDecodeError) as fault:
    reason = getattr(fault, "strerror", None) or str(fault)
    raise InputError(f"{path}: {reason}; {_EXPECTED} on each line") from None


def _instance(line: str, levels: int, place: str) -> UnitInstance:
  fields = line.split(";")
  if len(fields) != 4 + levels:
    raise InputError(
      f"{place}: {len(fields)} fields; expected {4 + levels}, of them {levels} of unit labels"
    )
  numbers = [_numbers(field, place) for field in fields[:-1]]
  ids, types, units = numbers[0], numbers[1], numbers[3:]
  for what, array in (("types", types), ("positions", numbers[2]), *(("labels", x) for x in units)):
    if len(array) != len(ids):
      raise InputError(f"{place}: {len(array)} {what}; expected {len(ids)}, one for each id")
  if fields[-1] not in ("0", "1"):
    raise InputError(f"{place}: {fields[-1]!r:.20} at the end; expected 0 or 1")
  if len(ids) < 2 or ids.min() < 0 or not 0 <= types.min() <= types.max() <= 1:
    raise InputError(f"{place}: ids or types out of range; expected ids from 0, types 0 and 1")
  for labels in units:
    check_units(labels, place)
  return UnitInstance(ids, types, np.stack(units), fields[-1] == "1")


def _numbers(field: str, place: str) -> np.ndarray:
  try:
    return np.array(field.split(), np.int64)
  except (ValueError, OverflowError):
    raise InputError(
      f"{place}: {field!r:.40}; expected whole numbers with spaces between"
    ) from None


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
