"""Folders made of a file once and kept in the cache, for all processes of this machine."""

import contextlib
import fcntl
import hashlib
import mmap
import os
import pathlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

from luke_jax.errors import InputError
from luke_jax.files import FULL, Path, cache_folder, in_bucket, remove, sample, sync, sync_all

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
        with _alone(entry):
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
def _alone(entry: pathlib.Path, wait: int = 0) -> Iterator[None]:
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
        with _alone(other, fcntl.LOCK_NB):
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
