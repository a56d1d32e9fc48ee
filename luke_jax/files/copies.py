"""Copies of a bucket's objects in the cache of this machine, kept within a bound.

Many processes may ask for the same object at once: one of them downloads it.
"""

import base64
import contextlib
import fcntl
import hashlib
import os
import pathlib
import shutil
import time
import uuid
from collections.abc import Iterator
from typing import Any

from luke_jax.errors import InputError
from luke_jax.files import Path, cache_folder, in_bucket

GIGABYTES = 50.0  # unless LUKE_JAX_BUCKET_CACHE says otherwise
_IN_USE = 600  # seconds for which a copy stays, since who asked for it may still be opening it
_TRIES = 2  # downloads, of which one may arrive damaged


def local(path: Path) -> pathlib.Path:
  """Returns the file, or for an object of a bucket a copy with the same name and content.

  An object that changed is downloaded again.
  """
  if not in_bucket(path):
    return pathlib.Path(path)
  status: Any = path.stat()
  version = f"{path} {status.generation} {status.st_size}"
  entry = _folder() / hashlib.sha256(version.encode()).hexdigest()[:32]
  copy = entry / path.name
  if not _touched(copy, status.st_size):
    with _alone(entry):
      if not _touched(copy, status.st_size):
        _make_room(status.st_size)
        _download(path, status, copy)
  return copy


def _folder() -> pathlib.Path:
  folder = cache_folder() / "buckets"
  folder.mkdir(parents=True, exist_ok=True)
  return folder


def _touched(copy: pathlib.Path, size: int) -> bool:
  """Returns whether a copy is there, and marks it as used now."""
  try:
    os.utime(copy)
    return copy.stat().st_size == size
  except FileNotFoundError:
    return False


@contextlib.contextmanager
def _alone(entry: pathlib.Path) -> Iterator[None]:
  """Waits until no other process of this machine downloads this entry."""
  with entry.with_suffix(".lock").open("w") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
      yield
    finally:
      entry.with_suffix(".lock").unlink(missing_ok=True)


def _download(path: Path, status: Any, copy: pathlib.Path) -> None:
  """Downloads an object of this status; raises InputError if another content arrives twice."""
  copy.parent.mkdir(exist_ok=True)
  part = copy.with_name(f"{uuid.uuid4().hex}.part")
  try:
    for _ in range(_TRIES):
      path.download(part)  # pyrefly: ignore[missing-attribute]
      if _is_whole(part, status.st_size, status.md5):
        part.replace(copy)
        return
  finally:
    part.unlink(missing_ok=True)
  raise InputError(f"{path}: arrives damaged, or changes while it is read; expected it to stay")


def _is_whole(file: pathlib.Path, size: int, md5: str | None) -> bool:
  if file.stat().st_size != size:
    return False
  if md5 is None:  # of objects that were composed of others
    return True
  with file.open("rb") as opened:
    digest = hashlib.file_digest(opened, lambda: hashlib.md5(usedforsecurity=False)).digest()
  return base64.b64encode(digest).decode() == md5


def _bound() -> float:
  text = os.environ.get("LUKE_JAX_BUCKET_CACHE") or str(GIGABYTES)
  try:
    return float(text) * 1e9
  except ValueError:
    raise InputError(
      f"LUKE_JAX_BUCKET_CACHE: {text!r}; expected a number of gigabytes, such as 50"
    ) from None


def _make_room(size: int) -> None:
  """Removes the copies that were used least lately, until `size` bytes more are in the bound."""
  copies, now = [], time.time()
  for entry in _folder().iterdir():
    with contextlib.suppress(OSError):  # another process removes copies, too
      # One may have been used in what the clock, once it was set back, calls the future.
      copies += [(abs(now - x.stat().st_mtime), x.stat().st_size, entry) for x in entry.iterdir()]
  total, bound = sum(size for _, size, _ in copies), _bound()
  for unused, bytes_of_copy, entry in sorted(copies, reverse=True):
    if total + size <= bound or unused < _IN_USE:
      return
    shutil.rmtree(entry, ignore_errors=True)
    total -= bytes_of_copy
