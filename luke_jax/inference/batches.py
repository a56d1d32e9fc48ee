"""Rows of all lengths through a model: in batches of a few shapes, so that few are compiled."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from luke_jax.convert.parts import ModelParts
from luke_jax.inference.shapes import CompiledShapes, largest_first, tokens
from luke_jax.models.checks import check_finite
from luke_jax.models.network import Network, apply
from luke_jax.tasks.fine_tuning import LOGITS, FineTunedTask
from luke_jax.text.rows import Row, Sizes

MOST_ENTITIES = 2048


def _growing(step: int, by: float) -> tuple[int, ...]:
  """Multiples of a step, each so many times the one before, or the next one."""
  widths = [step]
  while widths[-1] < MOST_ENTITIES:
    widths.append(max(widths[-1] + step, step * round(by * widths[-1] / step)))
  return tuple(widths)


class Widths(NamedTuple):
  """Numbers of words and of entities that rows may be padded to."""

  words: Sequence[int]
  entities: Sequence[int]


# Few widths are few programs to compile; close ones pad less. A CPU pays for every padded token,
# an accelerator hardly, but waits long for its compiler.
WIDTHS = {"cpu": Widths(range(8, 513, 8), (1, 2, *_growing(8, 1.05)))}
ROOMY_WIDTHS = {"cpu": Widths(range(32, 513, 32), (1, 2, *_growing(16, 1.19)))}
FEW_WIDTHS = Widths(
  (64, 128, 256, 384, 512), (1, 2, 16, 32, 64, *range(128, MOST_ENTITIES + 1, 128))
)
# Words and entities of a batch: enough to keep the device busy, little enough for its memory. On a
# CPU small batches leave fewer rows to pad.
TOKENS = {"cpu": 512}
MOST_TOKENS = 32768
# Padded tokens that take as long as one more batch does by itself: on a CPU, batches of four rows
# and of one are faster than one of eight with three rows of padding.
BATCH = {"cpu": 16}


class PaddedGroup(NamedTuple):
  """Which rows go together, and the size that they are padded to."""

  rows: list[int]
  size: Sizes
  height: int


def batches(
  rows: Sequence[Row],
  task: FineTunedTask,
  limit: int,
  shapes: CompiledShapes,
  *,
  entity_tokens: bool = True,
) -> Iterator[PaddedGroup]:
  """Yields the rows in groups of about one size, of at most `limit` tokens: words and entities.

  Without entity tokens groups have no size of entities, which cost nothing then.
  """
  backend = jax.default_backend()
  close = WIDTHS.get(backend, FEW_WIDTHS)
  roomy = ROOMY_WIDTHS.get(backend, FEW_WIDTHS)
  if not entity_tokens:
    close, roomy = (widths._replace(entities=(0,)) for widths in (close, roomy))
  by_size: dict[Sizes, list[int]] = {}
  for i, row in enumerate(rows):
    entities = len(row.entity_ids) if entity_tokens else 0
    least = Sizes(len(row.input_ids), entities, task.sizes.mention)
    by_size.setdefault(_size(least, task, close), []).append(i)
  joined: dict[Sizes, list[int]] = {}
  for size in largest_first(by_size):
    alike = by_size[size]
    chosen = shapes.size(size, _size(size, task, roomy), len(alike))
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
  model: ModelParts,
  task: FineTunedTask,
  rows: Sequence[Row],
  pad_entity: int,
  shapes: CompiledShapes,
) -> dict[str, list[np.ndarray]]:
  """The logits of every row, as wide as the row's batch happened to be."""
  limit = TOKENS.get(jax.default_backend(), MOST_TOKENS)
  waiting = []
  backbone, entity_tokens = model.backbone, model.backbone.entities > 0
  for batch in batches(rows, task, limit, shapes, entity_tokens=entity_tokens):
    some = [rows[i] for i in batch.rows]
    some += some[-1:] * (batch.height - len(some))
    size = batch.size if entity_tokens else task.row_sizes(backbone, batch.size.words)
    arrays = task.inputs(backbone, some, size, pad_entity)
    waiting.append((batch.rows, _outputs(model, arrays)))
  collected: dict[str, list[Any]] = {}
  for numbers, logits in waiting:
    for name, values in jax.device_get(logits).items():
      check_finite(name, values)
      of_rows = collected.setdefault(name, [None] * len(rows))
      for i, value in zip(numbers, values, strict=False):
        of_rows[i] = value
  return collected


def _outputs(model: ModelParts, arrays: dict) -> Mapping[str, Any]:
  if model.program is None:
    return _logits(*model.predicting, arrays)
  values = model.program(**arrays)
  return {name: values[name] for name in LOGITS if name in values}


@functools.partial(jax.jit, static_argnames="network")
def _logits(network: Network, params: dict, inputs: dict) -> dict[str, jax.Array]:
  values = apply(network, params, inputs)
  return {name: values[name].astype(jnp.float32) for name in LOGITS if name in values}


def _next(rows: int, size: Sizes, shapes: CompiledShapes) -> int:
  """Returns how many of some rows are the next batch: fewer than fit where that saves padding."""
  padded = 1 << (rows - 1).bit_length()
  saves = (padded - rows) * tokens(size) > BATCH.get(jax.default_backend(), MOST_TOKENS)
  return padded // 2 if saves and shapes.has(size, padded // 2) else rows


def _size(least: Sizes, task: FineTunedTask, widths: Widths) -> Sizes:
  return Sizes(
    _width(least.words, widths.words, task.words),
    _width(least.entities, widths.entities, task.sizes.entities),
    least.mention,
  )


def _width(length: int, widths: Sequence[int], most: int) -> int:
  """The smallest of the widths that holds so much, or beyond them a power of two, up to `most`."""
  beyond = min(most, 1 << (length - 1).bit_length())
  return min([width for width in widths if length <= width <= most], default=beyond)
