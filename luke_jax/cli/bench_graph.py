"""`luke-jax bench graph`."""

from typing import Literal

from rich.console import Console
from rich.table import Table

from luke_jax.bench.graph import PUBLISHED, Result
from luke_jax.bench.graph import run as measure
from luke_jax.cli.figures import write_figures
from luke_jax.cli.stderr import stderr_console
from luke_jax.files import Path, check_place


def run(
  *,
  width: int = 100,
  negatives: int = 32,
  norm: Literal[1, 2] = 1,
  rounds: int = 3,
  output: Path | None = None,
) -> None:
  """Times the training of TransE on one core, in turn with PyKEEN where that is installed.

  An epoch of a made-up graph of CoDEx-S's size, with the rows that the host makes. A triple has as
  many negatives on both sides; here the triples of a chunk share them and known ones are left out.

      luke-jax bench graph --norm 2

  Args:
    width: Width of a vector.
    negatives: Number of negatives of a triple.
    norm: Norm of the distance.
    rounds: Number of times each side runs.
    output: File for the figures, as JSON.
  """
  if output:
    check_place(output)
  with stderr_console().status("timing epochs"):
    result = measure(width, negatives, norm, rounds)
  console = Console()
  console.print(_table(result))
  console.print(f"{result.machine}, one of them used", soft_wrap=True)
  theirs = result.rate("theirs")
  rates = {"luke_jax": result.rate("ours")} | ({"pykeen": theirs} if theirs else {})
  ratio = result.timing.ratio if theirs else None
  write_figures(result, {"triples_per_second": rates, "ratio": ratio}, output)


def _table(result: Result) -> Table:
  title = f"L{result.norm}, width {result.width}, {result.negatives} negatives"
  table = Table("", "triples a second", title=title)
  table.add_row("luke_jax", f"{result.rate('ours'):,.0f}")
  if theirs := result.rate("theirs"):
    table.add_row("PyKEEN", f"{theirs:,.0f}")
  for name, rate in PUBLISHED.items():
    table.add_row(f"published: {name}", f"{rate:,.0f}")
  return table
