"""Timing things against each other on a machine that others use too."""

import dataclasses
import statistics
import time
from collections.abc import Callable


@dataclasses.dataclass(frozen=True)
class Timing:
  """Seconds of ours and theirs, round by round."""

  ours: list[float]
  theirs: list[float]

  @property
  def ratio(self) -> float:
    """Median over the rounds of theirs / ours: how many times as fast ours is."""
    pairs = zip(self.theirs, self.ours, strict=True)
    return statistics.median(theirs / ours for theirs, ours in pairs)

  def median(self, side: str) -> float:
    """Median seconds of `ours` or `theirs`."""
    return statistics.median(getattr(self, side))


def alternate(ours: Callable[[], object], theirs: Callable[[], object], rounds: int) -> Timing:
  """Runs both in turn; every measured run follows an unmeasured one of the same side.

  So neither pays for compiling, nor for memory that it gave back during the other's turn and, on
  a virtual machine, has to be given anew page by page: a training loop pays for neither.
  """
  pairs = [(_seconds(ours), _seconds(theirs)) for _ in range(rounds)]
  return Timing(*map(list, zip(*pairs, strict=True)))


def _seconds(run: Callable[[], object]) -> float:
  run()
  start = time.perf_counter()
  run()
  return time.perf_counter() - start
