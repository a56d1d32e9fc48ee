"""Files of stages: arrays, lines, records of ArrayRecord, and tables from strings to numbers."""

import errno
import hashlib
import mmap
import os
from array import array
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path, whole
from luke_jax.files.copies import local

_RECORDS_AT_ONCE = 64
_BUFFER = 2**18  # bytes of each file that are in memory while lines of many are merged
BLOB, OFFSETS, SLOTS = "strings.bin", "offsets.npy", "slots.npy"
ABSENT = -1
_LOAD = 0.6  # share of the slots in use, at which a search reads two or three
_MOST_STRINGS = 2**31 - 2


def save_array(path: Path, array: np.ndarray) -> None:
  """Writes an array as .npy."""
  with whole(path) as part, part.open("wb") as file:
    np.save(file, array)


def write_records(path: Path, records: Iterable[bytes], options: str) -> int:
  """Writes an ArrayRecord file and returns its number of records."""
  from array_record.python import array_record_module

  written = 0
  with whole(path) as part:
    part.touch()  # the writer does not report a folder that it cannot write to
    writer = array_record_module.ArrayRecordWriter(str(part), options)
    try:
      for record in records:
        writer.write(record)
        written += 1
      writer.close()
    except RuntimeError as fault:
      raise _as_system_error(fault, path) from None
  return written


def read_records(path: Path, expected: int) -> Iterator[bytes]:
  """Yields the records of an ArrayRecord file in their order."""
  reader = open_records(path, expected)
  for start in range(0, expected, _RECORDS_AT_ONCE):
    yield from reader.read(start, min(start + _RECORDS_AT_ONCE, expected))
  reader.close()


def open_records(path: Path, expected: int | None = None) -> Any:
  """Returns a reader of an ArrayRecord file, for any order; raises InputError for a damaged file.

  `expected` is its number of records, or None for any but zero.
  """
  from array_record.python import array_record_module

  if not path.is_file():
    raise InputError(f"{path}: no such file; expected an ArrayRecord file")
  reader = array_record_module.ArrayRecordReader(
    str(local(path)), "readahead_buffer_size:0,max_parallelism:0"
  )
  number = reader.num_records()  # the reader reports a damaged file as empty
  if not number if expected is None else number != expected:
    reader.close()
    wanted = "one or more" if expected is None else str(expected)
    raise InputError(f"{path}: {number} records, or damaged; expected {wanted}")
  return reader


def lines_of(path: Path) -> Iterator[bytes]:
  """Yields the lines of a file, open only while some are read: there may be very many shards."""
  position, path = 0, local(path)
  while True:
    with path.open("rb") as file:
      file.seek(position)
      lines = file.readlines(_BUFFER)
      position = file.tell()
    if not lines:
      return
    yield from lines


def _as_system_error(fault: RuntimeError, path: Path) -> OSError:
  codes = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EACCES, errno.EROFS)
  code = next((code for code in codes if os.strerror(code) in str(fault)), errno.EIO)
  return OSError(code, os.strerror(code), str(path))


class StringTable:
  """Strings by number, and the number of a string; small when pickled, shared by the page cache.

  One file has the strings end to end. A second one is a hash table with linear probing, from the
  hash of a string to its number. Opening a table reads nothing.
  """

  def __init__(self, folder: Path):
    self.folder = folder
    try:
      self._offsets = np.load(local(folder / OFFSETS), mmap_mode="r")
      self._slots = np.load(local(folder / SLOTS), mmap_mode="r")
      self._blob = _mapped(local(folder / BLOB))
    except (OSError, ValueError) as fault:
      raise InputError(f"{folder}: {fault}; expected a table of strings") from None
    self._homes = _homes_of(len(self))
    # Items of a view are Python's own numbers, several times faster than those of an array.
    self._slot_view, self._offset_view = memoryview(self._slots), memoryview(self._offsets)

  def __reduce__(self):
    return StringTable, (self.folder,)

  def __len__(self) -> int:
    return len(self._offsets) - 1

  def __getitem__(self, index: int) -> str:
    return self._bytes(range(len(self))[index]).decode()

  def __iter__(self) -> Iterator[str]:
    return map(self.__getitem__, range(len(self)))

  def index(self, string: str) -> int:
    """Returns the number of a string, of equal strings the first one's; -1 for a missing one."""
    data = string.encode(errors="surrogatepass")
    slot = hash_of(data) * self._homes >> 64
    while (index := self._slot_view[slot]) != ABSENT:
      if self._bytes(index) == data:
        return index
      slot += 1
    return ABSENT

  def _bytes(self, index: int) -> bytes:
    return self._blob[self._offset_view[index] : self._offset_view[index + 1]]


def write_string_table(folder: Path, strings: Iterable[str]) -> None:
  """Writes a table of the strings in their order, with 16 bytes of memory for each string."""
  ends, hashes = array("q", [0]), array("Q")
  with whole(folder / BLOB) as part, part.open("wb", buffering=1 << 20) as blob:
    for string in strings:
      data = string.encode(errors="surrogatepass")
      blob.write(data)
      ends.append(ends[-1] + len(data))
      hashes.append(hash_of(data))
  if len(hashes) > _MOST_STRINGS:
    raise InputError(f"{folder}: {len(hashes)} strings; expected at most {_MOST_STRINGS}")
  save_array(folder / OFFSETS, np.frombuffer(ends, np.int64))
  save_array(folder / SLOTS, _slots(np.frombuffer(hashes, np.uint64)))


def _mapped(path: Path) -> mmap.mmap | bytes:
  if not path.stat().st_size:  # an empty file cannot be mapped
    return b""
  with path.open("rb") as file:
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def hash_of(data: bytes) -> int:
  """Returns the hash of a string's bytes, of 64 bits."""
  return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def _homes_of(strings: int) -> int:
  return max(int(strings / _LOAD), 1)


def _slots(hashes: np.ndarray) -> np.ndarray:
  """Returns the number of the string in each slot, or -1 for an empty one.

  In the order of their hashes the strings take the first free slot from their home on. The search
  does not wrap around: there are slots past the last home for strings that overflow, and the last
  slot is always empty, which ends every search.
  """
  order = np.argsort(hashes, kind="stable").astype(np.int32)
  rank = np.arange(len(order))
  homes = _scaled(hashes[order], _homes_of(len(order)))
  places = np.maximum.accumulate(homes - rank) + rank
  most = max(_homes_of(len(order)) - 1, int(places[-1]) if len(places) else 0)
  slots = np.full(most + 2, ABSENT, np.int32)
  slots[places] = order
  return slots


def _scaled(hashes: np.ndarray, homes: int) -> np.ndarray:
  """Returns hash * homes >> 64, in two halves because the product does not fit into 64 bits."""
  low, high = hashes & np.uint64(0xFFFFFFFF), hashes >> np.uint64(32)
  carried = low * np.uint64(homes) >> np.uint64(32)
  return (high * np.uint64(homes) + carried >> np.uint64(32)).astype(np.int64)
