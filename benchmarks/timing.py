"""Timing of two functions in turns, on one core if asked."""

import contextlib
import dataclasses
import importlib
import os
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

from luke_jax.errors import not_installed


@dataclasses.dataclass(frozen=True)
class Timing:
  """Seconds of ours and theirs, by round: of the clock, and those of the processor's cores."""

  ours: list[float]
  theirs: list[float]
  processor: dict[str, list[float]] = dataclasses.field(default_factory=dict)  # by side

  @property
  def ratio(self) -> float:
    """Returns the median over rounds of theirs / ours: the speed-up of ours."""
    return statistics.median(self.ratios)

  @property
  def ratios(self) -> list[float]:
    """Returns theirs / ours of each round."""
    return [theirs / ours for theirs, ours in zip(self.theirs, self.ours, strict=True)]

  def median(self, side: str) -> float:
    """Returns the median seconds of side `ours` or `theirs`."""
    return statistics.median(getattr(self, side))


def alternate(ours: Callable[[], object], theirs: Callable[[], object], rounds: int) -> Timing:
  """Times both in turn; every timed run follows an untimed one of the same side.

  So neither side's time includes compiling, or memory that was released during the other side's
  turn and that a virtual machine must map again: a training loop pays for neither.
  """
  pairs = [(_seconds(ours), _seconds(theirs)) for _ in range(rounds)]
  sides = {"ours": [x for x, _ in pairs], "theirs": [x for _, x in pairs]}
  wall, processor = ({side: [x[n] for x in sides[side]] for side in sides} for n in range(2))
  return Timing(**wall, processor=processor)


def _seconds(run: Callable[[], object]) -> tuple[float, float]:
  """Returns the seconds of a function's second call by the clock, and those of all cores."""
  run()
  clocks = time.perf_counter, time.process_time
  start = [clock() for clock in clocks]
  run()
  wall, processor = (clock() - before for clock, before in zip(clocks, start, strict=True))
  return wall, processor


def imported(*names: str) -> list[Any]:
  """Imports the packages to compare with; raises InputError if one is not installed."""
  try:
    return [importlib.import_module(name) for name in names]
  except ImportError as missing:
    raise not_installed(missing.name, "to compare with", "parity") from None


@contextlib.contextmanager
def one_core() -> Iterator[None]:
  """Limits this process to one core where the system can, and tokenizers to one thread."""
  variable, pinned = "TOKENIZERS_PARALLELISM", hasattr(os, "sched_setaffinity")
  before = os.environ.get(variable)
  cores = os.sched_getaffinity(0) if pinned else set()
  os.environ[variable] = "false"
  try:
    if pinned:
      os.sched_setaffinity(0, {min(cores)})
    yield
  finally:
    if pinned:
      os.sched_setaffinity(0, cores)
    if before is None:
      del os.environ[variable]
    else:
      os.environ[variable] = before
