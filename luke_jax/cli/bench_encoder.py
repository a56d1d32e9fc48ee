"""`luke-jax bench encoder`."""

from pathlib import Path

from rich.console import Console
from rich.table import Table

from luke_jax.bench.encoder import Batch, Result
from luke_jax.bench.encoder import run as measure
from luke_jax.cli.figures import write_figures
from luke_jax.cli.stderr import stderr_console
from luke_jax.files import check_place

BATCH = Batch()


def run(
  *, size: str = "luke-base", batch: Batch = BATCH, rounds: int = 7, output: Path | None = None
) -> None:
  """Times the encoder against transformers, side by side.

  Same weights, batch and float32 on both sides, taking turns; compilation is not counted. Needs
  the extra `parity`.

      luke-jax bench encoder --batch.words 256 --batch.entities 32

  Args:
    size: A named size, such as luke-base.
    batch: Sizes of the batch.
    rounds: Number of times each side runs.
    output: File for the figures, as JSON.
  """
  if output:
    check_place(output)
  with stderr_console().status(f"timing {size}"):
    result = measure(size, batch, rounds)
  console = Console()
  console.print(_table(result))
  console.print(f"{result.machine}; {result.versions}", soft_wrap=True)
  ratios = {name: timing.ratio for name, timing in result.passes.items()}
  write_figures(result, {"ratios": ratios, "peak_flops": result.peak_flops}, output)


def _table(result: Result) -> Table:
  b = result.batch
  title = f"{result.size}, {b.sequences} x ({b.words} words + {b.entities} entities), float32"
  table = Table(
    "", "luke_jax", "transformers", "ratio", "of peak: luke_jax", "transformers", title=title
  )
  for name, timing in result.passes.items():
    ours, theirs = timing.median("ours"), timing.median("theirs")
    shares = [
      result.flops[name] / seconds / result.peak_flops[side]
      for side, seconds in (("ours", ours), ("theirs", theirs))
    ]
    ratio = f"{timing.ratio:.2f}"
    table.add_row(name, f"{ours:.3f} s", f"{theirs:.3f} s", ratio, *(f"{s:.0%}" for s in shares))
  peaks = [f"{flops / 1e9:.0f} GFLOP/s" for flops in result.peak_flops.values()]
  table.add_row("matrix product", *peaks, f"{result.peak.ratio:.2f}", "", "")
  return table
