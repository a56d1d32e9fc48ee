"""`luke-jax bench text`."""

from typing import Annotated

from rich.console import Console
from rich.table import Table
from tyro.conf import Positional, arg

from luke_jax.bench.text import SPANS, Result, read_texts
from luke_jax.bench.text import run as measure
from luke_jax.cli.figures import write_figures
from luke_jax.cli.stderr import stderr_console
from luke_jax.files import Path, check_place


def run(
  directory: Annotated[Path, Positional, arg(metavar="DIRECTORY")],
  /,
  *,
  texts: Path | None = None,
  rounds: int = 5,
  output: Path | None = None,
) -> None:
  """Times the step from texts to inputs against transformers' LUKE tokenizer.

  Same vocabulary, texts and entity spans on both sides, which take turns on one core; that their
  inputs are equal is checked first. The tokenizer of transformers 4 is the slow one, in Python.

      luke-jax bench text luke-base --texts paragraphs.txt

  Args:
    directory: Directory with a tokenizer of RoBERTa's kind, such as a model's.
    texts: Text file, one text a line; without it, texts are made up of the vocabulary's words.
    rounds: Number of times each side runs.
    output: File for the figures, as JSON.
  """
  if output:
    check_place(output)
  given = read_texts(texts) if texts else None
  with stderr_console().status(f"timing {directory}"):
    result = measure(directory, given, rounds)
  console = Console()
  console.print(_table(result))
  console.print(f"{result.machine}; {result.versions}", soft_wrap=True)
  summary = {"ratio": result.timing.ratio, "texts_per_second": result.texts_per_second}
  write_figures(result, summary, output)


def _table(result: Result) -> Table:
  title = f"{result.texts} texts of {result.characters:.0f} characters, {SPANS} spans each"
  table = Table("", "luke_jax", "transformers", "ratio", title=title)
  rates = [f"{rate:,.0f}" for rate in result.texts_per_second.values()]
  table.add_row("texts a second", *rates, f"{result.timing.ratio:.2f}")
  return table
