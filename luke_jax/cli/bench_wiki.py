"""`luke-jax bench wiki`."""

from typing import Annotated

from rich.console import Console
from rich.table import Table
from tyro.conf import Positional, arg

from luke_jax.bench.wiki import Result
from luke_jax.bench.wiki import run as measure
from luke_jax.cli.figures import write_figures
from luke_jax.files import Path, check_place


def run(
  dump: Annotated[Path, Positional, arg(metavar="DUMP")],
  /,
  *,
  tokenizer: Path,
  entities: int = 4,
  output: Path | None = None,
) -> None:
  """Times all stages from a dump to training records, on one core.

      luke-jax bench wiki enwiki-part.xml.bz2 --tokenizer roberta

  Args:
    dump: Dump of a wiki's pages, .xml or that as .bz2, .gz, .xz or .zst.
    tokenizer: Directory with a tokenizer.
    entities: Size of the entity vocabulary, on which the time hardly depends.
    output: File for the figures, as JSON.
  """
  if output:
    check_place(output)
  result = measure(dump, tokenizer, entities)
  console = Console()
  console.print(_table(result))
  console.print(
    f"{result.machine}; {result.records:,} records, {result.peak_megabytes:.0f} MB of memory",
    soft_wrap=True,
  )
  summary = {
    "megabytes_per_second": result.megabytes_per_second,
    "megabytes_per_processor_second": result.megabytes_per_processor_second,
    "peak_megabytes": result.peak_megabytes,
  }
  write_figures(result, summary, output)


def _table(result: Result) -> Table:
  table = Table("stage", "seconds", "MB/s", title=f"{result.megabytes:.1f} MB of XML")
  rest = result.seconds - sum(result.stages.values())
  for name, seconds in {**result.stages, "the rest": rest}.items():
    table.add_row(name, f"{seconds:.2f}", f"{result.megabytes / seconds:.1f}")
  total = (f"{result.seconds:.2f}", f"{result.megabytes_per_second:.2f}")
  table.add_row("in all", *total, style="bold")
  return table
