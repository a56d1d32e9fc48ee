"""Rows of tables that may be spread over an axis of the mesh: read, and written back.

XLA's partitioner may gather a table to do either.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from luke_jax.nn.layers import batch_axes

# Up to so many rows for each id, marking them takes less time than sorting the ids: a twelfth on a
# CPU for a table of 15,000 rows. A mark is a hundredth or less of a row.
MARKED = 32


def unique_ids(ids: jax.Array, rows: int) -> tuple[jax.Array, jax.Array]:
  """Returns the different ids (n,) of a table in order, and the places of ids among them.

  n is the number of ids or of the table's rows, the smaller one; `rows` fills up.
  """
  most = min(ids.size, rows)
  if rows > MARKED * ids.size:
    return jnp.unique(ids, return_inverse=True, size=most, fill_value=rows)
  present = jnp.zeros(rows, jnp.int32).at[ids].set(1)
  places = jnp.cumsum(present) - 1
  unique = jnp.full(most, rows, ids.dtype)
  targets = jnp.where(present > 0, places, most)
  unique = unique.at[targets].set(jnp.arange(rows, dtype=ids.dtype), mode="drop")
  return unique, places[ids]


def rows_at(table: jax.Array, ids: jax.Array, axis: str | None) -> jax.Array:
  """Returns the rows of ids, the same on all devices; any row for ids that no row has."""

  def here(table: jax.Array, ids: jax.Array) -> jax.Array:
    if axis is None or jax.lax.axis_size(axis) == 1:  # a sum over one device is a copy
      return table.at[ids].get(mode="clip")
    rows = table.at[_places(table, ids, axis)].get(mode="fill", fill_value=0)
    return jax.lax.psum(rows, axis)

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
