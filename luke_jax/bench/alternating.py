"""Alternating timing of two functions, for machines that others use too."""

import dataclasses
import statistics
import time
from collections.abc import Callable


@dataclasses.dataclass(frozen=True)
class Timing:
  """Seconds of ours and theirs, by round."""

  ours: list[float]
  theirs: list[float]

  @property
  def ratio(self) -> float:
    """Returns the median over rounds of theirs / ours: the speed-up of ours."""
    pairs = zip(self.theirs, self.ours, strict=True)
    return statistics.median(theirs / ours for theirs, ours in pairs)

  def median(self, side: str) -> float:
    """Returns the median seconds of side `ours` or `theirs`."""
    return statistics.median(getattr(self, side))


def alternate(ours: Callable[[], object], theirs: Callable[[], object], rounds: int) -> Timing:
  """Times both in turn; every timed run follows an untimed one of the same side.

  So neither side's time includes compiling, or memory that was released during the other side's
  turn and that a virtual machine must map again: a training loop pays for neither.
  """
  pairs = [(_seconds(ours), _seconds(theirs)) for _ in range(rounds)]
  return Timing(*map(list, zip(*pairs, strict=True)))


def _seconds(run: Callable[[], object]) -> float:
  run()
  start = time.perf_counter()
  run()
  return time.perf_counter() - start
