"""Where the time of a run went: parts that add up to the wall clock, over restarts too."""

import contextlib
import time
from collections.abc import Callable, Generator, Mapping
from typing import Literal, get_args

Part = Literal["start", "compile", "data", "step", "evaluation", "checkpoint", "lost"]
PARTS: tuple[Part, ...] = get_args(Part)


class Ledger:
  """Charges every moment from its making on to one part; what is outside of parts is "step".

  Time is counted in whole nanoseconds, so that the parts add up to the last one.
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
    self.add_previous(previous or {})

  @contextlib.contextmanager
  def part(self, name: Part) -> Generator[None, None, None]:
    """Charges to a part. Of parts inside each other, the inner one is charged."""
    if name not in PARTS:
      raise KeyError(name)
    outer = self._switch(name)
    try:
      yield
    finally:
      self._switch(outer)

  def add_previous(self, state: Mapping[str, int]) -> None:
    """Adds what an earlier process of the run had spent: its `state()`."""
    for name in PARTS:
      self._spent[name] += state.get(name, 0)

  def add_lost(self, seconds: float) -> None:
    """Adds what an earlier process had spent on steps after its last checkpoint."""
    self._spent["lost"] += round(seconds * 1e9)

  def state(self) -> dict[str, int]:
    """Nanoseconds by part, until now; made for JSON."""
    self._switch(self._current)
    return dict(self._spent)

  @property
  def seconds(self) -> dict[str, float]:
    """Seconds by part, until now."""
    return {name: spent / 1e9 for name, spent in self.state().items()}

  @property
  def wall(self) -> float:
    """Seconds of all processes of the run together, until now."""
    return sum(self.state().values()) / 1e9

  def share(self, name: Literal["data", "step"]) -> float:
    """How much of the time that steps take, waiting for data included, goes to one of the two."""
    spent = self.state()
    return spent[name] / max(spent["data"] + spent["step"], 1)

  def _switch(self, name: Part) -> Part:
    """Charges the time since the last switch; what comes goes to the part. Returns the last one."""
    now, last = self._clock(), self._current
    self._spent[last] += now - self._since
    self._since, self._current = now, name
    return last
