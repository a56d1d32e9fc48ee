"""Locks of folders: one command works in a folder at a time.

On a disk the system frees a lock however its process ends. For buckets see `bucket_locks`.
"""

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from typing import IO

from luke_jax.errors import InputError
from luke_jax.files.owners import occupied, this_process
from luke_jax.files.paths import Path, in_bucket

LOCK = ".lock"


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
  """Locks a folder for this process, and makes it; raises InputError if another one has it."""
  if in_bucket(folder):
    from luke_jax.files.bucket_locks import BucketLock

    with BucketLock(folder / LOCK):
      yield
    return
  existed = folder.exists()
  try:
    folder.mkdir(parents=True, exist_ok=True)
    file = _taken(folder)
  except OSError as fault:
    reason = "no permission to write" if isinstance(fault, PermissionError) else fault.strerror
    raise InputError(f"{folder}: {reason}; expected a folder to write to") from None
  with file:
    try:
      yield
    finally:
      (folder / LOCK).unlink(missing_ok=True)
      if not existed:
        with contextlib.suppress(OSError):  # it is not empty
          folder.rmdir()


def _taken(folder: Path) -> IO[str]:
  """Returns the open and locked file of a folder's lock."""
  while True:
    file = (folder / LOCK).open("a+", encoding="utf-8")
    try:
      fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
      if _is_lock_of(folder, file):
        file.truncate(0)
        file.write(json.dumps(this_process()))
        file.flush()
        return file
    except BlockingIOError:
      with file:
        file.seek(0)
        raise occupied(folder, file.read()) from None
    except OSError:
      file.close()
      raise
    file.close()


def _is_lock_of(folder: Path, file: IO[str]) -> bool:
  """Returns whether an open file is still the folder's lock, which its last owner removed."""
  try:
    return os.path.samestat(os.fstat(file.fileno()), (folder / LOCK).stat())
  except FileNotFoundError:
    return False
