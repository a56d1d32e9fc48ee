"""Progress of a run, on stderr."""

import contextlib
import dataclasses
import functools
import html
import importlib
import math
import time
from collections.abc import Callable
from typing import Self

import jax
from rich.live import Live
from rich.text import Text

from luke_jax.files import Path
from luke_jax.terminal import Console

PROFILE = "profile"
CACHE_HIT = "/jax/compilation_cache/cache_hits"
_SKIPPED = 3  # steps, in which buffers fill
_SURE = 10  # steps that tell how long others take


@functools.cache
def programs_of_cache() -> list[str]:
  """Returns a list that gets an entry for each program that JAX's cache has from now on."""
  kept: list[str] = []

  def listen(event: str, **_: object) -> None:
    if event == CACHE_HIT:
      kept.append(event)

  jax.monitoring.register_event_listener(listen)  # for good: older versions have no way back
  return kept


@dataclasses.dataclass(frozen=True)
class Shown:
  """Figures of a step that a person follows."""

  loss: float
  learning_rate: float
  tokens_per_second: float
  waiting: float  # share of the time that is spent waiting for data
  padding: float | None = None  # share of what is computed
  metric: str | None = None  # of dev
  score: float | None = None  # the newest


class Progress:
  """Progress display: one line that is rewritten on a terminal, elsewhere a line per update.

  In a notebook it is a bar with that line.
  """

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
    self._cached = len(programs_of_cache())
    live = enabled and self._console.is_terminal and not self._console.is_dumb_terminal
    self._live = Live(console=self._console, auto_refresh=False) if live else None
    self._bar = _Bar() if enabled and self._console.is_jupyter else None

  def __enter__(self) -> Self:
    if self._live:
      self._live.start()
    return self

  def __exit__(self, *fault: object) -> None:
    if self._live:
      self._live.stop()

  def compiling(self, done: int, programs: int) -> None:
    """Shows how many of the run's programs are compiled; without a terminal only how many."""
    if self._live or self._bar or not done:
      self._show(f"compiling, {done} of {programs} programs done{self._of_cache() if done else ''}")

  def compiled(self, programs: int, seconds: float) -> None:
    """Prints how many programs there are, how many of them the cache had, and the time."""
    noun = "program" if programs == 1 else "programs"
    self.note(f"{programs} {noun} compiled in {seconds:.0f} s{self._of_cache()}")

  def _of_cache(self) -> str:
    cached = len(programs_of_cache()) - self._cached
    return f", {cached} of them kept from before" if cached else ""

  def update(self, step: int, shown: Shown) -> None:
    """Shows the step, the time left and figures, the first of which a narrow terminal shows too."""
    self._step = step
    now = self._clock()
    # The time left is estimated from the first update on, to leave out compiling.
    self._first = self._first or (step, now)
    facts = [
      f"loss {shown.loss:.4g}",
      *([f"{shown.metric} {shown.score:.4g}"] if shown.score is not None else []),
      f"{shown.tokens_per_second:,.0f} tokens/s",
      *([f"padding {shown.padding:.0%}"] if shown.padding is not None else []),
      f"learning rate {shown.learning_rate:.3g}",
      f"waiting for data {shown.waiting:.0%}",
    ]
    first_step, first_time = self._first
    if step > first_step:
      seconds_left = (now - first_time) / (step - first_step) * (self.total - step)
      guess = "" if step - first_step >= _SURE else "perhaps "
      facts.insert(0, f"{guess}{_duration(seconds_left)} left")
    self._show(", ".join(facts))

  def note(self, text: str) -> None:
    """Prints a line that stays, above the one that is rewritten."""
    if self._enabled:
      self._console.print(Text(text), soft_wrap=not self._console.is_jupyter)

  def _show(self, facts: str) -> None:
    line = f"step {self._step}/{self.total}: {facts}"
    if self._bar:
      self._bar.show(line, self._step, self.total)
    elif self._live:
      self._live.update(Text(line, no_wrap=True, overflow="ellipsis"), refresh=True)
    else:
      self.note(line)


class _Bar:
  """Bar below a notebook's cell, with a line beside it."""

  def __init__(self) -> None:
    shown = importlib.import_module("IPython.display")  # which a notebook has
    self._html = shown.HTML
    self._handle = shown.display(self._html(""), display_id=True)

  def show(self, line: str, done: int, total: int) -> None:
    """Shows so much of all, and the line."""
    bar = f'<progress value="{done}" max="{total}"></progress>'
    self._handle.update(self._html(f"{bar} <code>{html.escape(line)}</code>"))


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

  def at(self, step: int, state: object) -> None:
    """Begins or ends the trace, before a step is taken from `state`, once devices have made it."""
    if self._begin is None or step not in (self._begin, self._end):
      return
    jax.block_until_ready(state)
    if step == self._begin:
      self._open.enter_context(jax.profiler.trace(str(self._folder)))
    else:
      self._open.close()

  def __exit__(self, *_: object) -> None:
    self._open.close()
