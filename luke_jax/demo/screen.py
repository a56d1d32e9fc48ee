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
    table = Table.grid(padding=(0, 1))
    table.add_column(width=2)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True, overflow="ellipsis")
    for step in state.steps:
      table.add_row(*self._row(state, step))
    seconds = time.monotonic() - self._began
    told = f"{len(state.done)} of {len(state.steps)} steps, {seconds:.0f} s"
    return Group(table, Text(told, "bold"))

  def _row(self, state: State, step: Step) -> tuple:
    if step.name in state.done:
      return Text("✓", "green"), step.title, f"{state.done[step.name]:.0f} s", ""
    if step.name not in state.running:
      return "", Text(step.title, "dim"), "", ""
    child = state.running[step.name]
    said = last_line(child.log)
    seconds = f"{time.monotonic() - child.since:.0f} s"
    if found := STEP_OF.match(said):
      done, total, facts = int(found[1]), int(found[2]), found[3]
      line = Table.grid(padding=(0, 1))
      line.add_row(ProgressBar(total, done, width=20), Text(facts, "dim", no_wrap=True))
      return Text("…", "yellow"), Text(step.title, "bold"), seconds, line
    return Text("…", "yellow"), Text(step.title, "bold"), seconds, Text(said, "dim", no_wrap=True)
