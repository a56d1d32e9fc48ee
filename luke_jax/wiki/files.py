"""Files that are written whole or not at all."""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from luke_jax.errors import InputError

PART = ".part"
_LOCK = ".lock"
_PAGES_AT_ONCE = 64


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
  """Keeps the folder to this process; however the process ends, the system frees the folder."""
  folder.mkdir(parents=True, exist_ok=True)
  with (folder / _LOCK).open("w") as lock:
    try:
      fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
      raise InputError(f"{folder}: another build is at work here; expected to be alone") from None
    yield


@contextlib.contextmanager
def whole(path: Path) -> Iterator[Path]:
  """A name to write to, which becomes `path` when all went well and is removed otherwise."""
  check_place(path)
  # The suffix stays the last one: some writers tell the format by it.
  part = path.with_name(f"{path.stem}.{uuid.uuid4().hex[:8]}{PART}{path.suffix}")
  try:
    yield part
    part.replace(path)
  finally:
    part.unlink(missing_ok=True)


def check_place(path: Path) -> None:
  """Refuses what cannot be the name of a new file."""
  if not path.name or path.is_dir():
    raise InputError(f"{path}: a folder; expected the name of a file")
  if not path.parent.is_dir():
    raise InputError(f"{path}: no folder {path.parent}; expected one that exists")


def is_part(path: Path) -> bool:
  """Whether a file was left behind by a process that was killed while it wrote."""
  return f"{PART}." in path.name or path.name.endswith(PART)


def write_json(path: Path, value: Any) -> None:
  """Writes a value as JSON."""
  with whole(path) as part:
    part.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def read_json(path: Path) -> Any:
  """A value that `write_json` wrote; None where there is none or something else."""
  try:
    return json.loads(path.read_text(encoding="utf-8"))
  except (OSError, ValueError):
    return None


def save_array(path: Path, array: np.ndarray) -> None:
  """Writes an array as .npy."""
  with whole(path) as part, part.open("wb") as file:
    np.save(file, array)


def write_records(path: Path, records: Iterable[bytes], options: str) -> int:
  """Writes an ArrayRecord file and returns how many records it has."""
  from array_record.python import array_record_module

  written = 0
  with whole(path) as part:
    part.touch()  # the writer says nothing of a folder that it cannot write to
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
  """The records of an ArrayRecord file in their order."""
  reader = open_records(path, expected)
  for start in range(0, expected, _PAGES_AT_ONCE):
    yield from reader.read(start, min(start + _PAGES_AT_ONCE, expected))
  reader.close()


def open_records(path: Path, expected: int | None = None) -> Any:
  """A reader of an ArrayRecord file with so many records, for any order."""
  from array_record.python import array_record_module

  if not path.is_file():
    raise InputError(f"{path}: no such file; expected an ArrayRecord file")
  reader = array_record_module.ArrayRecordReader(
    str(path), "readahead_buffer_size:0,max_parallelism:0"
  )
  found = reader.num_records()  # of a damaged file the reader says that it is empty
  if not found if expected is None else found != expected:
    reader.close()
    wanted = "one or more" if expected is None else str(expected)
    raise InputError(f"{path}: {found} records, or damaged; expected {wanted}")
  return reader


def sha256(path: Path) -> str:
  """The hash of a file's bytes."""
  with path.open("rb") as file:
    return hashlib.file_digest(file, "sha256").hexdigest()


def _as_system_error(fault: RuntimeError, path: Path) -> OSError:
  known = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EACCES, errno.EROFS)
  code = next((code for code in known if os.strerror(code) in str(fault)), errno.EIO)
  return OSError(code, os.strerror(code), str(path))
