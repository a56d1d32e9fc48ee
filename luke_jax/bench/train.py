"""Benchmark of steps of fine-tuning beside PyTorch with transformers, and peft for adapters."""

import dataclasses
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from luke_jax.bench.encoder import BatchSizes
from luke_jax.bench.sides import (
  devices,
  product_flops,
  same_precision,
  share_gpu,
  square_product,
  torch_square_product,
)
from luke_jax.bench.step import flops_of
from luke_jax.bench.timing import Timing, alternate, imported
from luke_jax.bench.train_sides import Ours, Theirs
from luke_jax.errors import InputError
from luke_jax.training.experiment import Experiment

NUMBERS = 2**26  # of an array that is read and written, beyond all caches
# Of a parameter that trains: its gradient is written and read, itself and two moments both.
TRAFFIC, FLOAT = 8, 4
SIDES = ("ours", "theirs")


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
  ours = Ours(experiment, batch)
  theirs = Theirs(ours)
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
