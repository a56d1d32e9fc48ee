"""Results of finished runs, with what is needed to judge and repeat them."""

import dataclasses
import datetime
import hashlib
import importlib.metadata
import platform
import subprocess
from collections.abc import Mapping
from typing import Any

import jax

from luke_jax.files import Path, cores_and_processor, sha256, write_json
from luke_jax.formats.datasets import is_split
from luke_jax.formats.records import sources_of

RESULT = "result.json"
PACKAGES = ("luke_jax", "jax", "jaxlib", "flax", "optax", "orbax-checkpoint", "numpy")


@dataclasses.dataclass(frozen=True)
class SeedResult:
  """Result of one run of an experiment, with one seed."""

  experiment: str  # path of its file
  seed: int
  scores: Mapping[str, Mapping[str, float]]  # by split
  seconds: float
  steps: int
  paper: Mapping[str, Any]  # the paper's row: table, method, split and scores
  changes: tuple[str, ...] = ()  # overrides of the file's fields
  data: Mapping[str, str | None] = dataclasses.field(default_factory=dict)  # files and their hashes
  hardware: str = ""
  versions: Mapping[str, str] = dataclasses.field(default_factory=dict)
  revision: str = ""  # commit of the repository, with a + if there were uncommitted changes
  finished: str = ""
  parameters: int = 0  # of the model; 0 in results of before they were counted

  @property
  def split(self) -> str:
    """Returns the split whose scores tables have."""
    return str(self.paper.get("split") or ("test" if "test" in self.scores else "dev"))


def finished(result: SeedResult, folder: Path, experiment: Path) -> SeedResult:
  """Writes the result into the run's folder, with hardware, versions, revision and time added."""
  result = dataclasses.replace(
    result,
    hardware=hardware(),
    versions=versions(),
    revision=revision(experiment.parent),
    finished=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
  )
  write_json(folder / RESULT, dataclasses.asdict(result))
  return result


def hash_of(setting: str) -> str | None:
  """Returns the SHA-256 of a file or of several, or of a dataset's files; None if one is gone."""
  hashes = [_hash_of(source) for source in sources_of(setting)]
  if len(hashes) == 1 or None in hashes:
    return None if None in hashes else hashes[0]
  return hashlib.sha256(" ".join(map(str, hashes)).encode()).hexdigest()


def _hash_of(source: str) -> str | None:
  if Path(source).is_file():
    return sha256(Path(source))
  if not is_split(source):
    return None
  digest = hashlib.sha256()
  for file in sorted(Path(source.rpartition(":")[0]).rglob("*")):
    if file.is_file():
      digest.update(f"{file.name} {sha256(file)}\n".encode())
  return digest.hexdigest()


def versions() -> dict[str, str]:
  """Returns the versions of Python and of the packages that the numbers depend on."""
  packages = {name: importlib.metadata.version(name) for name in PACKAGES}
  return packages | {"python": platform.python_version()}


def hardware() -> str:
  """Returns the devices that JAX computes on, or the processor and its cores."""
  device = jax.devices()[0]
  if device.platform == "cpu":
    return cores_and_processor()
  return f"{jax.device_count()} x {device.device_kind}"


def revision(folder: Path) -> str:
  """Returns the commit that a folder is at, with a + if it has changes; "" outside git."""

  def git(*arguments: str) -> str:
    process = subprocess.run(
      ("git", "-C", str(folder), *arguments), capture_output=True, text=True, check=True
    )
    return process.stdout.strip()

  try:
    return git("rev-parse", "--short=12", "HEAD") + ("+" if git("status", "--porcelain") else "")
  except (OSError, subprocess.CalledProcessError):
    return ""
