"""Progress of a run, on stderr."""

import contextlib
import math
import time
from collections.abc import Callable
from typing import Self

import jax
from rich.console import Console
from rich.live import Live
from rich.text import Text

from luke_jax.files import Path

PROFILE = "profile"
_SKIPPED = 3  # steps, in which buffers fill


class Progress:
  """Progress display: one line that is rewritten on a terminal, elsewhere a line per update."""

  def __init__(
    self,
    total: int,
    start: int,
    *,
    enabled: bool = True,
    console: Console | None = None,
    clock: Callable[[], float] = time.monotonic,
  ) -> None:
    self.total, self._step, self._enabled, self._clock = total, start, enabled, clock
    self._console = console or Console(stderr=True)
    self._first: tuple[int, float] | None = None
    live = enabled and self._console.is_terminal and not self._console.is_dumb_terminal
    self._live = Live(console=self._console, auto_refresh=False) if live else None

  def __enter__(self) -> Self:
    if self._live:
      self._live.start()
    return self

  def __exit__(self, *fault: object) -> None:
    if self._live:
      self._live.stop()

  def compiling(self, done: int, programs: int) -> None:
    """Shows how many of the run's programs are compiled; without a terminal only how many."""
    if self._live or not done:
      self._show(f"compiling, {done} of {programs} programs done")

  def update(
    self,
    step: int,
    *,
    loss: float,
    learning_rate: float,
    tokens_per_second: float,
    waiting: float,
  ) -> None:
    """Shows step and metrics; `waiting` is the share of time spent waiting for data."""
    self._step = step
    now = self._clock()
    # The time left is estimated from the first update on, to leave out compiling.
    self._first = self._first or (step, now)
    facts = [
      f"loss {loss:.4g}",
      f"learning rate {learning_rate:.3g}",
      f"{tokens_per_second:,.0f} tokens/s",
      f"waiting for data {waiting:.0%}",
    ]
    first_step, first_time = self._first
    if step > first_step:
      seconds_left = (now - first_time) / (step - first_step) * (self.total - step)
      facts.append(f"{_duration(seconds_left)} left")
    self._show(", ".join(facts))

  def note(self, text: str) -> None:
    """Prints a line that stays, above the one that is rewritten."""
    if self._enabled:
      self._console.print(Text(text), soft_wrap=not self._console.is_jupyter)

  def _show(self, facts: str) -> None:
    line = f"step {self._step}/{self.total}: {facts}"
    if self._live:
      self._live.update(Text(line, no_wrap=True, overflow="ellipsis"), refresh=True)
    else:
      self.note(line)


def _duration(seconds: float) -> str:
  """Returns a time in its two largest units."""
  minutes = math.ceil(seconds / 60)
  if seconds < 60:
    return f"{math.ceil(seconds)} s"
  if minutes < 60:
    return f"{minutes} min"
  hours = round(seconds / 3600)
  if minutes < 48 * 60:
    return f"{minutes // 60} h {minutes % 60:02} min"
  return f"{hours // 24} d {hours % 24} h"


class Trace:
  """Trace of `steps` steps soon after `first`, written by process 0 into the run's folder."""

  def __init__(self, folder: Path, first: int, steps: int):
    self._folder = folder / PROFILE
    enabled = steps > 0 and jax.process_index() == 0
    self._begin = first + _SKIPPED if enabled else None
    self._end = first + _SKIPPED + steps
    self._open = contextlib.ExitStack()

  def __enter__(self) -> Self:
    return self

  def at(self, step: int) -> None:
    """Begins or ends the trace, before a step is taken."""
    if step == self._begin:
      self._open.enter_context(jax.profiler.trace(str(self._folder)))
    elif self._begin is not None and step == self._end:
      self._open.close()

  def __exit__(self, *_: object) -> None:
    self._open.close()
