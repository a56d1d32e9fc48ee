"""Paths on a disk or in a bucket, by one name; atomic writes, and reading and hashing of files."""

import contextlib
import contextvars
import errno
import hashlib
import importlib.metadata
import importlib.resources
import json
import os
import pathlib
import platform
import re
import shutil
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from luke_jax.errors import InputError

PART = ".part"
_BLOCK = 2**16  # bytes that `sample` reads at the start, in the middle and at the end of a file
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_BUCKET = re.compile("gs:/+")  # pathlib keeps one slash of the two
# A path without blanks, with a folder or the end of a name, or with the end of a file of texts.
_LIKE_A_PATH = re.compile(
  r"[!-~]*/[!-~]*|[/~]\S+|\S*\.[A-Za-z]\w{0,7}|.*\.(txt|jsonl?|csv|tsv|conll)"
)
_LONGEST = 255  # bytes of a name in a path, on all common file systems

if TYPE_CHECKING:
  from pathlib import Path
else:

  class Path(os.PathLike):
    """Makes a path of pathlib, or for gs://… one with the same methods for the objects there."""

    def __new__(cls, *parts):
      """Returns the path of the parts, joined."""
      parts = [os.fspath(part) for part in parts]
      if not parts or not _BUCKET.match(parts[0]):
        return pathlib.Path(*parts)
      from luke_jax.files.buckets import BucketPath  # imports of 0.1 s, which few commands need

      return BucketPath(_BUCKET.sub("gs://", parts[0], count=1), *parts[1:])

  Path.register(pathlib.PurePath)


def in_bucket(path: Path) -> bool:
  """Returns whether a path is in a bucket."""
  return not isinstance(path, pathlib.Path)


_written: contextvars.ContextVar[list[Path] | None] = contextvars.ContextVar(
  "written", default=None
)


@contextlib.contextmanager
def written() -> Iterator[list[Path]]:
  """Yields a list that gets the path of every file that is written whole in the block."""
  paths: list[Path] = []
  token = _written.set(paths)
  try:
    yield paths
  finally:
    _written.reset(token)


@contextlib.contextmanager
def whole(path: Path) -> Iterator[Path]:
  """Yields a temporary path that becomes `path` on success and is removed on failure.

  It is on this machine, also for an object of a bucket. What has become `path` is there after a
  loss of power, too.
  """
  check_place(path)
  if in_bucket(path):
    with tempfile.TemporaryDirectory(prefix="luke-jax-") as folder:
      part = pathlib.Path(folder, path.name)
      yield part
      upload(part, path)
    _note(path)
    return
  if path.exists() and not path.is_file():  # a pipe, or /dev/null
    yield path  # written in place: it cannot be replaced
    return
  path = path.resolve()  # so that a symbolic link is kept, and its target replaced
  # The suffix comes last, since some writers choose the format by it.
  part = path.with_name(f"{path.stem}.{uuid.uuid4().hex[:8]}{PART}{path.suffix}")
  try:
    yield part
    sync(part)
    part.replace(path)
    sync(path.parent)
  except OSError as fault:
    if fault.errno in FULL and fault.filename is None:  # a write does not know its file
      fault.filename = str(path)
    raise
  finally:
    part.unlink(missing_ok=True)
  _note(path)


def _note(path: Path) -> None:
  if (paths := _written.get()) is not None:
    paths.append(path)


@contextlib.contextmanager
def filled(folder: Path) -> Iterator[Path]:
  """Yields a folder on this machine for files that get into `folder`: that one, or a temporary one.

  The files of a temporary one become objects of a bucket on success, in the order of their times.
  """
  if not in_bucket(folder):
    yield folder
    for path in folder.iterdir():
      if path.is_file() and not is_part(path):  # that of another worker may go at any moment
        sync(path)
    sync(folder)
    return
  with tempfile.TemporaryDirectory(prefix="luke-jax-") as temporary:
    yield pathlib.Path(temporary)
    written = pathlib.Path(temporary).iterdir()
    for file in sorted(written, key=lambda file: file.stat().st_mtime_ns):
      upload(file, folder / file.name)


def sync(path: Path) -> None:
  """Waits until a file's content, or the names in a folder, are on the disk."""
  descriptor = os.open(path, os.O_RDONLY)
  try:
    os.fsync(descriptor)
  except OSError as fault:
    if fault.errno not in (errno.EINVAL, errno.ENOTSUP):  # file systems without it
      raise
  finally:
    os.close(descriptor)


def sync_all(folder: Path) -> None:
  """Waits until a folder of this machine is on the disk with all that is in it."""
  for place, _, names in os.walk(folder, topdown=False):
    for path in (*names, ""):
      sync(pathlib.Path(place, path))
  sync(folder.parent)


def upload(file: Path, path: Path) -> None:
  """Writes a file of this machine as a whole object of a bucket."""
  path.upload(file)  # pyrefly: ignore[missing-attribute]


def check_place(path: Path) -> None:
  """Raises InputError unless a new file can be written at the path."""
  if not path.name or path.is_dir():
    raise InputError(f"{path}: a folder; expected the name of a file")
  if not in_bucket(path) and not path.parent.is_dir():
    raise InputError(f"{path}: no folder {path.parent}; expected one that exists")


def is_there(text: str) -> bool:
  """Returns whether a text, of any length and content, is the path of a file or a folder."""
  try:
    return Path(text).exists()
  except ValueError:  # with a zero byte
    return False
  except OSError as fault:
    if fault.errno != errno.ENAMETOOLONG:
      raise
    return False


def is_file_in(text: str, expected: str) -> bool:
  """Returns whether a text is the path of a file; others are texts that stand for themselves.

  Raises InputError for a folder, and for what looks like the path of a missing file.
  """
  if not text.strip():
    return False
  try:
    size = max(len(name.encode()) for name in text.split("/"))
  except UnicodeEncodeError:
    raise InputError(f"the text: not UTF-8; expected {expected}") from None
  if size > _LONGEST:
    return False
  if is_there(text):
    if Path(text).is_dir():
      raise InputError(f"{text}: a folder; expected {expected}")
    return True
  if _LIKE_A_PATH.fullmatch(text):
    raise InputError(f"{text}: no such file; expected {expected}")
  return False


def check_regular(path: Path) -> None:
  """Raises InputError for what is there and no file: a pipe or a device might never end."""
  if not in_bucket(path) and path.exists() and not path.is_file():
    raise InputError(f"{path}: not a regular file; expected one")


def remove(folder: Path) -> None:
  """Removes a folder with all that is in it, if it is there."""
  if in_bucket(folder):
    folder.rmtree(missing_ok=True)  # pyrefly: ignore[missing-attribute]
  else:
    with contextlib.suppress(FileNotFoundError):
      shutil.rmtree(folder)


def sizes(folder: Path) -> dict[str, int]:
  """Returns the size of every file below a folder, by its path there."""
  if in_bucket(folder):
    statuses = folder.statuses()  # pyrefly: ignore[missing-attribute]
    return {name: status.st_size for name, status in statuses.items()}
  files = (path for path in sorted(folder.rglob("*")) if path.is_file())
  return {str(path.relative_to(folder)): path.stat().st_size for path in files}


def check_readable(folder: Path) -> None:
  """Raises InputError for a file below a folder of which not one byte can be read."""
  for name, size in sizes(folder).items():
    path = folder / name
    try:
      if in_bucket(path):
        path.check_readable(size)  # pyrefly: ignore[missing-attribute]
      else:
        with path.open("rb") as file:
          file.read(1)
    except InputError:
      raise
    except Exception as fault:  # each service has its own for what it refuses
      reason = str(fault).strip().partition("\n")[0] or type(fault).__name__
      raise InputError(
        f"{path}: not read ({reason[:300]}); expected a place that answers: the same command tries"
        " again"
      ) from None


def write_sizes(folder: Path, name: str) -> None:
  """Writes the sizes of all files below a folder into it, once they all are on the disk."""
  if not in_bucket(folder):
    sync_all(folder)
  write_json(folder / name, {other: size for other, size in sizes(folder).items() if other != name})


def is_part(path: Path) -> bool:
  """Returns whether a file is a temporary one of a process that was killed while writing."""
  return f"{PART}." in path.name or path.name.endswith(PART)


def write_json_in_place(path: Path, value: object) -> None:
  """Writes a value as indented JSON, into a folder that becomes whole as one."""
  text = json.dumps(value, ensure_ascii=False, indent=2)
  path.write_text(text + "\n", encoding="utf-8")


def write_text(path: Path, text: str) -> None:
  """Writes a text, atomically."""
  with whole(path) as part:
    part.write_text(text, encoding="utf-8")


def write_json(path: Path, value: object) -> None:
  """Writes a value as indented JSON, atomically."""
  with whole(path) as part:
    text = json.dumps(value, ensure_ascii=False, indent=1) + "\n"
    # Names of files may not be valid UTF-8.
    part.write_text(text, encoding="utf-8", errors="backslashreplace")


def read_json(path: Path) -> Any:
  """Returns the content of a JSON file, or None if it is missing or not JSON."""
  try:
    return json.loads(path.read_text(encoding="utf-8"))
  except (OSError, ValueError):
    return None


def read_text(path: Path) -> str:
  """Returns the text of a UTF-8 file."""
  check_regular(path)
  try:
    return path.read_text(encoding="utf-8")
  except FileNotFoundError:
    raise InputError(f"{path}: no such file") from None
  except UnicodeDecodeError as error:
    raise InputError(f"{path}: byte {error.start} is not UTF-8 text") from None
  except OSError as error:
    raise InputError(f"{path}: {error.strerror}; expected a file") from None


def packaged(name: str) -> str:
  """Returns the text of a file that is part of this package, by its path there."""
  return importlib.resources.files("luke_jax").joinpath(name).read_text("utf-8")


def read_json_object(path: Path, expected: str) -> dict[str, Any]:
  """Returns the object in a JSON file; raises InputError for a key twice in an object."""

  def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) < len(pairs):
      key = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
      raise InputError(f"{path}: key {key!r} stands twice; expected {expected}")
    return value

  try:
    value = json.loads(read_text(path), object_pairs_hook=unique)
  except json.JSONDecodeError as error:
    raise InputError(
      f"{path}: line {error.lineno} is not JSON ({error.msg}); expected {expected}"
    ) from None
  except RecursionError:
    raise InputError(f"{path}: nested too deeply; expected {expected}") from None
  except InputError:
    raise
  except ValueError as error:  # Python reads no numbers of thousands of digits
    raise InputError(f"{path}: {error}; expected {expected}") from None
  if not isinstance(value, dict):
    raise InputError(f"{path}: holds a {type(value).__name__}; expected {expected}")
  return value


def sha256(path: Path) -> str:
  """Returns the SHA-256 of a file's bytes, in hexadecimal."""
  with path.open("rb") as file:
    return hashlib.file_digest(file, "sha256").hexdigest()


def sample(path: Path) -> bytes:
  """Returns name, size and some blocks of a file; reading all of a large one would take hours."""
  if in_bucket(path):  # which knows a sum or a version of each object
    status: Any = path.stat()
    return f"{path.name} {status.st_size} {status.md5 or status.generation}".encode()
  size = path.stat().st_size
  with path.open("rb") as file:
    blocks = []
    for start in sorted({0, max(0, size // 2 - _BLOCK // 2), max(0, size - _BLOCK)}):
      file.seek(start)
      blocks.append(file.read(_BLOCK))
  return b"".join([path.name.encode(), b" %d " % size, *blocks])


def cache_folder() -> pathlib.Path:
  """Returns the folder for what can be fetched or made again.

  LUKE_JAX_CACHE names it; by default it is luke_jax in the user's folder for caches.
  """
  if named := os.environ.get("LUKE_JAX_CACHE"):
    return pathlib.Path(named)
  try:
    home = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(home) / "luke_jax"
  except RuntimeError:  # a user without a home, as in some containers
    # Not the folder for temporary files: others may write there, and programs are run from here.
    return pathlib.Path(".cache/luke_jax").absolute()


def program_folder() -> pathlib.Path:
  """Returns the folder of compiled programs: one for each kind of processor and version of JAX.

  A home may be shared by machines whose processors have other instructions.
  """
  try:
    version = importlib.metadata.version("jaxlib")
  except importlib.metadata.PackageNotFoundError:  # luke-jax doctor reports it
    version = "none"
  processor = _processor_line("flags", "Features") or platform.processor() + platform.machine()
  kind = hashlib.sha256(processor.encode()).hexdigest()[:8]
  return cache_folder() / "compiled" / f"jaxlib-{version}-{kind}"


def cores_and_processor() -> str:
  """Returns the number of cores this process may use, and the processor's name."""
  cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
  name = _processor_line("model name").partition(":")[2].strip()
  name = name or platform.processor() or platform.machine()
  return f"{cores} core{'s' if cores != 1 else ''}, {name}"


def _processor_line(*starts: str) -> str:
  """Returns the first line about the processor that starts so; "" where there is none."""
  try:
    lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
  except OSError:
    return ""
  return next((line for line in lines if line.startswith(starts)), "")
