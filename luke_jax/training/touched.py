"""Rows of tables that a step touches: a step computes with them alone and writes them back.

A task with tables for more things than a batch has names them, see `Task.touched`. No step passes
over a whole table then, and moments of other rows stay as they are: of Adam's kinds this is the
lazy one.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import jax

from luke_jax.models.system import Backbone
from luke_jax.nn.table_rows import rows_at, with_rows
from luke_jax.training.task import Batch, Task

UPDATED = ("trained", "moments")


@dataclasses.dataclass(frozen=True)
class Touched:
  """The rows of tables that a batch touches, and the batch with places among them."""

  ids: Mapping[str, jax.Array]  # by the end of the table's path
  batch: Batch
  axes: Mapping[str, str | None]  # of the mesh, over which a table's rows are spread

  def part(self, state: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the state with the rows in place of the tables and of their moments."""

    def rows(name: str, table: jax.Array) -> jax.Array:
      return rows_at(table, self.ids[name], self.axes[name])

    return {**state, **{part: self._changed(rows, state[part]) for part in (*UPDATED, "frozen")}}

  def whole(self, state: Mapping[str, Any], part: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a state with tables, in which the rows of an updated part are written."""

    def table(name: str, before: jax.Array, rows: jax.Array) -> jax.Array:
      return with_rows(before, self.ids[name], rows, self.axes[name])

    updated = {name: self._changed(table, state[name], part[name]) for name in UPDATED}
    return {**part, **updated, "frozen": state["frozen"]}

  def _changed(self, change: Callable, tree: Any, *others: Any) -> Any:
    """Returns a tree whose tables, and arrays at paths that end in theirs, are changed.

    Others are those of the last tree.
    """

    def changed(path: Any, *leaves: Any) -> Any:
      name = jax.tree_util.keystr(path, simple=True, separator="/")
      found = [end for end in self.ids if f"/{name}".endswith(f"/{end}")]
      return change(found[0], *leaves) if found else leaves[-1]

    return jax.tree.map_with_path(changed, tree, *others)


def touched_rows(task: Task, backbone: Backbone, batch: Batch) -> Touched:
  """Returns the rows that a batch touches; none of a task whose parameters are all read."""
  if not task.touched_tables:
    return Touched({}, batch, {})
  ids, local = task.touched(backbone, batch)
  spread = backbone.config.layout.entities
  axes = {name: backbone.spread.axis if name in spread else None for name in ids}
  return Touched(ids, local, axes)
