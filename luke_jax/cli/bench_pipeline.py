"""`luke-jax bench pipeline`."""

import sys
from typing import Annotated

from rich.console import Console
from rich.table import Table
from tyro.conf import Positional, arg

from luke_jax.bench.pipeline import Result
from luke_jax.bench.pipeline import run as measure
from luke_jax.cli.figures import write_figures
from luke_jax.files import Path, check_place


def run(
  source: Annotated[Path, Positional, arg(metavar="FOLDER|FILE")],
  /,
  *,
  batch_size: int = 32,
  batches: int = 50,
  rounds: int = 5,
  step_ms: float = 100.0,
  workers: int = 0,
  output: Path | None = None,
) -> None:
  """Times how stored records, or instances with units, become batches: read, masked, padded.

  Batches are made on one core first, one after another; then ahead, as in a run, for steps that
  only sleep: the share of the time that they wait is the cost of batches in a run.

      luke-jax bench pipeline enwiki/pretraining --step-ms 200 --workers 2
      luke-jax bench pipeline wiki.gz --batch-size 128 --workers 2

  Args:
    source: Folder of records that `luke-jax wiki build` wrote, or a file of `luke-jax data units`.
    batch_size: Records in a batch.
    batches: Number of batches in a round.
    rounds: Number of rounds on one core.
    step_ms: Milliseconds of a step.
    workers: Processes that make batches ahead; 0 for threads.
    output: File for the figures, as JSON.
  """
  if output:
    check_place(output)
  print(f"timing {rounds} x {batches} batches of {source}", file=sys.stderr)
  sizes = {"batch_size": batch_size, "batches": batches, "rounds": rounds}
  result = measure(source, **sizes, step_ms=step_ms, workers=workers)
  console = Console()
  console.print(_table(result))
  console.print(result.machine, soft_wrap=True)
  write_figures(result, {**result.per_second, "waiting": result.waiting}, output)


def _table(result: Result) -> Table:
  table = Table("", "", title=f"batches of {result.batch_size} of {result.records:,} records")
  rows = {"word tokens": "tokens", "records": "records", "masked words": "masked"}
  for what, name in rows.items():
    rate = result.per_second[f"{name}_per_second"]
    table.add_row(f"{what} a second, one core", f"{rate:,.0f}")
  table.add_row("share of the core that this had", f"{result.core_share:.0%}")
  if result.lines_per_second:
    table.add_row("lines a second, the first time", f"{result.lines_per_second:,.0f}")
  table.add_row("word tokens a batch", f"{result.tokens:,.0f}")
  made = f"{result.workers} workers" if result.workers else "threads"
  table.add_row(f"waiting, steps of {result.step_ms:g} ms, {made}", f"{result.waiting:.1%}")
  return table
