"""Rows of tables that may be spread over an axis of the mesh: read, updated and written back.

XLA's partitioner may gather a table to do either.
"""

import dataclasses
from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp

from luke_jax.nn.layers import batch_axes
from luke_jax.training.task import State, Tree

# Up to so many rows for each id, marking them takes less time than sorting the ids: a twelfth on a
# CPU for a table of 15,000 rows. A mark is a hundredth or less of a row.
MARKED = 32
_UPDATED = ("trained", "moments")  # parts of a state


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


@dataclasses.dataclass(frozen=True)
class Touched:
  """The rows of tables that a batch touches, to be updated in place of the tables."""

  ids: Mapping[str, jax.Array]  # by the end of the table's path
  axes: Mapping[str, str | None]  # of the mesh, over which a table's rows are spread

  def part(self, state: State) -> State:
    """Returns the state with the rows in place of the tables and of their moments."""

    def rows(name: str, table: jax.Array) -> jax.Array:
      return rows_at(table, self.ids[name], self.axes[name])

    return {**state, **{part: self._changed(rows, state[part]) for part in (*_UPDATED, "frozen")}}

  def whole(self, state: State, part: State) -> State:
    """Returns a state with tables, in which the rows of an updated part are written."""

    def table(name: str, before: jax.Array, rows: jax.Array) -> jax.Array:
      return with_rows(before, self.ids[name], rows, self.axes[name])

    updated = {name: self._changed(table, state[name], part[name]) for name in _UPDATED}
    return {**part, **updated, "frozen": state["frozen"]}

  def _changed(self, change: Callable[..., jax.Array], tree: Tree, *others: Tree) -> Tree:
    """Returns a tree whose tables, and arrays at paths that end in theirs, are changed.

    Others are those of the last tree.
    """

    def changed(path: tuple, *leaves: jax.Array) -> jax.Array:
      name = jax.tree_util.keystr(path, simple=True, separator="/")
      tables = [end for end in self.ids if f"/{name}".endswith(f"/{end}")]
      return change(tables[0], *leaves) if tables else leaves[-1]

    return jax.tree.map_with_path(changed, tree, *others)
