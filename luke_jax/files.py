"""Files that are written whole or not at all."""

import contextlib
import hashlib
import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from luke_jax.errors import InputError

PART = ".part"


@contextlib.contextmanager
def whole(path: Path) -> Iterator[Path]:
  """A name to write to, which becomes `path` when all went well and is removed otherwise."""
  check_place(path)
  if path.exists() and not path.is_file():  # a pipe, or /dev/null
    yield path
    return
  path = path.resolve()  # a link stays one
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
    text = json.dumps(value, ensure_ascii=False, indent=1) + "\n"
    part.write_text(text, encoding="utf-8", errors="backslashreplace")  # names of files may be odd


def read_json(path: Path) -> Any:
  """A value that `write_json` wrote; None where there is none or something else."""
  try:
    return json.loads(path.read_text(encoding="utf-8"))
  except (OSError, ValueError):
    return None


def sha256(path: Path) -> str:
  """The hash of a file's bytes."""
  with path.open("rb") as file:
    return hashlib.file_digest(file, "sha256").hexdigest()
