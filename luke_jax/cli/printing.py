"""Lines that commands print: progress on stderr, texts of users, and figures of what was timed."""

import dataclasses
import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from luke_jax.files import Path, write_json
from luke_jax.terminal import Console

if TYPE_CHECKING:
  from luke_jax.training.loop import Summary

Item = TypeVar("Item")


def stderr_console() -> Console:
  """Returns a console on stderr, without animation in a notebook, which keeps every frame of it."""
  console = Console(stderr=True)
  if console.is_jupyter:
    return Console(stderr=True, force_jupyter=False, force_terminal=False)
  return console


def counted(items: Iterable[Item], total: int | None) -> Iterator[Item]:
  """Yields predictions, with a progress bar in a terminal."""
  columns = (TextColumn("predicting"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
  console = stderr_console()
  shown = {"console": console, "transient": True, "disable": not console.is_terminal}
  with Progress(*columns, **shown) as progress:
    bar = progress.add_task("", total=total)
    for item in items:
      progress.advance(bar)
      yield item


def print_figures(
  result: Any,
  summary: "Summary",
  tables: Iterable[Table],
  about: str,
  *,
  output: Path | None,
) -> None:
  """Prints tables of figures, a line about the machine, and a summary; writes them to a file."""
  console = Console()
  for table in tables:
    console.print(table)
  console.print(about, soft_wrap=True)
  if output:
    write_json(output, {**dataclasses.asdict(result), **summary})
  print(json.dumps(summary))
