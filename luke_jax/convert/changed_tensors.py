"""Tensors of an adapter's file: the arrays that a backbone lacks, and the changes of those it has.

Large arrays are kept in 8 bits with a scale for each row, small ones in 16.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import jax
import numpy as np

from luke_jax.convert.parts import ModelParts
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.models.adapters import add_adapters, is_adapter, stays
from luke_jax.models.finite import check_finite
from luke_jax.models.keys import flatten, places
from luke_jax.nn.layers import ADAPTER

VALUE, CHANGE, SCALE = "value/", "change/", "scale/"  # before the paths of arrays
LARGE = 4096  # numbers of an array from which it is kept in 8 bits


def _fresh(before: ModelParts) -> set[str]:
  """Returns the paths of the arrays that the backbone's files lack."""
  table, missing = before.system.keys(before.kind), set(before.report.missing)
  leaves = flatten(before.params)
  return {
    path for path, x in leaves.items() if next(places(table.key(path), x.shape))[0] in missing
  }


def changed_tensors(model: ModelParts, before: ModelParts) -> Iterator[tuple[str, np.ndarray]]:
  """Yields the tensors of the file; of arrays that did not change there are none."""
  old, fresh = flatten(before.params), _fresh(before)
  for path, array in sorted(flatten(model.params).items()):
    x = np.asarray(array, np.float32)
    if path in fresh or is_adapter(path):
      yield from _stored(VALUE, path, x)
    elif stays(path, model.system):
      if not np.array_equal(x, old[path]):
        backbone = model.start and model.start.directory
        raise InputError(f"adapter: {path} is not that of {backbone}; expected it unchanged")
    elif not np.array_equal(x, old[path]):
      yield from _stored(CHANGE, path, x - old[path])


def _stored(part: str, path: str, x: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
  """Yields an array in 16 bits, or in 8 with its scales, one for a row along the longest axis."""
  if x.size < LARGE or x.ndim < 2:
    yield f"{part}{path}", x.astype(np.float16)
    return
  axis = -1 if x.shape[-1] >= x.shape[-2] else -2
  scale = np.maximum(np.abs(x).max(axis, keepdims=True), 1e-12) / 127
  yield f"{part}{path}", np.rint(x / scale).astype(np.int8)
  yield f"{SCALE}{path}", scale.astype(np.float32)


def with_changes(
  before: ModelParts, tensors: Mapping[str, np.ndarray], file: Path
) -> dict[str, np.ndarray]:
  """Returns the parameters with what the file holds."""
  leaves: Any = flatten(before.params)
  expected = _with_adapters(before, tensors)
  missing = _fresh(before) | (expected.keys() - leaves.keys())
  _check_scales(tensors, file)
  for name, tensor in tensors.items():
    part, _, path = name.partition("/")
    if f"{part}/" == SCALE:
      continue
    if path not in expected or expected[path].shape != tensor.shape:
      arrays = f"the arrays of {before.architecture}"
      raise InputError(f"{file}: {name}: {tensor.shape}; expected {arrays}")
    x = tensor.astype(np.float32) * _scale(tensors, path, tensor.shape, file)
    check_finite(f"{file}: {name}", x)
    leaves[path] = leaves[path] + x if f"{part}/" == CHANGE else x
    missing.discard(path)
  if missing:
    raise InputError(f"{file}: no {min(missing)}; expected all that the backbone lacks")
  return leaves


def _check_scales(tensors: Mapping[str, np.ndarray], file: Path) -> None:
  """Raises InputError for a tensor in 8 bits without its scales, and for scales of none."""
  whole = {
    name.partition("/")[2]: x.dtype == np.int8
    for name, x in tensors.items()
    if not name.startswith(SCALE)
  }
  scaled = {name.removeprefix(SCALE) for name in tensors if name.startswith(SCALE)}
  astray = sorted(scaled ^ {path for path, narrow in whole.items() if narrow})
  if astray:
    what = "no tensor for it" if astray[0] in scaled else "missing"
    raise InputError(f"{file}: {SCALE}{astray[0]}: {what}; expected scales of each in 8 bits")


def _with_adapters(before: ModelParts, tensors: Mapping[str, np.ndarray]) -> dict[str, Any]:
  """Returns the shapes of all parameters, with adapters of the rank that the first tensor has."""
  ranks = (x.shape[-1] for name, x in tensors.items() if name.endswith(f"/{ADAPTER[0]}") and x.ndim)
  rank = next(ranks, 1)
  key = jax.random.key(0)
  return flatten(jax.eval_shape(lambda x: add_adapters(x, before.system, rank, key), before.params))


def _scale(
  tensors: Mapping[str, np.ndarray], path: str, shape: tuple[int, ...], file: Path
) -> np.ndarray:
  scale = tensors.get(f"{SCALE}{path}", np.ones([1] * len(shape), np.float32))
  if scale.ndim != len(shape) or any(
    n not in (1, m) for n, m in zip(scale.shape, shape, strict=True)
  ):
    raise InputError(f"{file}: {SCALE}{path}: {scale.shape}; expected one for each row of {shape}")
  return scale
