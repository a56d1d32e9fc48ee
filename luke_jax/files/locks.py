"""Locks of folders: one command works in a folder at a time.

On a disk the system frees a lock however its process ends. Buckets have nothing that ends with a
process: there a lock is an object that only one process can create. Its owner renews it. Others
remove it once its owner is a process of this machine that is dead, or has not renewed it for a
while by their clocks. A lock names its owner: a process, by what tells it from all others on any
machine at any time.
"""

import contextlib
import fcntl
import json
import os
import pathlib
import shutil
import socket
import tempfile
import threading
import time
import uuid
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import IO, Any, Self

from luke_jax.errors import InputError, not_installed
from luke_jax.files import Path, in_bucket

LOCK = ".lock"
RENEWED, STALE = 20.0, 120.0  # seconds between renewals, and without one until a lock is stale
LOOK = 5.0  # seconds between looks at a lock that may be stale


def this_process() -> dict[str, object]:
  """Returns the description of this process in its locks."""
  return {
    "host": socket.gethostname(),
    "process": os.getpid(),
    "since": datetime.now(UTC).isoformat(timespec="seconds"),
    "processes": namespace(),
    "started": _started(os.getpid()),
    "id": uuid.uuid4().hex,
  }


def namespace() -> str:
  """Returns the system, since it was started, in which numbers of processes mean the same."""
  try:
    boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8")
    return boot.strip() + str(pathlib.Path("/proc/self/ns/pid").readlink())
  except OSError:
    return ""


def _started(process: int) -> str:
  """Returns when a process was started, in ticks since the system was; empty if it is not there."""
  try:
    status = pathlib.Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    return status.rpartition(")")[2].split()[19]
  except OSError:
    return ""


def is_dead(owner: dict[str, Any]) -> bool:
  """Returns whether a lock's owner was a process of this very system that is no more."""
  here = owner.get("processes") and owner.get("processes") == namespace()
  return bool(here) and _started(int(owner.get("process", 0))) != owner.get("started")


def read_owner(text: str) -> dict[str, object]:
  """Returns the owner that a lock names; empty for a lock that is not whole."""
  try:
    value = json.loads(text)
  except ValueError:
    return {}
  return value if isinstance(value, dict) else {}


def occupied(folder: object, text: str) -> InputError:
  """Returns the error for a folder that another process has locked."""
  owner = read_owner(text)
  who = ""
  if owner:
    who = f" (process {owner.get('process')} on {owner.get('host')} since {owner.get('since')})"
  return InputError(f"{folder}: another command is at work here{who}; expected to be alone")


class BucketLock:
  """A lock of a folder in a bucket: an object that a thread renews for as long as it is held."""

  def __init__(self, path: Path):
    self._folder, self._text = path.parent, json.dumps(this_process())
    self._done, self._writing, self._generation = threading.Event(), threading.Lock(), 0
    try:
      from google.api_core import exceptions
      from google.cloud import storage
    except ImportError:
      raise not_installed("google-cloud-storage", "for gs://", "gcs") from None
    self._faults: Any = exceptions
    bucket, _, name = str(path).removeprefix("gs://").partition("/")
    self._name = name
    with self._reported():  # a project is needed for buckets themselves only
      self._bucket: Any = storage.Client(project="none").bucket(bucket)

  def __enter__(self) -> Self:
    with self._reported():
      while not self._written(0):
        self._remove_stale()
    threading.Thread(target=self._renew, daemon=True).start()
    return self

  def __exit__(self, *_: object) -> None:
    self._done.set()
    with contextlib.suppress(Exception), self._writing:  # it also ends by its age
      self._delete(self._generation)

  def _delete(self, generation: int) -> None:
    self._bucket.blob(self._name).delete(if_generation_match=generation)

  def _written(self, before: int) -> bool:
    """Writes the lock if it is of this generation, 0 for none; returns whether it was."""
    blob = self._bucket.blob(self._name)
    try:
      blob.upload_from_string(self._text, if_generation_match=before, timeout=30)
    except self._faults.PreconditionFailed:
      # An answer may have been lost, and the write was sent again.
      generation, text = self._found()
      self._generation = generation
      return text == self._text
    self._generation = int(blob.generation or 0)
    return True

  def _found(self) -> tuple[int, str]:
    """Returns the generation and the text of the lock that is there, 0 and nothing for none."""
    blob = self._bucket.blob(self._name)  # one that was used asks for the generation it knows
    try:
      text = blob.download_as_text(timeout=30)
      return int(blob.generation or 0), text
    except self._faults.NotFound:
      return 0, ""

  def _remove_stale(self) -> None:
    """Removes another's lock once it is stale; raises InputError if it is renewed."""
    generation, text = self._found()
    owner, first = read_owner(text), time.monotonic()
    if generation and not is_dead(owner):
      if owner.get("processes") == namespace():
        raise occupied(self._folder, text)
      warnings.warn(
        f"{self._folder}: locked by process {owner.get('process')} on {owner.get('host')};"
        f" waiting {STALE:g} s for a sign of life",
        stacklevel=4,
      )
    while generation and not is_dead(owner) and time.monotonic() < first + STALE:
      time.sleep(LOOK)
      now, text = self._found()
      if now and now != generation:
        raise occupied(self._folder, text)
      generation = now
    if generation:
      with contextlib.suppress(self._faults.NotFound, self._faults.PreconditionFailed):
        self._delete(generation)

  def _renew(self) -> None:
    while not self._done.wait(RENEWED):
      with self._writing:
        if self._done.is_set():
          return
        try:
          alone = self._written(self._generation)
        except Exception:  # without a network the lock ages, and is written again after it
          continue
      if not alone:
        # What this process writes from now on would mix with what the new owner writes.
        why = f"taken over by another command, as this one had stopped for {STALE:g} s"
        os.write(2, f"luke-jax: {self._folder}: {why}\n".encode())
        os._exit(2)

  @contextlib.contextmanager
  def _reported(self) -> Iterator[None]:
    try:
      yield
    except InputError:
      raise
    except Exception as fault:
      module = type(fault).__module__.partition(".")[0]
      if module not in ("google", "requests", "urllib3"):
        raise
      reason = str(fault).strip().partition("\n")[0][:300]
      raise InputError(
        f"{self._folder}: {reason}; expected a bucket that this machine's credentials can write"
      ) from None


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
  """Locks a folder for this process, and makes it; raises InputError if another one has it."""
  if in_bucket(folder):
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


@contextlib.contextmanager
def new_folder(parent: Path, prefix: str) -> Iterator[Path]:
  """Yields a new folder of this name's beginning in another one, and removes it in the end.

  Those of processes that are gone are removed before: whoever makes one holds its lock.
  """
  opened = os.open(parent, os.O_RDONLY)
  try:
    with contextlib.suppress(OSError):  # a file system without locks
      fcntl.flock(opened, fcntl.LOCK_EX)  # until the new one has its lock
      clear_folders(parent, prefix)
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    held = os.open(folder, os.O_RDONLY)
    with contextlib.suppress(OSError):
      fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
  finally:
    os.close(opened)
  try:
    yield folder
  finally:
    os.close(held)
    shutil.rmtree(folder)


def clear_folders(parent: Path, prefix: str) -> None:
  """Removes folders of this name's beginning whose processes are gone."""
  for path in parent.glob(f"{prefix}*"):
    with contextlib.suppress(OSError):  # one that is held, or where nothing says so, stays
      opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
      try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(path)
      finally:
        os.close(opened)


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
