"""What a person sees of the demo while it runs."""

import re
import time

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from luke_jax.demo.running import State, last_line
from luke_jax.demo.steps import Step

BAR = 12  # characters
STEP_OF = re.compile(r"step (\d+)/(\d+): (.*)")


class Screen:
  """On a terminal a list of the steps with a bar for each running one, elsewhere a line each."""

  def __init__(self, console: Console) -> None:
    self._console, self._told, self._began = console, set[str](), time.monotonic()
    lives = console.is_terminal and not console.is_dumb_terminal
    self._live = Live(console=console, refresh_per_second=4) if lives else None

  def __enter__(self) -> "Screen":
    if self._live:
      self._live.start()
    return self

  def __exit__(self, *fault) -> None:
    if self._live:
      self._live.stop()

  def show(self, state: State) -> None:
    """Shows where the steps are."""
    if self._live:
      self._live.update(self._table(state))
      return
    for number, step in enumerate(state.steps, start=1):
      here = f"[{number}/{len(state.steps)}] {step.title}"
      if step.name in state.done and step.name not in self._told:
        self._told.add(step.name)
        self._console.print(Text(f"{here}: {state.done[step.name]:.0f} s"), soft_wrap=True)

  def _table(self, state: State) -> Group:
    # Where there is little room, what a step says of itself is what gives way.
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(min_width=1)
    table.add_column(min_width=max(len(step.title) for step in state.steps))
    table.add_column(min_width=len("100 s"), justify="right")
    table.add_column(min_width=BAR)
    table.add_column(ratio=1, no_wrap=True)
    for step in state.steps:
      table.add_row(*self._row(state, step))
    seconds = time.monotonic() - self._began
    told = f"{len(state.done)} of {len(state.steps)} steps, {seconds:.0f} s"
    return Group(table, Text(told, "bold"))

  def _row(self, state: State, step: Step) -> tuple:
    """Mark, title, seconds, bar and what it says of itself."""
    if step.name in state.done:
      return Text("✓", "green"), step.title, f"{state.done[step.name]:.0f} s", "", ""
    if step.name not in state.running:
      return "", Text(step.title, "dim"), "", "", ""
    child = state.running[step.name]
    said, bar = last_line(child.log), ""
    if found := STEP_OF.match(said):
      said, bar = found[3], ProgressBar(int(found[2]), int(found[1]), width=BAR)
    seconds = f"{time.monotonic() - child.since:.0f} s"
    return Text("…", "yellow"), Text(step.title, "bold"), seconds, bar, Text(said, "dim")
