"""`luke-jax bench graph`."""

import statistics
from typing import Literal

from rich.console import Console
from rich.table import Table

from luke_jax.bench.graph import BATCH, PUBLISHED, Result
from luke_jax.bench.graph import run as measure
from luke_jax.bench.roofline import WORK, Roofline
from luke_jax.cli.figures import write_figures
from luke_jax.cli.stderr import stderr_console
from luke_jax.files import Path, check_place

PARTS = {"step": "luke_jax, steps on rows in place", "host_rows": "luke_jax, rows alone"}


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
  A second table has what a step needs at least, at the speed that this core has for it, beside the
  time that the step takes; where a GPU takes the steps, which a core still feeds, there is none.

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
  report(result, output)


def report(result: Result, output: Path | None) -> None:
  """Prints the figures, and writes them to the output file."""
  console = Console()
  console.print(_table(result))
  if result.roofline:
    console.print(_roofline(result.roofline, result.norm))
  console.print(f"{result.machine}; one core used", soft_wrap=True)
  theirs = result.rate("theirs")
  rates = {"luke_jax": result.rate("ours")} | ({"pykeen": theirs} if theirs else {})
  ratio = result.timing.ratio if theirs else None
  shares = result.roofline.shares if result.roofline else None
  summary = {"triples_per_second": rates, "ratio": ratio, "of_limit": shares}
  write_figures(result, summary, output)


def _table(result: Result) -> Table:
  title = f"L{result.norm}, width {result.width}, {result.negatives} negatives"
  table = Table("", "triples a second", title=title)
  table.add_row("luke_jax", f"{result.rate('ours'):,.0f}")
  if theirs := result.rate("theirs"):
    table.add_row("PyKEEN", f"{theirs:,.0f}")
  for part, seconds in result.parts.items():
    table.add_row(PARTS[part], f"{BATCH / statistics.median(seconds):,.0f}")
  for name, rate in PUBLISHED.items():
    table.add_row(f"published: {name}", f"{rate:,.0f}")
  return table


def _roofline(line: Roofline, norm: int) -> Table:
  table = Table("of one step", "at least", "this core", "ms", title="What bounds a step")
  for column in table.columns[1:]:
    column.justify = "right"
  for part, name, unit in (
    ("arithmetic", WORK[norm], ""),
    ("row_bytes", "rows and moments, read and written", "B"),
  ):
    amount, speed = getattr(line.needs, part), statistics.median(getattr(line.speeds, part))
    row = (_short(amount) + unit, _short(speed) + unit + "/s", f"{1e3 * line.least[part]:.2f}")
    table.add_row(name, *row)
  least, shares = 1e3 * sum(line.least.values()), line.shares
  table.add_row("the limit", "", "", f"{least:.2f}", style="bold")
  step, rows = (1e3 * statistics.median(x) for x in (line.step, line.host_rows))
  table.add_row("the step", f"{shares['step']:.0%} of the limit", "", f"{step:.2f}")
  share = f"{shares['step_and_host_rows']:.0%} of the limit"
  table.add_row("rows made on the host", "", "", f"{rows:.2f}")
  table.add_row("both", share, "", f"{step + rows:.2f}")
  return table


def _short(number: float) -> str:
  """Returns a number in thousands, millions or billions, such as 1.6 G."""
  for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
    if number >= size:
      return f"{number / size:.1f} {letter}"
  return f"{number:.0f} "
