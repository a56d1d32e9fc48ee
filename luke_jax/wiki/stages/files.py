"""Files of arrays and records."""

import errno
import os
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path, whole
from luke_jax.files.copies import local

_RECORDS_AT_ONCE = 64
_BUFFER = 2**18  # bytes of each file that are in memory while lines of many are merged


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
