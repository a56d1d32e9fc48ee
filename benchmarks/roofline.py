"""Roofline of TransE's training step: what it needs at least, at the speed of the machine it is on.

Letters: N negatives of a triple, K the width of a vector.
"""

import dataclasses
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from luke_jax.training.program import OPTIONS

FLOAT = 4  # bytes
TABLES = 3  # vectors, and the two moments of Adam
PASSES = 3  # distances, and their derivatives by either side
PRODUCT = 1024  # rows and columns of the product that is timed
IN_CACHE = 4096  # numbers of the array that differences are taken from
TURNS, UNROLLED = 4096, 16
WORK = {1: "absolute differences", 2: "FLOP of products"}


@dataclasses.dataclass(frozen=True)
class Needs:
  """Amounts that a step cannot do without, counted from its shapes."""

  arithmetic: float  # terms |q - e| and their signs by L1, FLOPs of products by L2
  row_bytes: float  # read and written: the rows that it touches, with their moments


@dataclasses.dataclass(frozen=True)
class Speeds:
  """Amounts a second of the machine, by round."""

  arithmetic: list[float]
  row_bytes: list[float]


@dataclasses.dataclass(frozen=True)
class Roofline:
  """Seconds of a step and of making its rows on the host, by round, beside the least for a step."""

  needs: Needs
  speeds: Speeds
  step: list[float]
  host_rows: list[float]

  @property
  def least(self) -> dict[str, float]:
    """Returns the least seconds of a step, by part; one core does one after the other."""
    return {
      part: amount / statistics.median(getattr(self.speeds, part))
      for part, amount in dataclasses.asdict(self.needs).items()
    }

  @property
  def shares(self) -> dict[str, float]:
    """Returns the least time as a share of the step's, and of the step's with the host's rows."""
    least, step = sum(self.least.values()), statistics.median(self.step)
    return {
      "step": least / step,
      "step_and_host_rows": least / (step + statistics.median(self.host_rows)),
    }


def needs(shapes: Mapping[str, Any], rows: tuple[int, int], width: int, norm: int) -> Needs:
  """Returns the needs of a step, from the shapes of its batch and the rows of both tables."""
  size = {name: int(np.prod(shape.shape)) for name, shape in shapes.items()}
  pairs = size["known"]  # of a triple and a negative
  entities = min(size["heads"] + size["tails"] + size["negatives"], rows[0])
  touched = entities + min(size["relations"], rows[1])
  operations = {1: 1, 2: 2}[norm]  # a product multiplies and adds
  return Needs(
    arithmetic=float(PASSES * operations * pairs * width),
    row_bytes=float(touched * width * FLOAT * TABLES * 2),
  )


def speeds(rows: int, touched: int, width: int, norm: int) -> Callable[[], tuple[float, float]]:
  """Returns a function that measures the machine: arithmetic and bytes of rows in a second.

  Rows are read in random order from a table of the graph's own size, and written one after another.
  """
  rng = np.random.default_rng(0)
  arithmetic, amount = _differences(rng) if norm == 1 else _product(rng)
  table = jnp.asarray(rng.random((rows, width)), jnp.float32)
  ids = jnp.asarray(rng.permutation(rows)[:touched])
  gather = _compiled(lambda table, ids: table.at[ids].get(mode="clip"), table, ids)
  moved = 2.0 * len(ids) * width * FLOAT
  return lambda: (amount / seconds(arithmetic), moved / seconds(gather))


def seconds(run: Callable[[], object]) -> float:
  """Returns the seconds that a function's second call keeps the core busy.

  Those of other processes on it do not count: they would not be the same for a step and a limit.
  """
  run()
  start = time.process_time()
  run()
  return time.process_time() - start


def _product(rng: np.random.Generator) -> tuple[Callable[[], object], float]:
  x = jnp.asarray(rng.random((PRODUCT, PRODUCT)), jnp.float32)
  run = _compiled(lambda x: jnp.matmul(x, x, precision=jax.lax.Precision.HIGHEST), x)
  return run, 2.0 * PRODUCT**3


def _differences(rng: np.random.Generator) -> tuple[Callable[[], object], float]:
  """Returns sums of |x - s| for x in the first cache and many s, and the number of terms."""
  x = jnp.asarray(rng.random(IN_CACHE), jnp.float32)
  others = jnp.asarray(rng.random((TURNS, UNROLLED)), jnp.float32)

  def summed(x: jax.Array, others: jax.Array) -> jax.Array:
    def add(total: jax.Array, some: jax.Array) -> tuple[jax.Array, None]:
      for other in some:
        total += jnp.abs(x - other)
      return total, None

    return jax.lax.scan(add, jnp.zeros_like(x), others)[0]

  return _compiled(summed, x, others), float(IN_CACHE * TURNS * UNROLLED)


def _compiled(function: Callable, *arrays: jax.Array) -> Callable[[], object]:
  """Returns a call of a function, compiled as a training step is."""
  run: Any = jax.jit(function, compiler_options=OPTIONS.get(jax.default_backend()))
  return lambda: jax.block_until_ready(run(*arrays))
