"""Copies of a bucket's objects in the cache of this machine, kept within a bound.

Many processes may ask for the same object at once: one of them downloads it.
"""

import base64
import contextlib
import fcntl
import hashlib
import mmap
import os
import pathlib
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from luke_jax.errors import InputError
from luke_jax.files import FULL, Path, cache_folder, in_bucket, remove, sample, sync, sync_all

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


_LOCK, _PART, _SOURCE = "lock", "part", "source"


class Made(NamedTuple):
  """A folder that was made of a file. It stays for as long as this value does."""

  folder: pathlib.Path
  held: mmap.mmap  # of a file with a shared lock, which the map keeps


def made(source: Path, kind: str, form: str, make: Callable[[pathlib.Path], None]) -> Made | None:
  """Returns the folder that `make` fills from a file, now or before; `form` says with what.

  Of several processes one makes it while the others wait. It is there whole or not at all, and is
  made again once the file has changed; then those of its earlier versions go, and those of files
  that are gone, unless a process uses them. Returns None where the cache cannot be written.
  """
  version = _version(source)
  name = str(source if in_bucket(source) else source.resolve())
  entry = cache_folder() / kind / _digest(name.encode())
  folder = entry / f"{version}-{form}"
  try:
    while True:
      if not _is_there(folder):
        with _making(entry):
          if not _is_there(folder):
            _clear(entry, version)
            _fill(folder, name, make, lambda: _version(source) == version)
      with contextlib.suppress(FileNotFoundError):  # another process has just removed it
        return Made(folder, _held(folder))
  except OSError as fault:
    if fault.errno not in FULL:
      return None
    raise InputError(
      f"{source}: {fault.strerror} in {cache_folder()}, for what is made of it; expected a cache"
      " with room, as LUKE_JAX_CACHE can name one"
    ) from None


def _is_there(folder: pathlib.Path) -> bool:
  return (folder / _SOURCE).is_file()


def _version(source: Path) -> str:
  """Returns a hash of a file's size, time and some of its bytes."""
  time = b"" if in_bucket(source) else b" %d" % source.stat().st_mtime_ns
  return _digest(sample(source) + time)


def _digest(data: bytes) -> str:
  return hashlib.sha256(data).hexdigest()[:32]


@contextlib.contextmanager
def _making(entry: pathlib.Path, wait: int = 0) -> Iterator[None]:
  """Waits until no other process makes or removes something here; raises OSError for LOCK_NB."""
  entry.mkdir(parents=True, exist_ok=True)
  with (entry / _LOCK).open("w") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX | wait)
    yield


def _fill(
  folder: pathlib.Path, name: str, make: Callable[[pathlib.Path], None], same: Callable[[], bool]
) -> None:
  part = folder.parent / _PART
  remove(part)  # of a process that was killed
  part.mkdir()
  try:
    (part / _SOURCE).write_bytes(os.fsencode(name))
    make(part)
    if not same():
      raise InputError(f"{name}: changes while it is read; expected it to stay")
    sync_all(part)
    remove(folder)  # one that lost its files
    part.rename(folder)
    sync(folder.parent)
  finally:
    remove(part)


def _held(folder: pathlib.Path) -> mmap.mmap:
  with (folder / _SOURCE).open("rb") as file:
    fcntl.flock(file, fcntl.LOCK_SH)
    (folder / _SOURCE).stat()  # it may have been removed before it was locked
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _clear(entry: pathlib.Path, version: str) -> None:
  """Removes what was made of other versions of a file, and of files that are gone."""
  for folder in entry.iterdir():
    if not folder.name.startswith((version, _LOCK)):
      _discard(folder)
  for other in entry.parent.iterdir():
    with contextlib.suppress(OSError):  # other processes remove folders, too, or are at work
      folders = [folder for folder in other.iterdir() if folder.name != _LOCK]
      if folders and all(map(_is_gone, folders)):
        with _making(other, fcntl.LOCK_NB):
          for folder in folders:
            _discard(folder)
          if [path.name for path in other.iterdir()] == [_LOCK]:
            remove(other)


def _is_gone(folder: pathlib.Path) -> bool:
  """Returns whether the file of a folder is gone from this machine's disks."""
  path = Path(os.fsdecode((folder / _SOURCE).read_bytes()))
  return not in_bucket(path) and not path.exists()


def _discard(folder: pathlib.Path) -> None:
  """Removes a folder unless a process uses it."""
  with contextlib.suppress(OSError), (folder / _SOURCE).open("r+b") as file:
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    # Under its own name it would be taken for a whole one if this process is killed now.
    part = folder.parent / _PART
    remove(part)
    folder.rename(part)
    remove(part)
