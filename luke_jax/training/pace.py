"""Pace of a run: how many steps it takes, and the steps before which dev is scored.

Both are known from the start, or follow from a budget of time and from what was measured.
"""

import math

from luke_jax.training import processes
from luke_jax.training.directory import Ledger

PLANNED = 2.0  # seconds of steps between two plans, as a machine may become slower
MOST_STEPS = 50  # between two plans
SCORING = 0.1  # most share of the time
SCORED = 1 / 20  # least share of the time between two scores
CLOSING = 6.0  # seconds that the last checkpoint and the model's files take, on a busy machine
FORWARD = 3  # times that compiling all of a run's programs takes that of the forward pass
LEAST_DEV = 50  # examples of dev, fewer of which do not tell which checkpoint is best
NEVER = 2**31 - 1


class Pace:
  """Pace of a known number of steps, with dev scored after every so many."""

  def __init__(self, steps: int, every: int | None = None):
    self.steps, self._every = steps, every

  @property
  def most(self) -> int:
    """Returns a number of steps that the run does not exceed."""
    return self.steps

  def due(self, step: int) -> bool:
    """Returns whether dev is scored before this step, if it was not yet."""
    return step == self.steps or (self._every is not None and step % self._every == 0)

  def ready(self, step: int) -> bool:
    """Returns whether `plan` is to be called before this step."""
    return False

  def plan(self, step: int) -> None:
    """Sets the number of steps by what was measured."""

  def scored(self, seconds: float) -> None:
    """Takes note of how long scoring dev took."""


class TimedPace(Pace):
  """Pace that uses up so many seconds, those before the first step and after the last included.

  `first` is the step that this process begins with. Until it has measured, `steps` is the number.
  With `once` dev is scored at the end alone. `again` is the share of dev that is read once more
  after the last step.
  """

  def __init__(
    self,
    ledger: Ledger,
    seconds: float,
    first: int,
    steps: int,
    *,
    once: bool = False,
    again: float = 0.0,
  ):
    super().__init__(max(steps, first + 1))
    self._ledger, self._seconds, self._first = ledger, seconds, first
    self._once, self._again = once, again
    self._before: dict[str, float] = ledger.seconds
    self._score, self._next = NEVER, first + 1
    self._scored: float | None = None  # when dev was scored, or the first plan was made
    self._evaluation = self._whole = 0.0  # how long that takes, and all of dev where that is more

  @property
  def most(self) -> int:
    """Returns a number of steps that the run does not exceed."""
    return NEVER

  def due(self, step: int) -> bool:
    """Returns whether dev is scored before this step, if it was not yet."""
    return step == self.steps or step >= self._score

  def ready(self, step: int) -> bool:
    """Returns whether `plan` is to be called before this step."""
    return step == self._next

  def plan(self, step: int) -> None:
    """Sets the number of steps by what was measured; the steps before this one have to be done."""
    self.steps, self._score, self._next = processes.from_first(lambda: self._planned(step))

  def scoring(self, seconds: float, whole: float = 0.0) -> None:
    """Takes note of how long scoring dev will take, before the first time.

    And of how long it takes to score the `whole` of it at the end, where that is done as well.
    """
    self._evaluation, self._whole = seconds, whole

  def scored(self, seconds: float) -> None:
    """Takes note of how long scoring dev took; the next time is planned later."""
    if self._evaluation:  # all of dev will take as much more or less than was thought
      self._whole *= seconds / self._evaluation
    self._evaluation, self._scored, self._score = seconds, self._ledger.wall, NEVER

  def _planned(self, step: int) -> list[int]:
    """Returns the number of steps, and the steps of the next score and of the next plan."""
    now, wall = self._ledger.seconds, self._ledger.wall
    spent = sum(now[part] - self._before[part] for part in ("data", "step"))
    pace = max(spent, 1e-6) / (step - self._first)  # seconds a step
    scoring = self._evaluation
    between = max(scoring * (1 / SCORING - 1), SCORED * self._seconds)
    # What reads dev again has programs of its own, of the forward pass alone.
    again = self._again * ((self._whole or scoring) + now["compile"] / FORWARD)
    remaining = self._seconds - wall - scoring - self._whole - again - CLOSING
    times = 0 if self._once else max(remaining, 0) // (between + scoring)
    stepping = remaining - times * scoring
    steps = step + max(0, int(stepping / pace))
    self._scored = wall if self._scored is None else self._scored
    score = step + math.ceil(max(self._scored + between - wall, 0) / pace)
    worth = not self._once and score + between / 2 / pace < steps
    later = step + min(MOST_STEPS, max(1, int(PLANNED / pace)))
    return [steps, score if worth else NEVER, later]
