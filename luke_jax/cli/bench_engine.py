"""`luke-jax bench engine`."""

import statistics
import sys

from rich.console import Console
from rich.table import Table

from luke_jax.bench.engine import Result
from luke_jax.bench.engine import run as measure
from luke_jax.cli.figures import write_figures
from luke_jax.files import Path, check_place


def run(*, steps: int = 1000, rounds: int = 3, output: Path | None = None) -> None:
  """Times what a training run spends between its steps.

  Trains a tiny model as `luke-jax train` does and takes the same compiled step bare, in turn. The
  difference is the cost of batches, their placing, dispatch, logging and the progress line.

      luke-jax bench engine --steps 1000

  Args:
    steps: Number of steps in a round.
    rounds: Number of times each side runs.
    output: File for the figures, as JSON.
  """
  if output:
    check_place(output)
  print(f"timing {rounds} x {steps} steps in the loop and bare", file=sys.stderr)
  result = measure(steps, rounds)
  console = Console()
  console.print(_table(result))
  console.print(f"{result.machine}; {result.device}; {result.versions}", soft_wrap=True)
  summary = {"overhead_ms": result.overhead}
  write_figures(result, summary, output)


def _table(result: Result) -> Table:
  table = Table("", "median", "least", "most", title=f"ms a step, {result.steps} steps a round")
  for name, times in (
    ("in the loop", result.loop),
    ("of that, waiting for data", result.waiting),
    ("bare", result.bare),
  ):
    table.add_row(name, *(f"{f(times):.2f}" for f in (statistics.median, min, max)))
  table.add_row("between the steps", f"{result.overhead:.2f}", "", "")
  return table
