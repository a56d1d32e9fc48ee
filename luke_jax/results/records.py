"""What is written down of a finished run, so that its numbers can be judged and had again."""

import dataclasses
import datetime
import hashlib
import importlib.metadata
import json
import platform
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax

from luke_jax.bench.machine import cores_and_processor
from luke_jax.errors import InputError
from luke_jax.files import sha256, write_json
from luke_jax.tasks.datasets import is_split

RESULT = "result.json"
REQUIRED = {"experiment", "seed", "scores", "seconds", "steps", "paper"}
PACKAGES = ("luke_jax", "jax", "jaxlib", "flax", "optax", "orbax-checkpoint", "numpy")


@dataclasses.dataclass(frozen=True)
class Result:
  """One run of an experiment, with one seed."""

  experiment: str  # its file
  seed: int
  scores: Mapping[str, Mapping[str, float]]  # by split
  seconds: float
  steps: int
  paper: Mapping[str, Any]  # what the paper has in this row
  changes: tuple[str, ...] = ()  # fields that were set otherwise than in the file
  data: Mapping[str, str | None] = dataclasses.field(default_factory=dict)  # files and their hashes
  hardware: str = ""
  versions: Mapping[str, str] = dataclasses.field(default_factory=dict)
  revision: str = ""  # of the repository; a + after it: with changes of its own
  finished: str = ""


def finished(result: Result, folder: Path, experiment: Path) -> Result:
  """Adds where and when a run was, and writes all of it into the run's folder."""
  result = dataclasses.replace(
    result,
    hardware=hardware(),
    versions=versions(),
    revision=revision(experiment.parent),
    finished=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
  )
  write_json(folder / RESULT, dataclasses.asdict(result))
  return result


def read_results(folders: Sequence[Path]) -> list[Result]:
  """All results in the folders and below them, in the order of their paths."""
  results = []
  for folder in folders:
    if not folder.is_dir():
      raise InputError(f"{folder}: no such folder; expected results of luke-jax experiment run")
    results += [_read(path) for path in sorted(folder.rglob(RESULT))]
  if not results:
    named = ", ".join(map(str, folders))
    raise InputError(f"{named}: no {RESULT} in it; expected results of luke-jax experiment run")
  return results


def hash_of(source: str) -> str | None:
  """A hash of a file, or of the files of a dataset, FOLDER:SPLIT. What has gone has none."""
  if Path(source).is_file():
    return sha256(Path(source))
  if not is_split(source):
    return None
  digest = hashlib.sha256()
  for file in sorted(Path(source.rpartition(":")[0]).rglob("*")):
    if file.is_file():
      digest.update(f"{file.name} {sha256(file)}\n".encode())
  return digest.hexdigest()


def _read(path: Path) -> Result:
  names = {field.name for field in dataclasses.fields(Result)}
  try:
    values = json.loads(path.read_text(encoding="utf-8"))
    if isinstance(values, dict) and values.keys() >= REQUIRED:
      known: Any = {name: value for name, value in values.items() if name in names}
      return Result(**known)
  except ValueError:
    pass
  raise InputError(f"{path}: no result; expected what luke-jax experiment run writes")


def versions() -> dict[str, str]:
  """Versions of what the numbers depend on."""
  found = {name: importlib.metadata.version(name) for name in PACKAGES}
  return found | {"python": platform.python_version()}


def hardware() -> str:
  """The devices that JAX computes on; where it is the CPU, its cores."""
  device = jax.devices()[0]
  if device.platform == "cpu":
    return cores_and_processor()
  return f"{jax.device_count()} x {device.device_kind}"


def revision(folder: Path) -> str:
  """The commit that a folder is at, or nothing where git does not know."""

  def git(*arguments: str) -> str:
    done = subprocess.run(
      ("git", "-C", str(folder), *arguments), capture_output=True, text=True, check=True
    )
    return done.stdout.strip()

  try:
    return git("rev-parse", "--short=12", "HEAD") + ("+" if git("status", "--porcelain") else "")
  except (OSError, subprocess.CalledProcessError):
    return ""
