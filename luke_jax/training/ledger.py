"""Ledger of a run's time: parts that add up to the wall clock, over restarts too."""

import contextlib
import time
from collections.abc import Callable, Generator, Mapping
from typing import Literal, get_args

Part = Literal["start", "compile", "data", "step", "evaluation", "checkpoint", "lost"]
PARTS: tuple[Part, ...] = get_args(Part)


class Ledger:
  """Clock that charges all time since it was made to one of `PARTS`, "step" by default.

  Time is counted in whole nanoseconds, so that the parts add up exactly.
  """

  def __init__(
    self,
    previous: Mapping[str, int] | None = None,
    *,
    clock: Callable[[], int] = time.perf_counter_ns,
  ) -> None:
    self._clock = clock
    self._spent: dict[str, int] = dict.fromkeys(PARTS, 0)
    self._current: Part = "step"
    self._since = clock()
    self.noted = 0.0  # the wall clock when it was last written
    self.add_previous(previous or {})

  @contextlib.contextmanager
  def part(self, name: Part) -> Generator[None, None, None]:
    """Charges the time of a block to a part; of nested blocks the inner one is charged."""
    if name not in PARTS:
      raise KeyError(name)
    outer = self._switch(name)
    try:
      yield
    finally:
      self._switch(outer)

  def add_previous(self, state: Mapping[str, int]) -> None:
    """Adds what an earlier process of the run had spent, which is its `state()`."""
    for name in PARTS:
      self._spent[name] += state.get(name, 0)

  def add_lost(self, seconds: float) -> None:
    """Adds what an earlier process had spent on steps after its last checkpoint."""
    self._spent["lost"] += round(seconds * 1e9)

  def state(self) -> dict[str, int]:
    """Returns nanoseconds by part until now, as JSON values."""
    self._switch(self._current)
    return dict(self._spent)

  @property
  def seconds(self) -> dict[str, float]:
    """Returns seconds by part until now."""
    return {name: spent / 1e9 for name, spent in self.state().items()}

  @property
  def wall(self) -> float:
    """Returns the seconds of all processes of the run together until now."""
    return sum(self.state().values()) / 1e9

  def share(self, name: Literal["data", "step"]) -> float:
    """Returns the share of "data" or "step" in the time of steps, waiting for data included."""
    spent = self.state()
    return spent[name] / max(spent["data"] + spent["step"], 1)

  @property
  def goodput(self) -> float:
    """Returns the share of the wall clock, over restarts too, that went into steps."""
    return self.state()["step"] / 1e9 / max(self.wall, 1e-9)

  def _switch(self, name: Part) -> Part:
    """Charges the time since the last switch, and from now on to `name`; returns the last part."""
    now, last = self._clock(), self._current
    self._spent[last] += now - self._since
    self._since, self._current = now, name
    return last
