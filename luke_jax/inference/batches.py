"""Rows of all lengths through a model: in batches of a few shapes, so that few are compiled.

A shape more is compiled if it saves more than compiling takes.
"""

import contextlib
import dataclasses
import functools
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from luke_jax.convert.parts import ModelParts
from luke_jax.models.config_files import check_finite
from luke_jax.models.network import Network, apply
from luke_jax.models.system import Backbone
from luke_jax.tasks.contract import TextTask
from luke_jax.tasks.running import LOGITS, Running
from luke_jax.text.rows import Row, Sizes, Widths

MOST_ENTITIES = 2048
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
    least = min(most, 1 << (rows - 1).bit_length())
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


def compiled_shapes(config: Any, shards: int = 1) -> CompiledShapes:
  """Returns no compiled shapes yet, for a model of this size; all shards use a program."""
  compiling = COMPILING.get(jax.default_backend(), COMPILING_ELSEWHERE) / shards
  # A layer multiplies a token by 12 square matrices, each multiplication with an addition.
  return CompiledShapes(compiling / (24 * config.hidden_size**2 * config.num_hidden_layers))


@functools.lru_cache(maxsize=8)  # a caller may predict one text at a time
def shapes_of(backbone: Backbone, of: str = "logits") -> CompiledShapes:
  """Returns the shapes that were compiled so far for a model, of the programs for its logits."""
  return compiled_shapes(backbone.config)


def tokens(size: Sizes) -> int:
  """Returns the number of words and entities in a row of a size, padding included."""
  return size.words + size.entities


def _growing(step: int, by: float) -> tuple[int, ...]:
  """Multiples of a step, each so many times the one before, or the next one."""
  widths = [step]
  while widths[-1] < MOST_ENTITIES:
    widths.append(max(widths[-1] + step, step * round(by * widths[-1] / step)))
  return tuple(widths)


# Few widths are few programs to compile; close ones pad less. A CPU pays for every padded token,
# an accelerator hardly, but waits long for its compiler.
WIDTHS = {"cpu": Widths(range(8, 513, 4), (1, 2, *_growing(8, 1.05)))}
ROOMY_WIDTHS = {"cpu": Widths(range(32, 513, 32), (1, 2, *_growing(16, 1.19)))}
FEW_WIDTHS = Widths(
  (64, 128, 256, 384, 512), (1, 2, 16, 32, 64, *range(128, MOST_ENTITIES + 1, 128))
)
CLOSE_WIDTHS = FEW_WIDTHS._replace(words=(*range(16, 128, 16), *range(128, 513, 32)))
# Words and entities of a batch: enough to keep the device busy, little enough for its memory. On a
# CPU small batches leave fewer rows to pad.
TOKENS = {"cpu": 512}
MOST_TOKENS = 32768
AHEAD = 32  # batches that are computed before the results of the first are read
# Padded tokens that take as long as one more batch does by itself: on a CPU, batches of four rows
# and of one are faster than one of eight with three rows of padding.
BATCH = {"cpu": 16}


def roomy_widths() -> Widths:
  """Returns the widths of programs that texts a little longer find compiled."""
  return ROOMY_WIDTHS.get(jax.default_backend(), FEW_WIDTHS)


class PaddedGroup(NamedTuple):
  """Which rows go together, and the size that they are padded to."""

  rows: list[int]
  size: Sizes
  height: int


def batches(
  rows: Sequence[Row],
  longest: Sizes,
  limit: int,
  shapes: CompiledShapes,
  *,
  entity_tokens: bool = True,
) -> Iterator[PaddedGroup]:
  """Yields the rows in groups of about one size, of at most `limit` tokens: words and entities.

  Without entity tokens groups have no size of entities, which cost nothing then.
  """
  backend = jax.default_backend()
  close = WIDTHS.get(backend, CLOSE_WIDTHS)
  roomy = roomy_widths()
  if not entity_tokens:
    close, roomy = (widths._replace(entities=(0,)) for widths in (close, roomy))
  by_size: dict[Sizes, list[int]] = {}
  for i, row in enumerate(rows):
    entities = len(row.entity_ids) if entity_tokens else 0
    least = Sizes(len(row.input_ids), entities, longest.mention)
    by_size.setdefault(_size(least, longest, close), []).append(i)
  joined: dict[Sizes, list[int]] = {}
  for size in sorted(by_size, key=lambda size: (tokens(size), size), reverse=True):
    alike = by_size[size]
    chosen = shapes.size(size, _size(size, longest, roomy), len(alike))
    joined.setdefault(chosen, []).extend(alike)
  for size, alike in joined.items():
    most = max(1, limit // tokens(size))
    most = 1 << (most.bit_length() - 1)
    first = 0
    while first < len(alike):
      some = alike[first : first + _next(min(most, len(alike) - first), size, shapes)]
      yield PaddedGroup(some, size, shapes.height(size, len(some), most))
      first += len(some)


def outputs(
  model: ModelParts, task: TextTask, rows: Sequence[Row], pad_entity: int, shapes: CompiledShapes
) -> dict[str, list[np.ndarray]]:
  """The logits of every row, as wide as the row's batch happened to be."""
  backbone, entity_tokens = model.backbone, model.backbone.entities > 0

  def run(some: Sequence[Row], size: Sizes) -> Mapping[str, Any]:
    size = size if entity_tokens else task.row_sizes(backbone, size.words)
    arrays = Running(task).inputs(backbone, some, size, pad_entity)
    if model.program is None:
      return _logits(*model.predicting, arrays)
    values = model.program(**arrays)
    return {name: values[name] for name in LOGITS if name in values}

  most = task.sizes._replace(words=task.words)
  found = computed(rows, most, run, shapes, entity_tokens=entity_tokens, needed=task.needed)
  return dict(found)


def computed(
  rows: Sequence[Row],
  most: Sizes,
  run: Callable[[Sequence[Row], Sizes], Mapping[str, Any]],
  shapes: CompiledShapes,
  *,
  entity_tokens: bool = True,
  needed: Callable[[np.ndarray], np.ndarray] = np.asarray,
) -> Mapping[str, list[np.ndarray]]:
  """Returns what a function of batches computes for every row; it pads rows to a size."""
  limit = TOKENS.get(jax.default_backend(), MOST_TOKENS)
  waiting: list[tuple[list[int], Mapping[str, Any]]] = []
  collected: dict[str, list[Any]] = {}

  def collect() -> None:
    numbers, arrays = waiting.pop(0)
    for name, values in jax.device_get(arrays).items():
      check_finite(name, values)
      of_rows = collected.setdefault(name, [None] * len(rows))
      for i, value in zip(numbers, values, strict=False):
        of_rows[i] = needed(value)

  for batch in batches(rows, most, limit, shapes, entity_tokens=entity_tokens):
    some = [rows[i] for i in batch.rows]
    some += some[-1:] * (batch.height - len(some))
    waiting.append((batch.rows, run(some, batch.size)))
    if len(waiting) > AHEAD:
      collect()
  while waiting:
    collect()
  return collected


def on_all_devices(model: ModelParts) -> ModelParts:
  """Returns a model whose batches the devices of this process share; each has all parameters."""
  count = jax.local_device_count()
  if count == 1 or model.program is not None:
    return model
  mesh = jax.sharding.Mesh(np.array(jax.local_devices()), ("devices",))
  network, params = model.predicting
  params = jax.device_put(params, jax.NamedSharding(mesh, jax.P()))
  once = network.head.once if network.head else ()

  def program(**inputs: np.ndarray) -> Mapping[str, Any]:
    more = [0] * (-len(inputs["input_ids"]) % count)  # rows that fill up the last device's part
    parts = {x: jax.P() if x in once else jax.P("devices") for x in inputs}
    filled = {x: y if x in once else np.concatenate([y, y[more]]) for x, y in inputs.items()}
    return spread(params, filled, tuple(parts.items()))

  @functools.partial(jax.jit, static_argnums=2)
  def spread(params: dict, inputs: dict, parts: tuple) -> dict[str, jax.Array]:
    of_part, specs = functools.partial(_logits, network), (jax.P(), dict(parts))
    mapped = jax.shard_map(
      of_part, mesh=mesh, in_specs=specs, out_specs=jax.P("devices"), check_vma=False
    )
    return mapped(params, inputs)

  return dataclasses.replace(model, program=program)


@functools.partial(jax.jit, static_argnames="network")
def _logits(network: Network, params: dict, inputs: dict) -> dict[str, jax.Array]:
  values = apply(network, params, inputs)
  return {name: values[name].astype(jnp.float32) for name in LOGITS if name in values}


def _next(rows: int, size: Sizes, shapes: CompiledShapes) -> int:
  """Returns how many of some rows are the next batch: fewer than fit where that saves padding."""
  padded = 1 << (rows - 1).bit_length()
  saves = (padded - rows) * tokens(size) > BATCH.get(jax.default_backend(), MOST_TOKENS)
  return padded // 2 if saves and shapes.has(size, padded // 2) else rows


def _size(least: Sizes, longest: Sizes, widths: Widths) -> Sizes:
  return Sizes(
    _width(least.words, widths.words, longest.words),
    _width(least.entities, widths.entities, longest.entities),
    least.mention,
  )


def _width(length: int, widths: Sequence[int], most: int) -> int:
  """The smallest of the widths that holds so much, or beyond them a power of two, up to `most`."""
  beyond = min(most, 1 << (length - 1).bit_length())
  return min([width for width in widths if length <= width <= most], default=beyond)
