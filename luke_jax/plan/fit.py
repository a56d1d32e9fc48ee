"""Search for the largest batch that fits, in few compiles."""

from collections.abc import Callable

from luke_jax.plan.compiling import Compiled
from luke_jax.plan.memory import OutOfMemory

Attempt = Callable[[int], Compiled | OutOfMemory]


def largest_fit(attempt: Attempt, start: int) -> tuple[int, Compiled | OutOfMemory]:
  """Returns the most sequences per chip that fit, and the step compiled for them.

  `attempt` compiles for a number of sequences. The number is doubled or halved from `start`, then
  the gap is narrowed. If not even one sequence fits, its OutOfMemory is returned.
  """
  number, fits, fails = start, None, None
  while True:
    result = attempt(number)
    if isinstance(result, OutOfMemory):
      fails = number, result
    else:
      fits = number, result
    if fits is None:
      if number == 1:
        return number, result
      number //= 2
    elif fails is None:
      number *= 2
    elif fails[0] - fits[0] == 1:
      return fits
    else:
      number = _between(*fits, *fails)


def _between(low: int, fitting: Compiled, high: int, fault: OutOfMemory) -> int:
  """Returns where memory would be full if it grew linearly, away from both ends by an eighth."""
  gap, used = high - low, fitting.memory.total
  share = (fault.available - used) / max(fault.needed - used, 1)
  edge = max(1, gap // 8)
  return min(max(low + int(gap * share), low + edge), high - edge)
