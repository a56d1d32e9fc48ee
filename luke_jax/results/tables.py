"""The paper's tables beside what was measured: mean, deviation and best over seeds."""

import statistics
from collections.abc import Iterable, Sequence

from luke_jax.results.records import Result

# Of an entry's names in `paper`, those that are no metric.
ABOUT = ("table", "method", "split")
NOT_MEASURED = "–"


def tables(results: Sequence[Result]) -> str:
  """Markdown: a table for each of the paper's, a row for each experiment."""
  by_table: dict[str, list[Result]] = {}
  for result in results:
    by_table.setdefault(str(result.paper.get("table", "No table of the paper")), []).append(result)
  return "\n\n".join(_table(name, rows) for name, rows in sorted(by_table.items())) + "\n"


def _table(name: str, results: Sequence[Result]) -> str:
  metrics = list(dict.fromkeys(m for result in results for m in _metrics(result)))
  header = ["experiment", "split", "seeds"]
  header += [part for m in metrics for part in (f"{m}: paper", "mean ± deviation", "best")]
  lines = [f"### {name}", "", _row(header), _row(["---"] * len(header))]
  rows: dict[tuple[str, str, tuple[str, ...]], list[Result]] = {}
  for result in results:
    method = str(result.paper.get("method", result.experiment))
    rows.setdefault((method, _split(result), tuple(result.changes)), []).append(result)
  for (method, split, changes), some in rows.items():
    named = f"{method} ({', '.join(changes)})" if changes else method
    cells = [named, split, _seeds(some)]
    for metric in metrics:
      cells += _cells(metric, split, some)
    lines.append(_row(cells))
  return "\n".join([*lines, "", *_notes(results)])


def _metrics(result: Result) -> list[str]:
  named = [name for name in result.paper if name not in ABOUT]
  return named or list(result.scores.get(_split(result), {}))[:1]


def _split(result: Result) -> str:
  return str(result.paper.get("split") or ("test" if "test" in result.scores else "dev"))


def _cells(metric: str, split: str, results: Sequence[Result]) -> list[str]:
  paper = results[0].paper.get(metric)
  found = [r.scores[split][metric] for r in results if metric in r.scores.get(split, {})]
  told = NOT_MEASURED if paper is None else f"{paper:.1f}"
  if not found:
    return [told, NOT_MEASURED, NOT_MEASURED]
  percent = [100 * value for value in found]
  deviation = f" ± {statistics.stdev(percent):.1f}" if len(percent) > 1 else ""
  return [told, f"{statistics.mean(percent):.1f}{deviation}", f"{max(percent):.1f}"]


def _seeds(results: Iterable[Result]) -> str:
  return ", ".join(str(seed) for seed in sorted(result.seed for result in results))


def _notes(results: Sequence[Result]) -> list[str]:
  """Where and with what the runs of a table were made, and how long one took."""
  hardware = sorted({result.hardware for result in results})
  revisions = sorted({result.revision for result in results if result.revision})
  minutes = statistics.median(result.seconds for result in results) / 60
  versions = sorted({f"jax {result.versions['jax']}" for result in results if result.versions})
  parts = [*hardware, *versions, *(f"revision {x}" for x in revisions)]
  return [f"{'; '.join(parts)}; {minutes:.1f} minutes a run (median)."]


def _row(cells: Iterable[str]) -> str:
  return f"| {' | '.join(cells)} |"
