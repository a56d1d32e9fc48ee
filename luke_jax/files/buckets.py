"""Objects of a bucket with the methods of pathlib, by etils and gcsfs."""

import contextlib
import fnmatch
import io
import os
import sys
import threading
from collections.abc import Generator, Iterator
from typing import IO, Any, NamedTuple

import fsspec.config
from etils.epath.gpath import PosixGPath

from luke_jax.errors import InputError, not_installed

# gcsfs would ask for the kind of each bucket, which many accounts that may use it may not know.
os.environ.setdefault("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")
# Another process may have written what a kept listing lacks. This also holds for Orbax.
fsspec.config.conf.setdefault("gcs", {})["use_listings_cache"] = False
with contextlib.suppress(ImportError):
  import aiohttp

  # Without it a connection that says nothing more is waited for without end. Each of the client's
  # six tries has so many seconds for the next bytes.
  fsspec.config.conf["gcs"]["requests_timeout"] = aiohttp.ClientTimeout(
    total=None, sock_connect=30, sock_read=30
  )


SILENCE = 10.0  # seconds of a request after which a line says that it waits


class ObjectStatus(NamedTuple):
  """Size, time and version of an object."""

  st_size: int
  st_mtime_ns: int
  generation: int
  md5: str | None  # in base64; objects that were composed of others have none


class BucketPath(PosixGPath):
  """A path gs://…; folders are there as long as objects are in them.

  `open` only reads: what is written there is written by `luke_jax.files.whole`, since an object
  that is written bit by bit would be there after an error, too.
  """

  @contextlib.contextmanager
  def storage(self) -> Generator[Any, None, None]:
    """Yields the file system of fsspec; raises InputError where it cannot be reached or used."""
    try:
      system = self._backend.fs(self)  # pyrefly: ignore[missing-attribute]
    except ImportError:
      raise not_installed("gcsfs", "for gs://", "gcs") from None
    # The client tries again for a minute or more, in silence.
    waiting = threading.Timer(SILENCE, _tell, (f"{self}: no answer after {SILENCE:g} s; waiting",))
    waiting.daemon = True
    waiting.start()
    try:
      yield system
    except (FileNotFoundError, FileExistsError, InputError):
      raise
    except Exception as fault:
      if not _is_of_network(fault):
        raise
      reason = str(fault).strip().partition("\n")[0] or type(fault).__name__
      raise InputError(
        f"{self}: {reason[:300]}; expected a bucket that this machine's credentials can use"
      ) from None
    finally:
      waiting.cancel()

  def _info(self) -> dict[str, Any] | None:
    with self.storage() as system:
      try:
        return system.info(str(self))
      except FileNotFoundError:
        return None

  def exists(self) -> bool:
    """Returns whether there is such an object or folder."""
    return self._info() is not None

  def is_file(self) -> bool:
    """Returns whether there is such an object."""
    return (self._info() or {}).get("type") == "file"

  def is_dir(self) -> bool:
    """Returns whether objects are below."""
    return (self._info() or {}).get("type") == "directory"

  def stat(self) -> ObjectStatus:  # pyrefly: ignore[bad-override]
    """Returns size, time and version."""
    info = self._info()
    if info is None:
      raise FileNotFoundError(2, "No such file", str(self))
    return _status(info)

  def iterdir(self) -> Iterator["BucketPath"]:
    """Yields the files and folders in the folder."""
    with self.storage() as system:
      try:
        names = [name.rstrip("/").rpartition("/")[2] for name in system.ls(str(self), detail=False)]
      except FileNotFoundError:
        names = []
    yield from (self / name for name in names if name)

  def glob(self, pattern: str) -> Iterator["BucketPath"]:
    """Yields the files and folders in the folder under a name like the pattern."""
    return (path for path in self.iterdir() if fnmatch.fnmatchcase(path.name, pattern))

  def rglob(self, pattern: str) -> Iterator["BucketPath"]:
    """Yields the objects below under a name like the pattern."""
    below = (self / name for name in self.statuses())
    return (path for path in below if fnmatch.fnmatchcase(path.name, pattern))

  def statuses(self) -> dict[str, ObjectStatus]:
    """Returns all objects below by their names there, in the order of the names."""
    with self.storage() as system:
      objects = system.find(str(self), detail=True)
    start = str(self).removeprefix("gs://") + "/"
    return {
      name.removeprefix(start): _status(info)
      for name, info in sorted(objects.items())
      if name.startswith(start)
    }

  def open(  # pyrefly: ignore[bad-override]
    self, mode: str = "r", buffering: int = -1, **text: Any
  ) -> IO[Any]:
    """Opens the object for reading; text has the options of Python's own `open`."""
    if set(mode) - set("rbt"):
      raise io.UnsupportedOperation(f"{self}: opened to write; expected luke_jax.files.whole")
    with self.storage() as system:
      try:
        file = system.open(str(self), "rb")
      except FileNotFoundError:
        raise FileNotFoundError(2, "No such file or directory", str(self)) from None
    return file if "b" in mode else io.TextIOWrapper(file, **text)

  def read_bytes(self) -> bytes:
    """Returns the content."""
    with self.storage() as system:
      try:
        return system.cat_file(str(self))
      except FileNotFoundError:
        raise FileNotFoundError(2, "No such file", str(self)) from None

  def check_readable(self, size: int) -> None:
    """Raises the fault with which the object is refused."""
    with self.storage() as system:
      system.cat_file(str(self), start=0, end=min(size, 1))

  def read_text(self, encoding: str | None = None, errors: str | None = None) -> str:
    """Returns the content as text, with newlines as in Python's text files."""
    data = io.BytesIO(self.read_bytes())
    return io.TextIOWrapper(data, encoding or "utf-8", errors).read()

  def write_bytes(self, data: bytes) -> int:
    """Writes the whole object."""
    with self.storage() as system, self._in_its_bucket():
      system.pipe_file(str(self), data)
    return len(data)

  def write_text(
    self,
    data: str,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
  ) -> int:
    """Writes the whole object as text."""
    return self.write_bytes(data.encode(encoding or "utf-8", errors or "strict"))

  def upload(self, file: os.PathLike[str]) -> None:
    """Writes the whole object from a file of this machine."""
    with self.storage() as system, self._in_its_bucket():
      system.put_file(os.fspath(file), str(self))

  @contextlib.contextmanager
  def _in_its_bucket(self) -> Generator[None, None, None]:
    """Raises InputError where the bucket itself is missing, since folders need not be there."""
    try:
      yield
    except FileNotFoundError:
      raise InputError(f"{self}: no such bucket; expected one that exists") from None

  def download(self, file: os.PathLike[str]) -> None:
    """Writes the content to a file of this machine."""
    with self.storage() as system:
      system.get_file(str(self), os.fspath(file))

  def unlink(self, missing_ok: bool = False) -> None:
    """Deletes the object."""
    with self.storage() as system:
      try:
        system.rm_file(str(self))
      except FileNotFoundError:
        if not missing_ok:
          raise FileNotFoundError(2, "No such file", str(self)) from None

  def rmtree(self, missing_ok: bool = False) -> None:
    """Deletes all objects below."""
    with self.storage() as system:
      try:
        system.rm(str(self), recursive=True)
      except FileNotFoundError:
        if not missing_ok:
          raise

  def rename(self, target: "BucketPath") -> "BucketPath":  # pyrefly: ignore[bad-override]
    """Moves an object or a folder: none of its objects is deleted before all are copied.

    Where a copy or the first deletion is refused, no copy is left.
    """
    names = self.statuses()
    try:
      with self.storage() as system:
        for name in names:
          system.cp_file(f"{self}/{name}", f"{target}/{name}")
        if not names:
          system.cp_file(str(self), str(target))
      self.rmtree()
    except Exception:
      with contextlib.suppress(Exception):  # of the same service: the fault to report is the first
        if self.statuses() == names:
          target.rmtree(missing_ok=True)
      raise
    return target

  def mkdir(self, mode: int | None = None, parents: bool = False, exist_ok: bool = False) -> None:
    """Does nothing: a folder is there with its first object."""

  def rmdir(self) -> None:
    """Does nothing: a folder is gone with its last object."""

  def touch(self, mode: int = 0o666, exist_ok: bool = True) -> None:
    """Writes an empty object if there is none."""
    if not self.exists():
      self.write_bytes(b"")

  def resolve(self, strict: bool = False) -> "BucketPath":
    """Returns the path, which is absolute."""
    return self

  def absolute(self) -> "BucketPath":
    """Returns the path, which is absolute."""
    return self


def _status(info: dict[str, Any]) -> ObjectStatus:
  time = info.get("mtime")
  return ObjectStatus(
    int(info["size"]),
    int(time.timestamp() * 1e9) if time else 0,
    int(info.get("generation", 0)),
    info.get("md5Hash"),
  )


def _tell(line: str) -> None:
  print(line, file=sys.stderr, flush=True)


def _is_of_network(fault: Exception) -> bool:
  """Returns whether a fault is one of the network, of the service or of the credentials."""
  if isinstance(fault, OSError) and fault.errno is None:
    return True  # gcsfs has none where access is forbidden; a full disk has one
  if isinstance(fault, ConnectionError | TimeoutError):
    return True
  return type(fault).__module__.partition(".")[0] in ("gcsfs", "aiohttp", "google", "requests")
