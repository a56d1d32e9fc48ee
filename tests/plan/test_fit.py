import pytest

from luke_jax.plan.compiling import Compiled, Memory, OutOfMemory, largest_fit
from luke_jax.plan.hlo import HloModule

AVAILABLE = 1000


class Chip:
  """Compiles at once: a step needs so much and so much more for every sequence."""

  def __init__(self, fixed, each):
    self.fixed, self.each, self.tried = fixed, each, []

  def __call__(self, number):
    self.tried.append(number)
    needed = self.fixed + int(number * self.each)
    if needed > AVAILABLE:
      return OutOfMemory(needed, AVAILABLE, self.fixed)
    return Compiled(HloModule({}, "", 1), Memory(self.fixed, 0, 0, needed - self.fixed, 0), 0.0)


@pytest.mark.parametrize("start", [1, 7, 64, 300, 2000])
@pytest.mark.parametrize(("fixed", "each"), [(0, 100), (400, 17), (10, 0.9), (999, 1)])
def test_finds_the_largest_in_few_compiles(fixed, each, start):
  chip = Chip(fixed, each)
  number, found = largest_fit(chip, start)
  assert isinstance(found, Compiled)
  assert isinstance(Chip(fixed, each)(number + 1), OutOfMemory)
  assert found.memory.total == fixed + int(number * each)
  assert len(chip.tried) == len(set(chip.tried)) < 18


def test_memory_that_does_not_grow_evenly():
  class Stepped(Chip):
    def __call__(self, number):
      self.each = 1 if number <= 40 else 500
      return super().__call__(number)

  chip = Stepped(0, 1)
  assert largest_fit(chip, 8)[0] == 40
  assert len(chip.tried) < 24


def test_nothing_fits():
  number, found = largest_fit(Chip(1001, 1), 8)
  assert (number, found) == (1, OutOfMemory(1002, AVAILABLE, 1001))
