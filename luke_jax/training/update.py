"""Update of the state by a batch: gradients, the optimizer's step, and the numbers to log."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import optax

from luke_jax.models.system import Backbone
from luke_jax.nn.table_rows import rows_at, with_rows
from luke_jax.training.experiment import Experiment
from luke_jax.training.optimizer import Length, layer_masks, learning_rate, merge
from luke_jax.training.task import Batch, Params, Task, Tree

AVERAGE = "average"
# Trained and frozen parameters, the average of the trained ones if there is one, moments, step,
# skipped, key.
State = dict[str, Any]
UPDATED = ("trained", "moments")


@dataclasses.dataclass(frozen=True, eq=False)
class Update:
  """A training step: a state, a batch and the run's length to the next state and metrics."""

  experiment: Experiment
  backbone: Backbone
  optimizer: optax.GradientTransformationExtraArgs
  trained: Params  # shapes of the trained parameters, each with its sharding
  whole: jax.NamedSharding  # of what every device holds

  def step(self, state: State, batch: Batch, length: Length) -> tuple[State, dict[str, jax.Array]]:
    """Returns the state after a batch (micro-batches, rows, ...), and metrics."""
    touched = touched_rows(self.experiment.engine, self.backbone, batch)
    part, metrics = self._updated(touched.part(state), touched.batch, length)
    return touched.whole(state, part), metrics

  def _updated(
    self, state: State, batch: Batch, length: Length
  ) -> tuple[State, dict[str, jax.Array]]:
    key = jax.random.fold_in(state["key"], state["step"])
    loss, metrics, gradients = self._gradients(state, batch, key)
    masks = layer_masks(state["trained"], self.experiment.optimizer.frozen)
    gradients = _masked(gradients, masks)
    norm = optax.tree.norm(gradients)
    before = state["moments"], state["trained"]
    updates, moments = self.optimizer.update(gradients, *before, length=length)
    changed: Tree = optax.apply_updates(state["trained"], _masked(updates, masks))
    trained = self.experiment.engine.bounded(changed)
    # A step whose loss or gradient is not finite changes nothing, so that the state stays finite.
    finite = jnp.isfinite(loss) & jnp.isfinite(norm)
    trained, moments = jax.tree.map(
      lambda new, old: jnp.where(finite, new, old),
      (trained, moments),
      (state["trained"], state["moments"]),
    )
    metrics |= {"loss": loss, "gradient_norm": norm, "finite": finite}
    metrics["skipped"] = state["skipped"] + ~finite
    settings, number = self.experiment, state["step"] - state["skipped"]
    rate = learning_rate(settings.optimizer, settings.schedule, number, length)
    metrics |= {"learning_rate": rate}
    if AVERAGE in state:
      state |= {AVERAGE: self._averaged(state[AVERAGE], trained, number)}
    return state | {
      "trained": trained,
      "moments": moments,
      "step": state["step"] + 1,
      "skipped": metrics["skipped"],
    }, metrics

  def _gradient_place(
    self, parameter: jax.ShapeDtypeStruct, part: jax.Array
  ) -> jax.sharding.Sharding | None:
    """Returns the sharding of a gradient: its parameter's, or none for the rows of a table."""
    return parameter.sharding if part.shape == parameter.shape else self.whole

  def _averaged(self, average: Params, trained: Params, number: jax.Array) -> Params:
    """Returns the running mean after update `number`; the first ones count for more."""
    most = self.experiment.optimizer.average
    assert most is not None
    decay = jnp.minimum(most, (1 + number) / (10 + number))
    return jax.tree.map(lambda mean, new: decay * mean + (1 - decay) * new, average, trained)

  def _gradients(
    self, state: State, batch: Batch, key: jax.Array
  ) -> tuple[jax.Array, dict[str, jax.Array], Params]:
    """Returns loss, metrics and gradients of the batch, summed over its micro-batches."""
    task, backbone, count = self.experiment.engine, self.backbone, self.experiment.run.accumulation
    places = jax.tree.map(self._gradient_place, self.trained, state["trained"])
    merged = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), batch)
    weights = jax.tree.map(lambda x: x.reshape(count, -1, *x.shape[1:]), task.weights(merged))

    def loss(trained: Params, part: Batch, weights: Tree, key: jax.Array) -> tuple[jax.Array, dict]:
      return task.loss(backbone, merge(trained, state["frozen"]), part, weights, key)

    def micro(index: jax.Array, *parts: Tree) -> Tree:
      run = jax.value_and_grad(loss, has_aux=True)
      (value, metrics), gradients = run(state["trained"], *parts, jax.random.fold_in(key, index))
      gradients = jax.lax.with_sharding_constraint(gradients, places)
      return value, metrics, gradients

    numbered = (jnp.arange(count), batch, weights)
    if count == 1:
      return micro(*_first(numbered))
    start = jax.tree.map(
      lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(micro, *_first(numbered))
    )
    sums, _ = jax.lax.scan(
      lambda sums, part: (jax.tree.map(jnp.add, sums, micro(*part)), None), start, numbered
    )
    return sums


def _masked(tree: Tree, masks: Params | None) -> Tree:
  return tree if masks is None else jax.tree.map(jnp.multiply, tree, masks)


def _first(tree: Tree) -> Tree:
  return jax.tree.map(lambda x: x[0], tree)


@dataclasses.dataclass(frozen=True)
class Touched:
  """The rows of tables that a batch touches, and the batch with places among them."""

  ids: Mapping[str, jax.Array]  # by the end of the table's path
  batch: Batch
  axes: Mapping[str, str | None]  # of the mesh, over which a table's rows are spread

  def part(self, state: State) -> State:
    """Returns the state with the rows in place of the tables and of their moments."""

    def rows(name: str, table: jax.Array) -> jax.Array:
      return rows_at(table, self.ids[name], self.axes[name])

    return {**state, **{part: self._changed(rows, state[part]) for part in (*UPDATED, "frozen")}}

  def whole(self, state: State, part: State) -> State:
    """Returns a state with tables, in which the rows of an updated part are written."""

    def table(name: str, before: jax.Array, rows: jax.Array) -> jax.Array:
      return with_rows(before, self.ids[name], rows, self.axes[name])

    updated = {name: self._changed(table, state[name], part[name]) for name in UPDATED}
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


def touched_rows(task: Task, backbone: Backbone, batch: Batch) -> Touched:
  """Returns the rows that a batch touches; none of a task whose parameters are all read."""
  if not task.touched_tables:
    return Touched({}, batch, {})
  ids, local = task.touched(backbone, batch)
  spread = backbone.config.layout.entities
  axes = {name: backbone.spread.axis if name in spread else None for name in ids}
  return Touched(ids, local, axes)
