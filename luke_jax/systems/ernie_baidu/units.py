"""Texts cut into units that are masked whole, in the files of ERNIE of Baidu.

They are read once into arrays that all processes of a machine map from its cache.

A line is an instance; a file whose name ends in .gz is gzipped. Between semicolons are fields of
whole numbers, with spaces between them: the ids of the words, their types (of two parts, or of the
roles in a dialogue), their positions, the labels of their units, and whether the text is a true
one: the second part follows the first, or no utterance of the dialogue is another's. A label is 0
at the first word of a unit, 1 at its other words, -1 at special tokens. The authors' files have one
field of labels; others have one for each level of units.
"""

import dataclasses
import functools
import gzip
import io
import json
import mmap
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any, NamedTuple, TypeVar

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path, cache_folder
from luke_jax.files.copies import Made, local, made
from luke_jax.pipeline.reads import cached
from luke_jax.pipeline.stored import most_open

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
_SPACE, _FIELD, _LINE, _MINUS = b" ;\n-"  # what is between numbers, and before a negative one
_DIGITS_AND_SIGNS = b"0123456789 ;\n-"
_CLOSES = np.zeros(256, bool)  # a number
_CLOSES[[_SPACE, _FIELD, _LINE]] = True
_SPACES = bytes.maketrans(b";\n", b"  ")


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


def _plain(data: bytes, levels: int) -> InstanceBlock | None:
  """Reads whole lines at once; None unless all is as it should be."""
  text = np.frombuffer(data, np.uint8)
  split = _split(data, text)
  bounds = None if split is None else _fields(text[split[1]], levels)
  if split is None or bounds is None:
    return None
  numbers, ends = split
  lasts, counts = bounds
  lengths, closing = counts[:, 0], lasts[:, -1]
  starts = np.cumsum(lengths) - lengths
  # Where a line's ids begin among all numbers, less where its words do among all words.
  shift = np.cumsum(counts.sum(1)) - counts.sum(1) - starts
  place = np.arange(lengths.sum()) + np.repeat(shift, lengths)
  step = np.repeat(lengths, lengths)  # from a word's number in a field to that in the next
  ids, types = numbers[place], numbers[place + step]
  units = np.stack([numbers[place + (3 + level) * step] for level in range(levels)])
  true, one_digit = numbers[closing], ends[closing] - ends[closing - 1] == 2
  if lengths.min() < 2 or ids.min() < 0 or not (_are_bits(types) and _are_bits(true)):
    return None
  if not one_digit.all() or not _are_labels(units, starts):
    return None
  return InstanceBlock(_words(ids, types, units), lengths, true == 1)


def _split(data: bytes, text: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
  """Returns numbers and the places of the bytes that close them; None for another text."""
  closes, negative = _CLOSES[text], text == _MINUS
  ends = np.flatnonzero(closes)
  if data.translate(None, _DIGITS_AND_SIGNS) or not data.endswith(b"\n") or negative[0]:
    return None
  if (np.diff(ends, prepend=-1) < 2).any():  # nothing between two of them
    return None
  if (negative[1:] & ~closes[:-1]).any() or (negative[:-1] & closes[1:]).any():
    return None
  numbers = np.fromstring(data.translate(_SPACES), np.int64, sep=" ")
  return (numbers, ends) if -(2**32) < numbers.min() <= numbers.max() < 2**32 else None


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


def _are_bits(numbers: np.ndarray) -> bool:
  return bool(0 <= numbers.min() <= numbers.max() <= 1)


def _are_labels(units: np.ndarray, starts: np.ndarray) -> bool:
  """Returns whether labels (levels, words) are some, of texts that start at these words."""
  before = np.pad(units[:, :-1], ((0, 0), (1, 0)))
  before[:, starts] = SPECIAL
  odd = (units == CONTINUED) & (before == SPECIAL)
  return not odd.any() and SPECIAL <= units.min() <= units.max() <= CONTINUED


CODE = 1  # version of the form
_WORDS, _TEXTS, _SIZES = "words", "texts", "sizes.json"
_TEXT = np.dtype([("end", "<i8"), ("true", "?")])  # of an instance; the first row is none's
_DESCRIPTORS = 3  # of a file that is open
T = TypeVar("T")


class UnitSizes(NamedTuple):
  """The most words of an instance of a file, and the highest id."""

  longest: int
  highest: int


@dataclasses.dataclass(frozen=True, eq=False)
class UnitFile:
  """The instances of a file, one after the other, in pages that are read when they are used."""

  words: np.ndarray  # (all words,) of `word_type`
  ends: np.ndarray  # (instances + 1,), from 0
  true: np.ndarray  # (instances,)
  sizes: UnitSizes
  source: Made | None = None  # where they are mapped from

  def __len__(self) -> int:
    return len(self.true)

  def instance(self, index: int, file: int) -> UnitInstance:
    """Returns an instance by its number."""
    words = self.words[self.ends[index] : self.ends[index + 1]]
    ids, types = words["id"].astype(np.int32), words["type"].astype(np.int32)
    return UnitInstance(ids, types, words["units"].T, bool(self.true[index]), file)


@dataclasses.dataclass(frozen=True)
class UnitInstances:
  """The first instances of each of several files as "train", or the other ones as "dev".

  Pickled as paths, so that every process maps the files.
  """

  paths: tuple[str, ...]
  levels: int
  held_out: float
  split: str
  most: int  # of "dev"

  def __len__(self) -> int:
    return int(self._ends[-1])

  def __getitem__(self, index: int) -> UnitInstance:
    return self.__getitems__([index])[0]

  def __getitems__(self, indices: Sequence[int]) -> list[UnitInstance]:
    """Returns instances by their indices."""
    if not 0 <= min(indices, default=0) <= max(indices, default=0) < len(self):
      raise IndexError(f"{min(indices)} to {max(indices)}")
    files = np.searchsorted(self._ends, indices, side="right").tolist()
    return [self._instance(file - 1, index) for file, index in zip(files, indices, strict=True)]

  def _instance(self, file: int, index: int) -> UnitInstance:
    stored = read_units(self.paths[file], self.levels)
    first = 0 if self.split == "train" else self._trained(len(stored))
    return stored.instance(first + index - int(self._ends[file]), file)

  def _trained(self, count: int) -> int:
    return count - max(1, round(count * self.held_out))

  @property
  def lengths(self) -> np.ndarray:
    """Returns the words of every instance."""
    lengths = []
    for path, count in zip(self.paths, np.diff(self._ends), strict=True):
      stored = read_units(path, self.levels)
      first = 0 if self.split == "train" else self._trained(len(stored))
      lengths.append(np.diff(stored.ends[first : first + count + 1]).astype(np.int32))
    return np.concatenate(lengths)

  @property
  def _ends(self) -> np.ndarray:
    return _ends(self)


@cached(8)
def _ends(instances: UnitInstances) -> np.ndarray:
  ends = [0]
  for path in instances.paths:
    count = len(read_units(path, instances.levels))
    trained = instances._trained(count)
    if not trained:
      raise InputError(f"{path}: {count} instances; expected some to train on and some not")
    size = trained if instances.split == "train" else count - trained
    ends.append(ends[-1] + size)
  return np.array(ends if instances.split == "train" else [min(x, instances.most) for x in ends])


@cached(max(1, most_open() // _DESCRIPTORS))
def read_units(path: str, levels: int) -> UnitFile:
  """Returns a file whose lines have so many fields of unit labels, parsed now or before.

  Where the cache cannot be written, its instances are read into memory, with a warning.
  """
  make = functools.partial(_fill, path, levels)
  source = _reading(path, lambda: made(Path(path), "units", f"{levels}-{CODE}", make))
  if source is None:
    return _in_memory(path, levels)
  try:
    texts = _mapped(source.folder / _TEXTS, _TEXT)
    # Instances are read in random order, for which the pages around them are read in vain.
    words = _mapped(source.folder / _WORDS, word_type(levels), mmap.MADV_RANDOM)
    sizes = UnitSizes(**json.loads((source.folder / _SIZES).read_bytes()))
    if texts["end"][-1] != len(words):
      raise ValueError("words are missing")
    return UnitFile(words, texts["end"], texts["true"][1:], sizes, source)
  except (OSError, ValueError, TypeError):
    raise InputError(
      f"{source.folder}: not as it was made of {path}; remove it, and it is made again"
    ) from None


def _in_memory(path: str, levels: int) -> UnitFile:
  warnings.warn(
    f"{path}: in the memory of every process that makes batches, since {cache_folder()} cannot be"
    " written; LUKE_JAX_CACHE can name another folder",
    stacklevel=3,
  )
  words, texts = io.BytesIO(), io.BytesIO()
  sizes = _parse(path, levels, words, texts)
  rows = np.frombuffer(texts.getbuffer(), _TEXT)
  stored = np.frombuffer(words.getbuffer(), word_type(levels))
  return UnitFile(stored, rows["end"], rows["true"][1:], sizes)


def _mapped(path: Path, kind: np.dtype, advice: int = mmap.MADV_NORMAL) -> np.ndarray:
  with path.open("rb") as file:
    pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
  pages.madvise(advice)
  return np.frombuffer(pages, kind)


def count_levels(path: str) -> int:
  """Returns how many fields of unit labels the first line of a file has."""
  with _lines(path) as file:
    levels = _reading(path, lambda: file.readline(BLOCK)).count(b";") - 3
  if levels < 1:
    raise InputError(f"{path}: no instances; {EXPECTED} on each line")
  return levels


def unit_blocks(path: str, levels: int) -> Iterator[InstanceBlock]:
  """Yields the instances of a file's lines, block by block."""
  with _lines(path) as file:
    blocks = read_blocks(file, levels, path)
    while (block := _reading(path, lambda: next(blocks, None))) is not None:
      yield block


def _lines(path: str) -> IO[bytes]:
  opened: Any = gzip.open if path.endswith(".gz") else open
  return _reading(path, lambda: opened(local(Path(path)), "rb"))


def _reading(path: str, read: Callable[[], T]) -> T:
  """Returns the content of a file; raises InputError if it cannot be read."""
  try:
    return read()
  except (OSError, EOFError, zlib.error) as fault:
    reason = (fault.strerror if isinstance(fault, OSError) else None) or str(fault)
    raise InputError(f"{path}: {reason}; {EXPECTED} on each line") from None


def _fill(path: str, levels: int, folder: Path) -> None:
  """Writes the instances of a file into a folder."""
  with (folder / _WORDS).open("wb") as words, (folder / _TEXTS).open("wb") as texts:
    sizes = _parse(path, levels, words, texts)
  (folder / _SIZES).write_text(json.dumps(sizes._asdict()), encoding="utf-8")


def _parse(path: str, levels: int, words: IO[bytes], texts: IO[bytes]) -> UnitSizes:
  """Writes the words of a file's instances, and where each ends."""
  count = longest = highest = 0
  texts.write(np.zeros(1, _TEXT).tobytes())
  for block in unit_blocks(path, levels):
    rows = np.empty(len(block.lengths), _TEXT)
    rows["end"], rows["true"] = count + np.cumsum(block.lengths), block.true
    words.write(block.words.tobytes())
    texts.write(rows.tobytes())
    count += len(block.words)
    longest = max(longest, int(block.lengths.max()))
    highest = max(highest, int(block.words["id"].max()))
  if not count:
    raise InputError(f"{path}: no instances; {EXPECTED} on each line")
  return UnitSizes(longest, highest)
