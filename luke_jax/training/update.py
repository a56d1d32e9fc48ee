"""Update of the state by a batch: gradients, the optimizer's step, and the numbers to log."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import optax

from luke_jax.models.system import Backbone
from luke_jax.training.experiment import Experiment
from luke_jax.training.optimizer import Length, layer_masks, learning_rate, merge
from luke_jax.training.task import Batch, Params, State, Tree

AVERAGE = "average"


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
    update = functools.partial(self._updated, length)
    return self.experiment.engine.updated(self.backbone, state, batch, update)

  def _updated(
    self, length: Length, state: State, batch: Batch
  ) -> tuple[State, dict[str, jax.Array]]:
    key = jax.random.fold_in(state["key"], state["step"])
    loss, metrics, gradients = self._gradients(state, batch, key)
    masks = layer_masks(state["trained"], self.experiment.optimizer.frozen)
    gradients = _masked(gradients, masks)
    norm = optax.tree.norm(gradients)
    before = state["moments"], state["trained"]
    updates, moments = self.optimizer.update(gradients, *before, length=length)
    trained: Tree = optax.apply_updates(state["trained"], _masked(updates, masks))
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
