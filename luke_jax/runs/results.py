"""Results of finished runs: what is needed to judge and repeat them, and a report of mistakes."""

import dataclasses
import datetime
import hashlib
import importlib.metadata
import platform
import subprocess
from collections.abc import Mapping
from typing import Any

import jax
from rich.console import RenderableType

from luke_jax.files import Path, cores_and_processor, sha256, whole, write_json
from luke_jax.formats.datasets import is_split
from luke_jax.formats.records import sources_of
from luke_jax.show.evaluation_page import page, tables
from luke_jax.tasks.evaluation import Evaluation, merged
from luke_jax.training import directory

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


REPORT = "report.html"  # in a run's folder
MISTAKES = 3  # in the terminal
MOST_LABELS = 20  # in the terminal


def write_report(
  run: Path, task: str, curve: Mapping[str, float] | None = None
) -> RenderableType | None:
  """Writes a page about the scores of dev into a run's folder, and returns it for a terminal.

  `curve` has the scores of shares of the examples. Of a cross-validation the page is of all
  examples, each by a model that did not train on it. Returns None for a run whose task has no more
  than scores.
  """
  folds = sorted(run.glob(f"{directory.FOLDS}/*/{directory.DEV}"))
  files = [file for file in (run / directory.DEV, *folds) if file.is_file()]
  if not files:
    return None
  evaluation = merged([Evaluation.from_json(directory.read_json(file)) for file in files])
  scored = (
    f"all examples of {run.name}, each by a model of others" if folds else f"dev of {run.name}"
  )
  with whole(run / REPORT) as part:
    shown = page(evaluation, f"{task}: {scored}", len(evaluation.mistakes), curve or {})
    part.write_text(shown, encoding="utf-8")
  few = evaluation.labels if len(evaluation.labels) <= MOST_LABELS else {}
  shown = dataclasses.replace(evaluation, labels=few)
  return tables(shown, MISTAKES)
