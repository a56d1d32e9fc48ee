"""The paper's tables with what was measured: `python -m experiments.results.table FOLDER`."""

import dataclasses
import json
import statistics
import sys
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from tyro.conf import Positional, arg

from luke_jax.cli import script
from luke_jax.errors import InputError
from luke_jax.files import Path, whole
from luke_jax.runs.results import RESULT, SeedResult

# Keys of `SeedResult.paper` that are not metrics.
ABOUT = ("table", "method", "split")
NOT_MEASURED = "–"
REQUIRED = {"experiment", "seed", "scores", "seconds", "steps", "paper"}


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


def main(
  folders: Annotated[tuple[Path, ...], Positional, arg(metavar="FOLDER...")],
  /,
  *,
  output: Path | None = None,
) -> None:
  """Writes the paper's tables with the measured mean, deviation and best over seeds beside them.

      python -m experiments.results.table results --output tables.md

  Args:
    folders: Folders of luke-jax experiment run, or folders of those.
    output: File for the tables, as Markdown; without one they are printed.
  """
  if not folders:
    raise InputError("FOLDER: missing; expected results of luke-jax experiment run")
  results = read_results(folders)
  text = tables(results)
  if output is None:
    print(text, end="")
    return
  with whole(output) as part:
    part.write_text(text, encoding="utf-8")
  print(f"{output}: {len(results)} results")


if __name__ == "__main__":
  sys.exit(script(main, "python -m experiments.results.table"))
