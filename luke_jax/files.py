"""Atomic writes, and reading and hashing of files."""

import contextlib
import hashlib
import importlib.metadata
import json
import os
import platform
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from luke_jax.errors import InputError

PART = ".part"


@contextlib.contextmanager
def whole(path: Path) -> Iterator[Path]:
  """Yields a temporary path that becomes `path` on success and is removed on failure."""
  check_place(path)
  if path.exists() and not path.is_file():  # a pipe, or /dev/null
    yield path  # written in place: it cannot be replaced
    return
  path = path.resolve()  # so that a symbolic link is kept, and its target replaced
  # The suffix comes last, since some writers choose the format by it.
  part = path.with_name(f"{path.stem}.{uuid.uuid4().hex[:8]}{PART}{path.suffix}")
  try:
    yield part
    part.replace(path)
  finally:
    part.unlink(missing_ok=True)


def check_place(path: Path) -> None:
  """Raises InputError unless a new file can be written at the path."""
  if not path.name or path.is_dir():
    raise InputError(f"{path}: a folder; expected the name of a file")
  if not path.parent.is_dir():
    raise InputError(f"{path}: no folder {path.parent}; expected one that exists")


def is_part(path: Path) -> bool:
  """Returns whether a file is a temporary one of a process that was killed while writing."""
  return f"{PART}." in path.name or path.name.endswith(PART)


def write_json(path: Path, value: Any) -> None:
  """Writes a value as indented JSON, atomically."""
  with whole(path) as part:
    text = json.dumps(value, ensure_ascii=False, indent=1) + "\n"
    # Names of files may not be valid UTF-8.
    part.write_text(text, encoding="utf-8", errors="backslashreplace")


def read_json(path: Path) -> Any:
  """Returns what a JSON file holds, or None if it is missing or not JSON."""
  try:
    return json.loads(path.read_text(encoding="utf-8"))
  except (OSError, ValueError):
    return None


def sha256(path: Path) -> str:
  """Returns the SHA-256 of a file's bytes, in hexadecimal."""
  with path.open("rb") as file:
    return hashlib.file_digest(file, "sha256").hexdigest()


def cache_folder() -> Path:
  """Returns the folder for what can be fetched or made again.

  LUKE_JAX_CACHE names it; by default it is luke_jax in the user's folder for caches.
  """
  if named := os.environ.get("LUKE_JAX_CACHE"):
    return Path(named)
  try:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "luke_jax"
  except RuntimeError:  # a user without a home, as in some containers
    # Not the folder for temporary files: others may write there, and programs are run from here.
    return Path(".cache/luke_jax").absolute()


def program_folder() -> Path:
  """Returns the folder of compiled programs: one for each kind of processor and version of JAX.

  A home may be shared by machines whose processors have other instructions.
  """
  try:
    version = importlib.metadata.version("jaxlib")
  except importlib.metadata.PackageNotFoundError:  # luke-jax doctor reports it
    version = "none"
  try:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    processor = next(line for line in lines if line.startswith(("flags", "Features")))
  except (OSError, StopIteration):
    processor = platform.processor() + platform.machine()
  kind = hashlib.sha256(processor.encode()).hexdigest()[:8]
  return cache_folder() / "compiled" / f"jaxlib-{version}-{kind}"
