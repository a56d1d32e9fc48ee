"""Progress of the demo, on a terminal or in a log."""

import re
import time

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from luke_jax.demo.running import Status, last_line
from luke_jax.demo.steps import Step

BAR = 12  # characters
STEP_OF = re.compile(r"step (\d+)/(\d+): (.*)")


class Screen:
  """Display of the steps: on a terminal a list with bars, elsewhere a line per finished step."""

  def __init__(self, console: Console) -> None:
    self._console, self._printed, self._began = console, set[str](), time.monotonic()
    live = console.is_terminal and not console.is_dumb_terminal
    self._live = Live(console=console, refresh_per_second=4) if live else None

  def __enter__(self) -> "Screen":
    if self._live:
      self._live.start()
    return self

  def __exit__(self, *fault) -> None:
    if self._live:
      self._live.stop()

  def show(self, status: Status) -> None:
    """Shows the progress of the steps."""
    if self._live:
      self._live.update(self._table(status))
      return
    for number, step in enumerate(status.steps, start=1):
      here = f"[{number}/{len(status.steps)}] {step.title}"
      if step.name in status.done and step.name not in self._printed:
        self._printed.add(step.name)
        self._console.print(Text(f"{here}: {status.done[step.name]:.0f} s"), soft_wrap=True)

  def _table(self, status: Status) -> Group:
    # On a narrow terminal only the last column, a step's last message, is cut.
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(min_width=1)
    table.add_column(min_width=max(len(step.title) for step in status.steps))
    table.add_column(min_width=len("100 s"), justify="right")
    table.add_column(min_width=BAR)
    table.add_column(ratio=1, no_wrap=True)
    for step in status.steps:
      table.add_row(*self._row(status, step))
    seconds = time.monotonic() - self._began
    summary = f"{len(status.done)} of {len(status.steps)} steps, {seconds:.0f} s"
    return Group(table, Text(summary, "bold"))

  def _row(self, status: Status, step: Step) -> tuple:
    """Returns a step's mark, title, seconds, bar and last message."""
    if step.name in status.done:
      return Text("✓", "green"), step.title, f"{status.done[step.name]:.0f} s", "", ""
    if step.name not in status.running:
      return "", Text(step.title, "dim"), "", "", ""
    child = status.running[step.name]
    message, bar = last_line(child.log), ""
    if match := STEP_OF.match(message):
      message, bar = match[3], ProgressBar(int(match[2]), int(match[1]), width=BAR)
    seconds = f"{time.monotonic() - child.since:.0f} s"
    return Text("…", "yellow"), Text(step.title, "bold"), seconds, bar, Text(message, "dim")
