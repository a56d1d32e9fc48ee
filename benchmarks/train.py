"""Benchmark of steps of fine-tuning beside PyTorch with transformers, and peft for adapters."""

import dataclasses
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from rich.table import Table

from benchmarks.encoder import BatchSizes, batches, inputs, tensors
from benchmarks.figures import print_figures
from benchmarks.sides import (
  devices,
  mixed,
  product_flops,
  same_precision,
  share_gpu,
  square_product,
  torch_device,
  torch_square_product,
  waited,
)
from benchmarks.timing import Timing, alternate, imported
from luke_jax.cli.process import stderr_console
from luke_jax.convert.parts import ModelParts
from luke_jax.errors import InputError
from luke_jax.files import Path, check_place
from luke_jax.models.adapters import add_adapters, is_adapter
from luke_jax.models.keys import Keys, flatten, places, to_torch, unflatten
from luke_jax.models.network import initial_params
from luke_jax.models.system import Described, System
from luke_jax.models.table import SIZES
from luke_jax.nn.layers import ADAPTER, Dtype
from luke_jax.plan.plan import flops_of
from luke_jax.runs.recipes import RANK, changed, consistent, with_recipe
from luke_jax.runs.rules import Facts, decided
from luke_jax.tasks.classification.task import TextClassification
from luke_jax.tasks.contract import TextTask
from luke_jax.tasks.ner.task import NIL, NamedEntities
from luke_jax.text.entity_vocab import SPECIAL_ENTITIES
from luke_jax.training.experiment import Experiment
from luke_jax.training.mesh import make_mesh
from luke_jax.training.optimizer import decays
from luke_jax.training.program import Program

BATCHES = {False: "16x64,16x128,32x32", True: "4x128+32"}  # by whether there are entities
LABELS = (NIL, "LOC", "MISC", "ORG", "PER")
EXAMPLES = 200  # of a training, whose settings the steps have
NUMBERS = 2**26  # of an array that is read and written, beyond all caches
# Of a parameter that trains: its gradient is written and read, itself and two moments both.
TRAFFIC, FLOAT = 8, 4
SIDES = ("ours", "theirs")
STEPS = 1000  # of the run whose first steps are timed
KERNEL = "kernel"


class OurStep:
  """Steps of a run on one batch, as `luke-jax train` compiles them."""

  def __init__(self, experiment: Experiment, batch: BatchSizes):
    task, key = experiment.task, jax.random.key(0)
    assert isinstance(task, TextTask)
    network, adapter = task.network(experiment.backbone), experiment.optimizer.adapter
    params: dict = initial_params(network, key)
    if adapter:
      params = add_adapters(params, type(experiment.model), adapter, key)
    self.params: dict = jax.device_get(params)
    self.model = ModelParts(network, self.params, task.labels)
    self.program = Program(experiment, make_mesh(experiment.mesh, jax.devices()[:1]), STEPS)
    start = time.perf_counter()
    compiled: Any = self.program.step
    self.compiling, self._step = time.perf_counter() - start, compiled
    self.state: Any = self.program.state_from(params)[0]
    self.arrays = self._arrays(batch)
    self.placed = self.program.placed({name: x[None] for name, x in self.arrays.items()})

  def _arrays(self, batch: BatchSizes) -> dict[str, np.ndarray]:
    """Returns the inputs of a batch and its labels, both random."""
    arrays, rng = inputs(self.model.config, batch), np.random.default_rng(1)
    shapes = {name: x.shape[1:] for name, x in self.program.batch_shapes.items()}
    if batch.entities:
      positions = arrays["entity_position_ids"]
      arrays |= {"entity_start_positions": positions[..., 0]}
      arrays |= {"entity_end_positions": positions.max(-1)}
    arrays["labels"] = rng.integers(0, self.model.num_labels, shapes["labels"])
    return {name: arrays.get(name, np.zeros(shape, np.int64)) for name, shape in shapes.items()}

  def step(self) -> float:
    """Takes a step; returns the loss before it."""
    self.state, metrics = self._step(self.state, self.placed)
    jax.block_until_ready(self.state)
    return float(metrics["loss"])


class TheirStep:
  """The same steps in PyTorch: weights, batch, parameters that train, clipping and AdamW."""

  def __init__(self, ours: OurStep):
    import torch

    options = ours.program.experiment.optimizer
    self.dtype, self.limit = ours.program.experiment.running.dtype, options.max_gradient_norm
    model = _model(ours.model, options.adapter).to(torch_device()).train()
    trained = dict(_trained(ours))
    groups: dict[bool, list] = {True: [], False: []}
    for name, x in model.named_parameters():
      name = name.replace(".base_layer.", ".")  # of peft
      x.requires_grad = name in trained
      if x.requires_grad:
        groups[trained[name]].append(x)
    assert sum(map(len, groups.values())) == len(trained), "parameters of other names"
    self.model, self.trained = model, [x for group in groups.values() for x in group]
    self.optimizer = torch.optim.AdamW(
      [
        {"params": groups[True], "weight_decay": options.weight_decay},
        {"params": groups[False], "weight_decay": 0.0},
      ],
      lr=options.learning_rate,
      betas=(options.beta1, options.beta2),
      eps=options.epsilon,
      fused=True,  # as transformers' Trainer by default
    )
    batch = tensors(ours.arrays)
    self.step = waited(lambda: self._step(batch))

  def _step(self, batch: dict[str, Any]) -> float:
    """Takes a step; returns the loss before it."""
    import torch

    self.optimizer.zero_grad()
    with mixed(self.dtype):
      loss = self.model(**batch).loss
    loss.backward()
    if self.limit is not None:
      torch.nn.utils.clip_grad_norm_(self.trained, self.limit)
    self.optimizer.step()
    return loss.item()


def _model(ours: ModelParts, adapter: int) -> Any:
  """Returns the model of transformers, with adapters of peft if there are any."""
  import torch
  import transformers

  table, leaves = ours.system.keys(ours.kind), flatten(ours.params)
  raw = ours.system.write_config(
    Described(ours.config, ours.architecture, ours.labels, ours.num_labels)
  )
  model = getattr(transformers, ours.architecture)(transformers.AutoConfig.for_model(**raw))
  rest = unflatten({path: x for path, x in leaves.items() if not is_adapter(path)})
  state = {name: torch.tensor(x) for name, x in to_torch(rest, table)}
  assert not model.load_state_dict(state, strict=False).unexpected_keys
  if not adapter:
    return model
  import peft

  low_rank = {name: torch.tensor(x) for name, x in _low_rank(leaves, table)}
  modules = sorted({name.partition(".lora_")[0] for name in low_rank})
  settings = peft.LoraConfig(r=adapter, lora_alpha=adapter, target_modules=modules)
  model = peft.inject_adapter_in_model(settings, model)
  assert not model.load_state_dict(low_rank, strict=False).unexpected_keys
  return model


def _trained(ours: OurStep) -> Iterator[tuple[str, bool]]:
  """Yields the names in PyTorch of what trains, and whether weight decay shrinks it."""
  table, decayed = ours.model.system.keys(ours.model.kind), ours.model.config.layout.decayed
  for path, x in flatten(ours.program.state_shapes["trained"]).items():
    if not is_adapter(path):
      names: Any = [name for name, _ in places(table.key(path), x.shape)]
    else:
      names = [name for name, _ in _low_rank({path: x}, table)]
    yield from ((name, decays(path, decayed)) for name in names)


def _low_rank(leaves: dict[str, Any], table: Keys) -> Iterator[tuple[str, np.ndarray]]:
  """Yields the matrices of adapters, as peft names and turns them."""
  for path, x in leaves.items():
    module, _, leaf = path.rpartition("/")
    if is_adapter(path):
      part = f"lora_{'AB'[ADAPTER.index(leaf)]}.default.weight"
      for name, index in places(table.key(f"{module}/{KERNEL}"), x.shape):
        matrix = np.zeros(0) if isinstance(x, jax.ShapeDtypeStruct) else x[index].T
        yield f"{name.removesuffix('weight')}{part}", matrix


@dataclasses.dataclass(frozen=True)
class StepOfBoth:
  """Measurements of one batch: a step of AdamW of all parameters, or with adapters."""

  batch: BatchSizes
  adapter: int  # rank; 0: all parameters train
  trained: int  # numbers that train
  flops: float  # counting matrix products only
  compiling: float  # seconds of ours
  timing: Timing


@dataclasses.dataclass(frozen=True)
class TrainTimes:
  """Measurements of one run."""

  machine: str
  versions: dict[str, str]
  size: str
  dtype: str
  left_out: tuple[str, ...]  # packages without which there are no steps of adapters
  product_flops: float
  product: Timing  # of square matrix products
  memory: list[float]  # bytes a second that are read and written
  steps: list[StepOfBoth]

  def least(self, step: StepOfBoth) -> dict[str, float]:
    """Returns the least seconds of a step: its products, and what an update reads and writes.

    Both at the speed that this machine reached in a round, by the side with the faster product.
    """
    fastest = min(self.product.ours + self.product.theirs)
    return {
      "products": step.flops * fastest / self.product_flops,
      "update": step.trained * TRAFFIC * FLOAT / max(self.memory),
    }


def run(size: str, experiments: Sequence[tuple[BatchSizes, Experiment]], rounds: int) -> TrainTimes:
  """Times steps of both sides in turn, on batches without padding and with dropout."""
  torch, transformers = imported("torch", "transformers")
  if rounds < 1:
    raise InputError(f"rounds: {rounds}; expected 1 or more")
  share_gpu()
  same_precision()
  left_out = tuple(name for name in ("peft",) if not find_spec(name))
  dtype = experiments[0][1].running.dtype
  memory = _memory()
  return TrainTimes(
    machine=devices(),
    versions={"jax": jax.__version__, "torch": torch.__version__}
    | {"transformers": transformers.__version__}
    | ({} if left_out else {"peft": imported("peft")[0].__version__}),
    size=size,
    dtype=dtype,
    left_out=left_out,
    product_flops=product_flops(),
    product=alternate(square_product(dtype), torch_square_product(dtype), rounds),
    memory=[memory() for _ in range(rounds)],
    steps=[
      _timed(batch, experiment, rounds)
      for batch, experiment in experiments
      if not (left_out and experiment.optimizer.adapter)
    ],
  )


def _timed(batch: BatchSizes, experiment: Experiment, rounds: int) -> StepOfBoth:
  ours = OurStep(experiment, batch)
  theirs = TheirStep(ours)
  return StepOfBoth(
    batch=batch,
    adapter=experiment.optimizer.adapter,
    trained=sum(x.size for x in jax.tree.leaves(ours.state["trained"])),
    flops=flops_of(ours.program.experiment),
    compiling=ours.compiling,
    timing=alternate(ours.step, theirs.step, rounds),
  )


def _memory() -> Callable[[], float]:
  """Returns a function that measures the bytes that are read and written in a second."""
  add: Any = jax.jit(lambda x: x + 1, donate_argnums=0)
  x = jax.block_until_ready(jnp.zeros(NUMBERS, np.float32))

  def step() -> None:
    nonlocal x
    x = jax.block_until_ready(add(x))

  return lambda: 2 * NUMBERS * FLOAT / alternate(step, lambda: None, 1).ours[0]


def main(
  *,
  size: str = "minilm",
  batch: str = "",
  dtype: Dtype = "float32",
  rounds: int = 7,
  output: Path | None = None,
) -> None:
  """Times steps of fine-tuning beside PyTorch with transformers, of all parameters and of adapters.

  The step that `luke-jax train` compiles, of labels for texts or, with entities, for spans. Same
  weights, batches, dropout and type of products on both sides, AdamW and clipping of gradients as
  well, taking turns; compilation is not counted. Adapters are peft's LoRA of the same rank, beside
  the same kernels; without peft they are left out. Needs the extra `parity`.

      python -m benchmarks train --size luke-base --batch 4x128+32

  Args:
    size: A named size, such as minilm or luke-base.
    batch: Texts and words of each, and entities of each for LUKE, as 16x64 or 4x128+32; several
      with commas between. By default 16x64,16x128,32x32, and 4x128+32 for LUKE.
    dtype: Type of products.
    rounds: Number of times each side runs.
    output: File for the figures, as JSON.
  """
  if output:
    check_place(output)
  if size not in SIZES:
    raise InputError(f"{size}: unknown size; expected one of {', '.join(SIZES)}")
  config = SIZES[size]
  entities = config.decoders.entities > 0
  some = batches(batch or BATCHES[entities], entities=entities)
  chosen = [
    (one, steps_of(config, one, f"optimizer.adapter={rank}", f"running.dtype={dtype}"))
    for rank in (0, RANK)
    for one in some
  ]
  with stderr_console().status(f"timing {size}"):
    result = run(size, chosen, rounds)
  for package in result.left_out:
    print(f"adapters are left out: {package} is not installed", file=sys.stderr)
  print_figures(
    result,
    {"ratios": {f"{x.batch} {_what(x)}": x.timing.ratio for x in result.steps}},
    [_table(result)],
    f"{result.machine}; {result.versions}",
    output=output,
  )


def steps_of(config: System, batch: BatchSizes, *changes: str) -> Experiment:
  """Returns an experiment with the settings that a training on a few hundred examples has."""
  if batch.words > config.room_for_words:
    raise InputError(f"batch: {batch}; expected at most {config.room_for_words} words")
  task = TextClassification(labels=LABELS, words=batch.words)
  if batch.entities:
    config = config.with_entities(len(SPECIAL_ENTITIES), SPECIAL_ENTITIES.pad_id)
    task = NamedEntities(labels=LABELS, words=batch.words, entities=batch.entities)
  lengths = np.linspace(batch.words / 4, batch.words, EXAMPLES).astype(int)
  changes += (f"data.batch_size={batch.sequences}",)
  # A rate from the first step on, as PyTorch's side has.
  changes += ("schedule.warmup_ratio=0", "schedule.decay=constant")
  given = frozenset(text.partition("=")[0].strip() for text in changes)
  given |= {"task.fit_head", "task.held_out", "task.words"}
  made = changed(with_recipe(config.for_fine_tuning, task, None), changes)
  return consistent(decided(Facts(made, given, lengths))[0])


def _what(step: StepOfBoth) -> str:
  return f"adapters of rank {step.adapter}" if step.adapter else "all parameters"


def _table(result: TrainTimes) -> Table:
  title = f"a step of {result.size}, {result.dtype}: seconds of luke_jax and PyTorch"
  names = ("batch", "trained", "ours", "theirs", "times as fast", "of cores", "of the limit")
  table = Table(*names, title=title)
  for step in result.steps:
    timing, least = step.timing, sum(result.least(step).values())
    seconds = {side: timing.median(side) for side in SIDES}
    table.add_row(
      str(step.batch),
      f"rank {step.adapter}" if step.adapter else "all",
      *(f"{x:.3f}" for x in seconds.values()),
      f"{timing.ratio:.2f} ({min(timing.ratios):.2f}-{max(timing.ratios):.2f})",
      " / ".join(f"{np.median(timing.processor[side]):.2f}" for side in SIDES),
      " / ".join(f"{least / x:.0%}" for x in seconds.values()),
    )
  return table
