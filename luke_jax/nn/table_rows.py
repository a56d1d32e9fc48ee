"""Rows of tables that may be spread over an axis of the mesh: read, and written back.

XLA's partitioner may gather a table to do either.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from luke_jax.nn.layers import batch_axes


def rows_at(table: jax.Array, ids: jax.Array, axis: str | None) -> jax.Array:
  """Returns the rows of ids, the same on all devices; zeros for ids that no row has."""

  def here(table: jax.Array, ids: jax.Array) -> jax.Array:
    places = _places(table, ids, axis)
    found = table.at[places].get(mode="fill", fill_value=0)
    return found if axis is None else jax.lax.psum(found, axis)

  return _mapped(here, axis, jax.P())(table, ids)


def with_rows(table: jax.Array, ids: jax.Array, rows: jax.Array, axis: str | None) -> jax.Array:
  """Returns a table with other rows at ids, of which each is named once or is no row's."""

  def here(table: jax.Array, ids: jax.Array, rows: jax.Array) -> jax.Array:
    return table.at[_places(table, ids, axis)].set(rows, mode="drop")

  return _mapped(here, axis, jax.P(axis))(table, ids, rows)


def _places(table: jax.Array, ids: jax.Array, axis: str | None) -> jax.Array:
  """Returns places of ids in this device's rows; those of other rows are beyond the last."""
  size = table.shape[0]
  local = ids if axis is None else ids - jax.lax.axis_index(axis) * size
  return jnp.where((local >= 0) & (local < size), local, size)


def _mapped(run: Callable, axis: str | None, output: jax.sharding.PartitionSpec) -> Callable:
  if not batch_axes():
    return run

  def mapped(table: jax.Array, *others: jax.Array) -> jax.Array:
    specs = (jax.P(axis), *[jax.P()] * len(others))
    return jax.shard_map(run, in_specs=specs, out_specs=output, check_vma=False)(table, *others)

  return mapped
