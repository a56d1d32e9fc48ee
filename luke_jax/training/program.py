"""The programs that an experiment runs on a mesh, with the sharding of all their arrays."""

import dataclasses
import functools
import math
import os
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax.traverse_util import flatten_dict, unflatten_dict

from luke_jax.errors import InputError
from luke_jax.models import adapters
from luke_jax.models.system import Backbone, Spread, System
from luke_jax.pipeline.batches import Lengths, MakeRows, Records, Rows, TrainingBatches
from luke_jax.training import processes
from luke_jax.training.experiment import Experiment
from luke_jax.training.mesh import (
  BATCH_AXES,
  VOCABULARY_MULTIPLE,
  batch_sharding,
  own_rows,
  padded_tables,
  shardings,
)
from luke_jax.training.optimizer import Length, make_optimizer, merge, split_frozen
from luke_jax.training.task import Batch, Params, Task, Tree
from luke_jax.training.update import AVERAGE, State, Update

# On a TPU the partitioner otherwise cuts the products of gradients into many small ones to hide
# their collectives, which takes a third more time on v5e; and gradients would be summed over the
# chips while nothing computes. Products carry those sums only of single arrays, so that arrays are
# not to be combined beyond a megabyte. A CPU with vectors of 512 bits otherwise uses half of them:
# distances by L1 take half as long again.
OPTIONS = {
  "tpu": {
    "xla_jf_spmd_threshold_for_windowed_einsum_mib": "100000",
    "xla_enable_async_all_reduce": "true",
    "xla_tpu_enable_async_collective_fusion_fuse_all_reduce": "true",
    "xla_jf_crs_combiner_threshold_in_bytes": "1000000",
  },
  "cpu": {"xla_cpu_prefer_vector_width": "512"},
}
PARAMS = ("trained", "frozen")


@dataclasses.dataclass(frozen=True)
class Program:
  """Functions to compile for an experiment of a known number of steps on a mesh."""

  experiment: Experiment
  mesh: jax.sharding.Mesh
  steps: int

  def __post_init__(self) -> None:
    devices = self.mesh.size
    data, accumulation = self.experiment.data, self.experiment.run.accumulation
    if data.batch_size % (accumulation * devices):
      raise InputError(
        f"data.batch_size: {data.batch_size}; expected a multiple of run.accumulation x devices,"
        f" {accumulation} x {devices}"
      )
    if data.evaluation_batch_size % devices:
      raise InputError(
        f"data.evaluation_batch_size: {data.evaluation_batch_size}; expected a multiple of the"
        f" {devices} devices"
      )
    model, adapter = self.experiment.model, self.experiment.optimizer.adapter
    if adapter and not isinstance(model, System):
      raise InputError(f"optimizer.adapter: {adapter}; expected 0, as {model.title} has no encoder")

  @functools.cached_property
  def backbone(self) -> Backbone:
    """Returns the encoder as it runs on the mesh, with its entity table spread over it."""
    backbone, shape = self.experiment.backbone, self.experiment.mesh
    on_cpu = self.mesh.size == 1 and self._platform == "cpu"
    backbone = dataclasses.replace(backbone, on_cpu=on_cpu)
    if not backbone.entities:
      return backbone
    padding = -backbone.entities % VOCABULARY_MULTIPLE
    return dataclasses.replace(backbone, spread=Spread(shape.vocabulary_axis, padding))

  @functools.cached_property
  def optimizer(self) -> optax.GradientTransformationExtraArgs:
    """Returns the chain of updates."""
    experiment, system = self.experiment, self.backbone.config
    axes = functools.partial(adapters.tensor_axes, system=type(system))
    return make_optimizer(experiment.optimizer, experiment.schedule, system.layout.decayed, axes)

  @functools.cached_property
  def state_shapes(self) -> State:
    """Returns the shapes of the state, each with its sharding."""
    shapes = jax.eval_shape(self._fresh)
    tables = self.backbone.config.layout.entities
    places = shardings(shapes, self.mesh, self.experiment.mesh.fsdp, tables)
    return jax.tree.map(_placed, shapes, places)

  @functools.cached_property
  def batch_shapes(self) -> dict[str, jax.ShapeDtypeStruct]:
    """Returns the shapes of a training batch, (micro-batches, rows, ...)."""
    run, data = self.experiment.run, self.experiment.data
    leading = (run.accumulation, data.batch_size // run.accumulation)
    place = batch_sharding(self.mesh)
    shapes = self.experiment.engine.row_shapes(self.backbone)
    return {
      name: jax.ShapeDtypeStruct((*leading, *row.shape), row.dtype, sharding=place)
      for name, row in shapes.items()
    }

  def fresh_state(self) -> State:
    """Returns the state of step 0, made on the devices that hold it."""
    make = self._compiled_fresh
    processes.meet()
    return make()

  @functools.cached_property
  def _compiled_fresh(self) -> jax.stages.Compiled:
    fresh = jax.jit(
      self._fresh,
      out_shardings=_places(self.state_shapes),
      compiler_options=quick_options(self._platform),
    )
    return fresh.lower().compile()

  def state_from(self, params: Params) -> tuple[State, list[str]]:
    """Returns the state of step 0 with parameters from elsewhere, and the paths that stay fresh.

    The parameters have no padding. Those that this experiment does not know are left out. Raises
    InputError for a table of another size.
    """
    backbone = self.backbone
    # A model of words only leaves the tables out, whatever their sizes are.
    tables = backbone.config.layout.entities if backbone.entities else ()
    padded = padded_tables(params, tables, backbone.entities, backbone.spread.padding_rows)
    arrays: Any = flatten_dict(padded, sep="/")
    shapes: Any = {part: flatten_dict(self.state_shapes[part], sep="/") for part in PARAMS}
    missing = [path for part in PARAMS for path in shapes[part] if path not in arrays]
    state = self.fresh_state() if missing else {}
    for part in PARAMS:
      leaves: Any = flatten_dict(state.get(part, {}), sep="/")
      here = {path: shape for path, shape in shapes[part].items() if path in arrays}
      leaves |= {path: _put(path, arrays[path], shape) for path, shape in here.items()}
      state[part] = unflatten_dict(leaves, sep="/")
    if not missing:
      make = self._compiled_first
      processes.meet()
      state = make(*(state[part] for part in PARAMS))
    elif AVERAGE in state:
      state[AVERAGE] = jax.tree.map(jnp.copy, state["trained"])
    return state, [path for path in missing if not adapters.is_adapter(path)]

  @functools.cached_property
  def _compiled_first(self) -> jax.stages.Compiled:
    """Returns `_first` as a program; one that makes parameters takes long to compile."""
    first = jax.jit(
      self._first,
      out_shardings=_places(self.state_shapes),
      donate_argnums=(0, 1),
      compiler_options=quick_options(self._platform),
    )
    return first.lower(*(self.state_shapes[part] for part in PARAMS)).compile()

  def _fresh(self) -> State:
    key = jax.random.key(self.experiment.run.seed)
    params = self.experiment.engine.initial_params(self.backbone, jax.random.fold_in(key, 0))
    options, system = self.experiment.optimizer, type(self.backbone.config)
    stays = None
    if options.adapter:
      stays = functools.partial(adapters.stays, system=system)
      params = adapters.add_adapters(params, system, options.adapter, jax.random.fold_in(key, 2))
    return self._first(*split_frozen(params, options.frozen, stays))

  def _first(self, trained: Params, frozen: Params) -> State:
    """Returns the state of step 0 with these parameters."""
    averaged = self.experiment.optimizer.average is not None
    return {
      "trained": trained,
      "frozen": frozen,
      **({AVERAGE: jax.tree.map(jnp.copy, trained)} if averaged else {}),
      "moments": self.optimizer.init(trained),
      "step": jnp.zeros((), jnp.int32),
      "skipped": jnp.zeros((), jnp.int32),
      "key": jax.random.fold_in(jax.random.key(self.experiment.run.seed), 1),
    }

  @functools.cached_property
  def lowered_step(self) -> jax.stages.Lowered:
    """Returns the traced training step, whose state is donated.

    It takes the state, a batch and the length of the run, and returns the state and metrics.
    """
    places = _places(self.state_shapes)
    trained = self.state_shapes["trained"]
    parts = self.experiment, self.backbone, self.optimizer
    # A run compiles a step for each length.
    quick = quick_options(self._platform) if self.experiment.data.lengths > 1 else {}
    step = jax.jit(
      Update(*parts, trained, self._whole).step,
      in_shardings=(places, batch_sharding(self.mesh), self._whole),
      out_shardings=(places, self._whole),
      donate_argnums=0,
      compiler_options=OPTIONS.get(self._platform, {}) | quick,
    )
    with jax.set_mesh(self.mesh):
      return step.lower(*self.step_shapes)

  @functools.cached_property
  def compiled_step(self) -> jax.stages.Compiled:
    """Returns the training step, ready to be called."""
    return self.lowered_step.compile()

  @property
  def words(self) -> int:
    """Returns the words of a batch with their padding; 0 if rows have no words."""
    mask = self.batch_shapes.get("attention_mask")
    return math.prod(mask.shape) if mask else 0

  @property
  def step_shapes(self) -> tuple[State, dict[str, jax.ShapeDtypeStruct], Length]:
    """Returns the shapes of the arguments of the training step."""
    number = jax.ShapeDtypeStruct((), jnp.int32, sharding=self._whole)
    return self.state_shapes, self.batch_shapes, Length(number, number)

  def length(self, steps: int) -> Length:
    """Returns the length of a run of so many steps, as the training step takes it."""
    numbers = Length.of(self.experiment.schedule, steps)
    return Length(*map(self._everywhere, numbers))

  def _everywhere(self, number: int) -> jax.Array:
    return jax.make_array_from_callback((), self._whole, lambda _: np.int32(number))

  @functools.cached_property
  def step(self) -> Callable[[State, Batch], tuple[State, dict[str, jax.Array]]]:
    """Returns the compiled step of a run of `steps` steps."""
    compiled, length = self.compiled_step, self.length(self.steps)
    return lambda state, batch: compiled(state, batch, length)

  def predict(self, state: State, batch: Batch) -> Tree:
    """Returns the task's predictions for a batch (rows, ...), whole on every process."""
    return self.compiled_predict(scored(state), state["frozen"], batch)

  @functools.cached_property
  def compiled_predict(self) -> jax.stages.Compiled:
    """Returns the task's predictions as a function of parameters and a batch."""
    state, place = self.state_shapes, self.evaluation_sharding
    batch = {
      name: jax.ShapeDtypeStruct(shape.shape, shape.dtype, sharding=place)
      for name, shape in self.evaluation_shapes.items()
    }
    with jax.set_mesh(self.mesh):
      return self._predict.lower(scored(state), state["frozen"], batch).compile()

  @property
  def evaluation_shapes(self) -> dict[str, jax.ShapeDtypeStruct]:
    """Returns the shapes of a batch to predict, (rows, ...)."""
    size, task = self.experiment.data.evaluation_batch_size, self.experiment.engine
    shapes = task.evaluation_row_shapes(self.backbone).items()
    return {name: jax.ShapeDtypeStruct((size, *row.shape), row.dtype) for name, row in shapes}

  def prediction_shapes(self) -> Tree:
    """Returns the shapes of the result of `predict`."""
    state, batch = self.state_shapes, self.evaluation_shapes
    with jax.set_mesh(self.mesh):
      return self._predict.eval_shape(scored(state), state["frozen"], batch)

  @functools.cached_property
  def _predict(self) -> Any:
    task, backbone = self.experiment.engine, self.backbone

    def predictions(trained: Params, frozen: Params, batch: Batch) -> Tree:
      return task.predict(backbone, merge(trained, frozen), batch)

    places = _places(self.state_shapes)
    return jax.jit(
      predictions,
      in_shardings=(places["trained"], places["frozen"], self.evaluation_sharding),
      out_shardings=self._whole,
    )

  @property
  def make_rows(self) -> MakeRows:
    """Returns the function from records to rows, which is pickled for workers."""
    return functools.partial(self.experiment.engine.rows, self.backbone)

  def training_batches(self, records: Records) -> TrainingBatches:
    """Returns this process's rows of the training batches."""
    run, size = self.experiment.run, self.experiment.data.batch_size
    rows = own_rows(self.mesh, size // run.accumulation)
    order = run.seed, size, run.accumulation, rows, self.lengths(records)
    staged = functools.partial(_rows_of_step, self.experiment.engine, self.backbone)
    return TrainingBatches(records, self.make_rows, *order, staged)

  def lengths(self, records: Records) -> Lengths | None:
    """Returns the lengths that batches are padded to; None for that of the task."""
    count = self.experiment.data.lengths
    if count == 1:
      return None
    lengths = self.experiment.engine.lengths(records)
    if lengths is None:
      name = type(self.experiment.task).__name__
      raise InputError(f"data.lengths: {count}; expected 1 for {name}, which knows no lengths")
    return Lengths.of(lengths, count, self.batch_shapes["input_ids"].shape[-1])

  def padded_to(self, words: int | None) -> "Program":
    """Returns the program of batches whose rows are padded to that length; None for the task's."""
    if words is None:
      return self
    if words not in self._padded:
      task = self.experiment.engine.of_length(words)
      experiment = dataclasses.replace(self.experiment, task=task)
      self._padded[words] = dataclasses.replace(self, experiment=experiment)
    return self._padded[words]

  @functools.cached_property
  def _padded(self) -> dict[int, "Program"]:
    return {}

  def placed(self, batch: Rows) -> dict[str, jax.Array]:
    """Returns a training batch over all processes, from the rows of this one.

    Padding beyond the length that rows of this program have is cut off.
    """
    return {
      name: jax.make_array_from_process_local_data(
        shape.sharding, batch[name][tuple(map(slice, shape.shape))], shape.shape
      )
      for name, shape in self.batch_shapes.items()
    }

  @property
  def _platform(self) -> str:
    return self.mesh.devices.flat[0].platform

  @property
  def _whole(self) -> jax.NamedSharding:
    """Returns the sharding of what every device holds."""
    return jax.NamedSharding(self.mesh, jax.P())

  @property
  def evaluation_sharding(self) -> jax.NamedSharding:
    """Returns the sharding of rows over all devices."""
    return jax.NamedSharding(self.mesh, jax.P(BATCH_AXES))


def quick_options(platform: str) -> dict[str, str]:
  """Returns XLA's options for a program that compiles quickly, unless XLA_FLAGS has its own.

  On a CPU that takes up to a third less time. Steps of encoders are as fast then, those of TransE
  and TENER's predictions are not.
  """
  level = "xla_backend_optimization_level"
  chosen = level in os.environ.get("XLA_FLAGS", "")
  return {level: "1"} if platform == "cpu" and not chosen else {}


def scored(state: State) -> Params:
  """Returns the trained parameters that are scored and saved: their average, if there is one."""
  return state.get(AVERAGE, state["trained"])


def _rows_of_step(task: Task, backbone: Backbone, step: int) -> MakeRows:
  return functools.partial(task.at_step(step).rows, backbone)


def _put(path: str, given: Any, expected: jax.ShapeDtypeStruct) -> jax.Array:
  """Returns an array where it is expected; raises InputError for one of another shape."""
  if given.shape != expected.shape:
    raise InputError(f"{path}: {given.shape}; expected {expected.shape}")
  return jax.device_put(np.asarray(given, expected.dtype), expected.sharding)


def _placed(shape: jax.ShapeDtypeStruct, place: jax.NamedSharding) -> jax.ShapeDtypeStruct:
  return jax.ShapeDtypeStruct(shape.shape, shape.dtype, sharding=place)


def _places(shapes: Tree) -> Tree:
  return jax.tree.map(lambda x: x.sharding, shapes)
