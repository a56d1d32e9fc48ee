"""Results of finished runs, with what is needed to judge and repeat them, and tables of them."""

import dataclasses
import datetime
import hashlib
import importlib.metadata
import itertools
import json
import platform
import statistics
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import jax

from luke_jax.errors import InputError
from luke_jax.files import Path, cores_and_processor, sha256, write_json
from luke_jax.tasks.datasets import is_split
from luke_jax.tasks.files import sources_of

# Keys of `SeedResult.paper` that are not metrics.
ABOUT = ("table", "method", "split")
NOT_MEASURED = "–"
RESULT = "result.json"
REQUIRED = {"experiment", "seed", "scores", "seconds", "steps", "paper"}
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


def read_results(folders: Sequence[Path]) -> list[SeedResult]:
  """Returns all results in the folders and below them, in the order of their paths."""
  results = []
  for folder in folders:
    if not folder.is_dir():
      raise InputError(f"{folder}: no such folder; expected the output of luke-jax experiment run")
    results += [_read(path) for path in sorted(folder.rglob(RESULT))]
  if not results:
    named = ", ".join(map(str, folders))
    raise InputError(f"{named}: no {RESULT} in it; expected the output of luke-jax experiment run")
  return results


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


def _read(path: Path) -> SeedResult:
  names = {field.name for field in dataclasses.fields(SeedResult)}
  try:
    values = json.loads(path.read_text(encoding="utf-8"))
    if isinstance(values, dict) and values.keys() >= REQUIRED:
      fields: Any = {name: value for name, value in values.items() if name in names}
      return SeedResult(**fields)
  except ValueError:
    pass
  raise InputError(f"{path}: not a result; expected a file that luke-jax experiment run wrote")


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


def tables(results: Sequence[SeedResult]) -> str:
  """Returns Markdown with a table for each of the paper's, and a row for each experiment."""
  by_table: dict[str, list[SeedResult]] = {}
  for result in results:
    by_table.setdefault(str(result.paper.get("table", "No table of the paper")), []).append(result)
  return "\n\n".join(_paper_table(name, rows) for name, rows in sorted(by_table.items())) + "\n"


def _paper_table(name: str, results: Sequence[SeedResult]) -> str:
  metrics = list(dict.fromkeys(m for result in results for m in _metrics(result)))
  header = ["experiment", "parameters", "minutes", "split", "seeds"]
  header += [part for m in metrics for part in (f"{m}: paper", "mean ± deviation", "best")]
  lines = [f"### {name}", "", _row(header), _row(["---"] * len(header))]
  rows: dict[tuple[str, str, tuple[str, ...]], list[SeedResult]] = {}
  for result in results:
    method = str(result.paper.get("method", result.experiment))
    rows.setdefault((method, result.split, tuple(result.changes)), []).append(result)
  for (method, split, changes), group in rows.items():
    label = f"{method} ({', '.join(changes)})" if changes else method
    cells = [label, _parameters(group), _minutes(group), split, _seeds(group)]
    for metric in metrics:
      cells += _cells(metric, split, group)
    lines.append(_row(cells))
  return "\n".join([*lines, "", *_notes(results)])


def _metrics(result: SeedResult) -> list[str]:
  metrics = [name for name in result.paper if name not in ABOUT]
  return metrics or list(result.scores.get(result.split, {}))[:1]


def _cells(metric: str, split: str, results: Sequence[SeedResult]) -> list[str]:
  paper = results[0].paper.get(metric)
  scores = [r.scores[split][metric] for r in results if metric in r.scores.get(split, {})]
  published = NOT_MEASURED if paper is None else f"{paper:.1f}"
  if not scores:
    return [published, NOT_MEASURED, NOT_MEASURED]
  percent = [100 * value for value in scores]
  deviation = f" ± {statistics.stdev(percent):.1f}" if len(percent) > 1 else ""
  return [published, f"{statistics.mean(percent):.1f}{deviation}", f"{max(percent):.1f}"]


def _parameters(results: Sequence[SeedResult]) -> str:
  counts = sorted({result.parameters for result in results if result.parameters})
  return ", ".join(f"{count / 1e6:.3g} M" for count in counts) or NOT_MEASURED


def _minutes(results: Sequence[SeedResult]) -> str:
  """Returns the median time of a run: starting, compiling, training and scoring on dev."""
  return f"{statistics.median(result.seconds for result in results) / 60:.1f}"


def _seeds(results: Iterable[SeedResult]) -> str:
  return ", ".join(str(seed) for seed in sorted(result.seed for result in results))


def _notes(results: Sequence[SeedResult]) -> list[str]:
  """Returns the hardware and versions of a table's runs."""
  hardware = sorted({result.hardware for result in results})
  revisions = sorted({result.revision for result in results if result.revision})
  versions = sorted({f"jax {result.versions['jax']}" for result in results if result.versions})
  parts = [*hardware, *versions, *(f"revision {x}" for x in revisions)]
  return [f"{'; '.join(parts)}; minutes are those of a run, the median."]


def _row(cells: Iterable[str]) -> str:
  return f"| {' | '.join(cells)} |"


EXACT = 16  # pairs up to which all signs are tried


class Compared(NamedTuple):
  """An experiment beside the first one, over the seeds that all have; scores in percent."""

  name: str
  scores: tuple[float, ...]
  below: tuple[float, ...]  # differences from the first one, seed by seed
  chance: float | None  # None for the first one


def compare(scores: Mapping[str, Mapping[int, float]]) -> list[Compared]:
  """Returns the experiments beside the first, by the seeds that all of them have."""
  seeds = sorted(set.intersection(*map(set, scores.values())))
  if len(seeds) < 2:
    raise InputError(f"seeds: {len(seeds)} that all have; expected two or more, to compare")
  first, *_ = ([of_seed[seed] for seed in seeds] for of_seed in scores.values())
  rows = []
  for number, (name, of_seed) in enumerate(scores.items()):
    values = [of_seed[seed] for seed in seeds]
    below = [100 * (a - b) for a, b in zip(first, values, strict=True)]
    chance = chance_of(below) if number else None
    rows.append(Compared(name, tuple(100 * x for x in values), tuple(below), chance))
  return rows


def chance_of(differences: Sequence[float]) -> float:
  """Returns the share of all signs of the differences with a mean as far from 0.

  That of n pairs is never below 2 / 2**n: .25 for three of them.
  """
  if len(differences) > EXACT:
    raise InputError(f"seeds: {len(differences)}; expected at most {EXACT}, as all signs are tried")
  least = abs(sum(differences)) - 1e-9
  signs = itertools.product((1, -1), repeat=len(differences))
  sums = [abs(sum(s * x for s, x in zip(sign, differences, strict=True))) for sign in signs]
  return sum(x >= least for x in sums) / len(sums)


def comparison_table(rows: Sequence[Compared], metric: str) -> str:
  """Returns a Markdown table of compared experiments."""
  lines = [f"| | seeds | {metric} | below the first | p |", "| --- | --- | --- | --- | --- |"]
  for name, scores, below, chance in rows:
    spread = f"{statistics.mean(scores):.1f} ± {statistics.stdev(scores):.1f}"
    beside = "| | |" if chance is None else f"| {statistics.mean(below):.1f} | {chance:.3f} |"
    lines.append(f"| {name} | {len(scores)} | {spread} {beside}")
  return "\n".join(lines) + "\n"
