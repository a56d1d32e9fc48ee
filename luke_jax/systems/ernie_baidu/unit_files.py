"""Files of units, read once into arrays that all processes of a machine map from its cache."""

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
from luke_jax.systems.ernie_baidu import units

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

  def instance(self, index: int, file: int) -> units.UnitInstance:
    """Returns an instance by its number."""
    words = self.words[self.ends[index] : self.ends[index + 1]]
    ids, types = words["id"].astype(np.int32), words["type"].astype(np.int32)
    return units.UnitInstance(ids, types, words["units"].T, bool(self.true[index]), file)


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

  def __getitem__(self, index: int) -> units.UnitInstance:
    return self.__getitems__([index])[0]

  def __getitems__(self, indices: Sequence[int]) -> list[units.UnitInstance]:
    """Returns instances by their indices."""
    if not 0 <= min(indices, default=0) <= max(indices, default=0) < len(self):
      raise IndexError(f"{min(indices)} to {max(indices)}")
    files = np.searchsorted(self._ends, indices, side="right").tolist()
    return [self._instance(file - 1, index) for file, index in zip(files, indices, strict=True)]

  def _instance(self, file: int, index: int) -> units.UnitInstance:
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
    words = _mapped(source.folder / _WORDS, units.word_type(levels), mmap.MADV_RANDOM)
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
  stored = np.frombuffer(words.getbuffer(), units.word_type(levels))
  return UnitFile(stored, rows["end"], rows["true"][1:], sizes)


def _mapped(path: Path, kind: np.dtype, advice: int = mmap.MADV_NORMAL) -> np.ndarray:
  with path.open("rb") as file:
    pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
  pages.madvise(advice)
  return np.frombuffer(pages, kind)


def count_levels(path: str) -> int:
  """Returns how many fields of unit labels the first line of a file has."""
  with _lines(path) as file:
    levels = _reading(path, lambda: file.readline(units.BLOCK)).count(b";") - 3
  if levels < 1:
    raise InputError(f"{path}: no instances; {units.EXPECTED} on each line")
  return levels


def unit_blocks(path: str, levels: int) -> Iterator[units.InstanceBlock]:
  """Yields the instances of a file's lines, block by block."""
  with _lines(path) as file:
    blocks = units.read_blocks(file, levels, path)
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
    raise InputError(f"{path}: {reason}; {units.EXPECTED} on each line") from None


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
    raise InputError(f"{path}: no instances; {units.EXPECTED} on each line")
  return UnitSizes(longest, highest)
