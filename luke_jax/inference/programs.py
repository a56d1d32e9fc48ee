"""Which shapes rows run in: another one is compiled where it saves more than compiling takes."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable
from typing import Any

import jax

from luke_jax.text.rows import Sizes

# Multiplications that take as long as compiling: half a second on two cores, one or two on an
# accelerator, whatever the number of layers: one is compiled. It need not be right: a factor of two
# is lost at most, of the smaller part.
COMPILING = {"cpu": 5e10}
COMPILING_ELSEWHERE = 1e14


class Programs:
  """The shapes of one model that are compiled so far, and what is worth one more.

  Threads may share it.
  """

  def __init__(self, worth: float) -> None:
    """Of so many padded tokens."""
    self.worth = worth
    self.sizes: set[Sizes] = set()
    self.heights: dict[Sizes, set[int]] = defaultdict(set)
    self.wasted: Counter[Hashable] = Counter()  # on padding, by the shape that would save it

  def size(self, least: Sizes, rows: int) -> Sizes:
    """What rows are padded to: the least that they fit in, or larger, if that is there."""
    fits = [x for x in tuple(self.sizes) if _fits(least, x)]
    larger = min(fits, key=tokens, default=None)
    if larger is None or self._too_much(least, rows * (tokens(larger) - tokens(least))):
      self.sizes.add(least)
      return least
    return larger

  def height(self, size: Sizes, rows: int, most: int) -> int:
    """How many rows a batch of some is padded to."""
    least = min(most, _power(rows))
    taller = min((x for x in tuple(self.heights[size]) if x >= rows), default=None)
    if taller is None or self._too_much((size, least), (taller - least) * tokens(size)):
      self.heights[size].add(least)
      return least
    return taller

  def _too_much(self, shape: Hashable, tokens: int) -> bool:
    self.wasted[shape] += tokens
    return self.wasted[shape] > self.worth


def _fits(row: Sizes, size: Sizes) -> bool:
  # Room for mentions belongs to what the model computes: more of one it reads otherwise.
  return row.words <= size.words and row.entities <= size.entities and row.mention == size.mention


def programs(config: Any) -> Programs:
  """None yet, for a model of this size."""
  compiling = COMPILING.get(jax.default_backend(), COMPILING_ELSEWHERE)
  # A layer multiplies a token by 12 square matrices, each multiplication with an addition.
  return Programs(compiling / (24 * config.hidden_size**2 * config.num_hidden_layers))


def tokens(size: Sizes) -> int:
  """How many words and entities a row of a size has, padding included."""
  return size.words + size.entities


def largest_first(sizes: Iterable[Sizes]) -> list[Sizes]:
  """The order in which smaller ones may join those that there are."""
  return sorted(sizes, key=lambda size: (tokens(size), size), reverse=True)


def _power(number: int) -> int:
  return 1 << (number - 1).bit_length()
