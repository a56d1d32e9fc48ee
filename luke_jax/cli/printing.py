"""Lines that commands print: progress on stderr."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from luke_jax.terminal import Console

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
