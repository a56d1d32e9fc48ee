"""Shapes to run rows in: another one is compiled if it saves more than compiling takes."""

import contextlib
import functools
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator
from typing import Any

import jax

from luke_jax.models.system import Backbone
from luke_jax.text.rows import Sizes

# Multiplications that take as long as compiling: half a second on two cores, one or two on an
# accelerator, for any number of layers, since one is compiled. A rough number is enough: at most a
# factor of two is lost, of the smaller part.
COMPILING = {"cpu": 5e10}
COMPILING_ELSEWHERE = 1e14


class CompiledShapes:
  """Shapes of one model that are compiled so far, and the padding that another would save.

  Threads may share it.
  """

  def __init__(self, worth: float) -> None:
    """Starts without shapes; a compilation costs as much as `worth` padded tokens."""
    self.worth = worth
    self.sizes: set[Sizes] = set()
    self.heights: dict[Sizes, set[int]] = defaultdict(set)
    # Tokens of padding, by the shape that would save them.
    self.wasted: Counter[Hashable] = Counter()

  @contextlib.contextmanager
  def exact(self) -> Iterator[None]:
    """Compiles each shape that is met within, however little it saves: while there is time."""
    worth, self.worth = self.worth, 0.0
    try:
      yield
    finally:
      self.worth = worth

  def size(self, least: Sizes, roomy: Sizes, rows: int) -> Sizes:
    """Returns the size to pad rows to: the least, or a larger one that is compiled.

    While none is, it is the roomy one, so that texts a little longer need no program of their own.
    """
    fits = [x for x in tuple(self.sizes) if _fits(least, x)]
    size = min(fits, key=tokens, default=roomy)
    if self._too_much(least, rows * (tokens(size) - tokens(least))):
      size = least
    self.sizes.add(size)
    return size

  def has(self, size: Sizes, height: int) -> bool:
    """Returns whether batches of so many rows of a size are compiled."""
    return height in self.heights[size]

  def height(self, size: Sizes, rows: int, most: int) -> int:
    """Returns the number of rows to pad a batch to."""
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
  # The room for mentions must be equal, since it changes the numbers that the model computes.
  return row.words <= size.words and row.entities <= size.entities and row.mention == size.mention


def compiled_shapes(config: Any) -> CompiledShapes:
  """Returns no compiled shapes yet, for a model of this size."""
  compiling = COMPILING.get(jax.default_backend(), COMPILING_ELSEWHERE)
  # A layer multiplies a token by 12 square matrices, each multiplication with an addition.
  return CompiledShapes(compiling / (24 * config.hidden_size**2 * config.num_hidden_layers))


@functools.lru_cache(maxsize=8)  # a caller may predict one text at a time
def shapes_of(backbone: Backbone) -> CompiledShapes:
  """Returns the shapes that were compiled so far for a model."""
  return compiled_shapes(backbone.config)


def tokens(size: Sizes) -> int:
  """Returns the number of words and entities in a row of a size, padding included."""
  return size.words + size.entities


def largest_first(sizes: Iterable[Sizes]) -> list[Sizes]:
  """Returns the order in which smaller sizes may join larger ones."""
  return sorted(sizes, key=lambda size: (tokens(size), size), reverse=True)


def _power(number: int) -> int:
  return 1 << (number - 1).bit_length()
