"""`luke-jax bench step`."""

import statistics
from typing import Annotated

from rich.console import Console
from rich.table import Table
from tyro.conf import Positional, UseAppendAction, arg

from luke_jax.bench.step import Result
from luke_jax.bench.step import run as measure
from luke_jax.cli.figures import write_figures
from luke_jax.cli.stderr import stderr_console
from luke_jax.files import Path, check_place
from luke_jax.runs.recipes import read_experiment


def run(
  experiment: Annotated[Path, Positional, arg(metavar="EXPERIMENT")],
  /,
  *,
  set: UseAppendAction[tuple[str, ...]] = (),
  steps: int = 10,
  rounds: int = 3,
  output: Path | None = None,
) -> None:
  """Times an experiment's training step alone, on the devices of this machine.

  The step that `luke-jax train` compiles runs on the experiment's first batch, from fresh
  parameters: nothing is read from `run.start`, and nothing is saved. Its share of the speed of a
  square matrix product and, on GPUs and TPUs, its memory are shown.

      luke-jax bench step experiments/synthetic/luke_large.py --set data.batch_size=16

  Args:
    experiment: Python file with a function `config()` that returns an Experiment.
    set: A field by its dotted name and its value, as often as needed.
    steps: Number of steps in a round.
    rounds: Number of rounds.
    output: File for the figures, as JSON.
  """
  if output:
    check_place(output)
  chosen = read_experiment(experiment, set)
  with stderr_console().status(f"timing {experiment}"):
    result = measure(chosen, steps, rounds)
  console = Console()
  console.print(_table(result, str(experiment)))
  console.print(f"{result.machine}; {result.versions}", soft_wrap=True)
  summary = {
    "step_ms": 1e3 * statistics.median(result.step),
    "tokens_per_second": result.tokens / statistics.median(result.step),
    "flops_per_second": result.flops_per_second,
    "of_product": result.of_product,
    "peak_gib": result.peak_bytes and result.peak_bytes / 2**30,
  }
  write_figures(result, summary, output)


def _table(result: Result, name: str) -> Table:
  seconds = statistics.median(result.step)
  table = Table("one step", "", title=f"{name}, {result.dtype}, {result.devices} x")
  table.add_row("time", f"{1e3 * seconds:,.1f} ms")
  table.add_row("sequences a second", f"{result.sequences / seconds:,.1f}")
  table.add_row("words and entities a second", f"{result.tokens / seconds:,.0f}")
  table.add_row("TFLOP/s of a device", f"{result.flops_per_second / 1e12:,.2f}")
  table.add_row("of a square product's speed", f"{result.of_product:.0%}")
  table.add_row("compiling", f"{result.compiling:.1f} s")
  if result.peak_bytes:
    table.add_row("memory at most", f"{result.peak_bytes / 2**30:.1f} GiB")
  return table
