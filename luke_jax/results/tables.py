"""Tables of the paper with measured scores: mean, deviation and best over seeds."""

import statistics
from collections.abc import Iterable, Sequence

from luke_jax.results.records import Result

# Keys of `Result.paper` that are not metrics.
ABOUT = ("table", "method", "split")
NOT_MEASURED = "–"


def tables(results: Sequence[Result]) -> str:
  """Returns Markdown with a table for each of the paper's, and a row for each experiment."""
  by_table: dict[str, list[Result]] = {}
  for result in results:
    by_table.setdefault(str(result.paper.get("table", "No table of the paper")), []).append(result)
  return "\n\n".join(_table(name, rows) for name, rows in sorted(by_table.items())) + "\n"


def _table(name: str, results: Sequence[Result]) -> str:
  metrics = list(dict.fromkeys(m for result in results for m in _metrics(result)))
  header = ["experiment", "parameters", "minutes", "split", "seeds"]
  header += [part for m in metrics for part in (f"{m}: paper", "mean ± deviation", "best")]
  lines = [f"### {name}", "", _row(header), _row(["---"] * len(header))]
  rows: dict[tuple[str, str, tuple[str, ...]], list[Result]] = {}
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


def _metrics(result: Result) -> list[str]:
  metrics = [name for name in result.paper if name not in ABOUT]
  return metrics or list(result.scores.get(result.split, {}))[:1]


def _cells(metric: str, split: str, results: Sequence[Result]) -> list[str]:
  paper = results[0].paper.get(metric)
  scores = [r.scores[split][metric] for r in results if metric in r.scores.get(split, {})]
  published = NOT_MEASURED if paper is None else f"{paper:.1f}"
  if not scores:
    return [published, NOT_MEASURED, NOT_MEASURED]
  percent = [100 * value for value in scores]
  deviation = f" ± {statistics.stdev(percent):.1f}" if len(percent) > 1 else ""
  return [published, f"{statistics.mean(percent):.1f}{deviation}", f"{max(percent):.1f}"]


def _parameters(results: Sequence[Result]) -> str:
  counts = sorted({result.parameters for result in results if result.parameters})
  return ", ".join(f"{count / 1e6:.3g} M" for count in counts) or NOT_MEASURED


def _minutes(results: Sequence[Result]) -> str:
  """Returns the median time of a run: starting, compiling, training and scoring on dev."""
  return f"{statistics.median(result.seconds for result in results) / 60:.1f}"


def _seeds(results: Iterable[Result]) -> str:
  return ", ".join(str(seed) for seed in sorted(result.seed for result in results))


def _notes(results: Sequence[Result]) -> list[str]:
  """Returns the hardware and versions of a table's runs."""
  hardware = sorted({result.hardware for result in results})
  revisions = sorted({result.revision for result in results if result.revision})
  versions = sorted({f"jax {result.versions['jax']}" for result in results if result.versions})
  parts = [*hardware, *versions, *(f"revision {x}" for x in revisions)]
  return [f"{'; '.join(parts)}; minutes are those of a run, the median."]


def _row(cells: Iterable[str]) -> str:
  return f"| {' | '.join(cells)} |"
