"""Texts cut into units that are masked whole, in the files of ERNIE of Baidu.

A line is an instance; a file whose name ends in .gz is gzipped. Between semicolons are fields of
whole numbers, with spaces between them: the ids of the words, their types (of two parts, or of the
roles in a dialogue), their positions, the labels of their units, and whether the text is a true
one: the second part follows the first, or no utterance of the dialogue is another's. A label is 0
at the first word of a unit, 1 at its other words, -1 at special tokens. The authors' files have one
field of labels; others have one for each level of units.
"""

from collections.abc import Iterator, Sequence
from typing import IO, NamedTuple

import numpy as np

from luke_jax.errors import InputError

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


BLOCK = 2**18  # bytes of lines that are read at once: their arrays fit into a core's cache
_DIGITS = 9  # of a number, at most: it fits into 32 bits
_SPACE, _FIELD, _LINE, _DIGIT, _MINUS, _OTHER = range(6)  # kinds of bytes
_KINDS = np.full(256, _OTHER, np.uint8)
_KINDS[np.frombuffer(b" ;\n-", np.uint8)] = _SPACE, _FIELD, _LINE, _MINUS
_KINDS[ord("0") : ord("9") + 1] = _DIGIT


class InstanceBlock(NamedTuple):
  """Instances one after the other: their words, how many each has, and whether each is true."""

  words: np.ndarray  # (all words,) of `word_type`
  lengths: np.ndarray  # (instances,)
  true: np.ndarray  # (instances,)


def word_type(levels: int) -> np.dtype:
  """Returns the type of a word: its id, its type, and its unit labels."""
  return np.dtype([("id", "<u4"), ("type", "i1"), ("units", "i1", (levels,))])


def read_blocks(file: IO[bytes], levels: int, path: str) -> Iterator[InstanceBlock]:
  """Yields the instances of a file's lines; raises InputError for a line that is none."""
  number = 1
  while lines := file.readlines(BLOCK):
    yield _plain(b"".join(lines), levels) or _any(lines, levels, path, number)
    number += len(lines)


def _any(lines: Sequence[bytes], levels: int, path: str, number: int) -> InstanceBlock:
  """Reads lines one by one, the first of which has this number."""
  made = []
  for line in lines:
    text = line.decode("utf-8", "replace").rstrip("\r\n")
    made.append(_one(text, levels, f"{path}: line {number + len(made)}"))
  words, true = zip(*made, strict=True)
  return InstanceBlock(np.concatenate(words), np.array([len(x) for x in words]), np.array(true))


def _one(line: str, levels: int, place: str) -> tuple[np.ndarray, bool]:
  fields = line.split(";")
  if len(fields) != 4 + levels:
    raise InputError(
      f"{place}: {len(fields)} fields; expected {4 + levels}, of them {levels} of unit labels"
      " (task.levels, or as the first line has)"
    )
  numbers = [_numbers(field, place) for field in fields[:-1]]
  ids, types, units = numbers[0], numbers[1], numbers[3:]
  for what, array in (("types", types), ("positions", numbers[2]), *(("labels", x) for x in units)):
    if len(array) != len(ids):
      raise InputError(f"{place}: {len(array)} {what}; expected {len(ids)}, one for each id")
  if fields[-1] not in ("0", "1"):
    raise InputError(f"{place}: {fields[-1]!r:.20} at the end; expected 0 or 1")
  odd = len(ids) < 2 or not 0 <= ids.min() <= ids.max() < 2**32
  if odd or not 0 <= types.min() <= types.max() <= 1:
    raise InputError(f"{place}: ids or types out of range; expected ids from 0, types 0 and 1")
  for labels in units:
    check_units(labels, place)
  return _words(ids, types, np.stack(units)), fields[-1] == "1"


def _numbers(field: str, place: str) -> np.ndarray:
  try:
    return np.array(field.split(), np.int64)
  except (ValueError, OverflowError):
    raise InputError(
      f"{place}: {field!r:.40}; expected whole numbers with spaces between"
    ) from None


def _words(ids: np.ndarray, types: np.ndarray, units: np.ndarray) -> np.ndarray:
  words = np.empty(len(ids), word_type(len(units)))
  words["id"], words["type"], words["units"] = ids, types, units.T
  return words


class _Numbers(NamedTuple):
  """Numbers of a text, each closed by one byte."""

  text: np.ndarray  # its bytes
  ends: np.ndarray  # places of the closing bytes
  sizes: np.ndarray  # bytes of the numbers
  negative: np.ndarray

  def at(self, places: np.ndarray) -> "_Numbers":
    """Returns some of the numbers."""
    return _Numbers(self.text, *(x[places] for x in self[1:]))

  def digits(self) -> np.ndarray:
    """Returns the last digit of each number."""
    return self.text[self.ends - 1] - ord("0")

  def values(self) -> np.ndarray:
    """Returns the values of numbers that are not negative."""
    total = self.digits().astype(np.uint32)
    for place in range(1, int(self.sizes.max())):
      digits = self.text[self.ends - 1 - place] - ord("0")
      total += np.where(self.sizes > place, digits, 0) * np.uint32(10**place)
    return total


def _plain(data: bytes, levels: int) -> InstanceBlock | None:
  """Reads whole lines by the kinds of their bytes; None unless all is as it should be."""
  text = np.frombuffer(data, np.uint8)
  kinds = _KINDS[text]
  numbers = _split(text, kinds)
  if numbers is None:
    return None
  bounds = _fields(kinds[numbers.ends], levels)
  if bounds is None:
    return None
  lasts, counts = bounds
  lengths = counts[:, 0]
  true = numbers.at(lasts[:, -1])
  starts = np.cumsum(lengths) - lengths
  # Where a line's ids begin among all numbers, less where its words do among all words.
  shift = np.cumsum(counts.sum(1)) - counts.sum(1) - starts
  ids = np.arange(lengths.sum()) + np.repeat(shift, lengths)
  step = np.repeat(lengths, lengths)  # from a word's number in a field to that in the next
  types = numbers.at(ids + step)
  labels = [_labels(numbers.at(ids + (3 + level) * step), starts) for level in range(levels)]
  if lengths.min() < 2 or not (_is_bit(types) and _is_bit(true)):
    return None
  if numbers.negative[ids].any() or any(x is None for x in labels):
    return None
  words = _words(
    numbers.at(ids).values(), types.digits(), np.stack([x for x in labels if x is not None])
  )
  return InstanceBlock(words, lengths, true.digits() == 1)


def _fields(closing: np.ndarray, levels: int) -> tuple[np.ndarray, np.ndarray] | None:
  """Returns the last number of each field, and how many each has, (lines, fields) both.

  None unless all fields of a line have as many, and the last has one.
  """
  order = [_FIELD] * (3 + levels) + [_LINE]
  lasts = np.flatnonzero(closing != _SPACE)
  if len(lasts) % len(order) or (closing[lasts].reshape(-1, len(order)) != order).any():
    return None
  counts = np.diff(lasts, prepend=-1).reshape(-1, len(order))
  if (counts[:, 1:-1] != counts[:, :1]).any() or (counts[:, -1] != 1).any():
    return None
  return lasts.reshape(counts.shape), counts


def _split(text: np.ndarray, kinds: np.ndarray) -> _Numbers | None:
  """Returns numbers that are each closed by one byte; None for another text."""
  ends = np.flatnonzero(kinds <= _LINE)
  if kinds[-1] != _LINE or kinds.max() == _OTHER:
    return None
  starts = np.append(0, ends[:-1] + 1)
  sizes = ends - starts
  negative = kinds[starts] == _MINUS
  signs = np.count_nonzero(kinds == _MINUS)
  if not 1 <= (sizes - negative).min() <= sizes.max() <= _DIGITS or signs != negative.sum():
    return None
  return _Numbers(text, ends, sizes, negative)


def _is_bit(numbers: _Numbers) -> bool:
  return bool((numbers.sizes == 1).all() and (numbers.digits() <= 1).all())


def _labels(numbers: _Numbers, starts: np.ndarray) -> np.ndarray | None:
  """Returns labels of units, of texts that start at these words; None if some are none."""
  digits, negative = numbers.digits(), numbers.negative
  labels = np.where(negative, SPECIAL, digits).astype(np.int8)
  before = np.append(SPECIAL, labels[:-1])
  before[starts] = SPECIAL
  odd = (digits > 1) | (negative & (digits != 1)) | (numbers.sizes != 1 + negative)
  odd |= (labels == CONTINUED) & (before == SPECIAL)
  return None if odd.any() else labels
