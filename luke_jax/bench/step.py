"""Benchmark of an experiment's training step: its time, share of the speed, and memory."""

import dataclasses
import statistics
import time
from collections.abc import Callable
from typing import Any

import jax

from luke_jax.bench.sides import devices, product_flops, square_product
from luke_jax.errors import InputError
from luke_jax.nn.layers import Dtype
from luke_jax.plan.flops import flops_of, token_counts
from luke_jax.training.experiment import Experiment
from luke_jax.training.mesh import make_mesh
from luke_jax.training.program import Program


@dataclasses.dataclass(frozen=True)
class StepTimes:
  """Measurements of one run. Those in seconds are by round."""

  machine: str
  versions: dict[str, str]
  dtype: Dtype
  devices: int
  sequences: int  # of a step
  tokens: int  # words and entities of a step, padding included
  flops: float  # of a step, counting matrix products only
  compiling: float  # seconds
  step: list[float]  # seconds of one
  product: list[float]  # of square matrix products on one device
  product_flops: float  # of these
  peak_bytes: int | None  # most memory of one device in use until now, where it is known

  @property
  def flops_per_second(self) -> float:
    """Returns the FLOPs per second of one device in a step."""
    return self.flops / self.devices / statistics.median(self.step)

  @property
  def of_product(self) -> float:
    """Returns these as a share of the square product's."""
    return self.flops_per_second * statistics.median(self.product) / self.product_flops


def run(experiment: Experiment, steps: int, rounds: int) -> StepTimes:
  """Times steps on one batch that is in place, from fresh parameters, in turn with a product."""
  for name, number in (("steps", steps), ("rounds", rounds)):
    if number < 1:
      raise InputError(f"{name}: {number}; expected 1 or more")
  mesh = make_mesh(experiment.mesh)
  measured = Program(experiment, mesh, experiment.run.steps or steps)
  batches = measured.training_batches(experiment.engine.records(measured.backbone, "train"))
  program = measured.padded_to(batches.room(0))
  start = time.perf_counter()
  step: object = program.step
  compiling = time.perf_counter() - start
  batch, state = program.placed(batches(0)), program.fresh_state()
  product, dtype = square_product(experiment.running.dtype), experiment.running.dtype
  times, products = [], []
  for _ in range(rounds):
    state, seconds = _steps(step, state, batch, steps)
    times.append(seconds)
    products.append(_seconds(product))
  counts = token_counts(program.batch_shapes, experiment.data.batch_size)
  return StepTimes(
    machine=devices(),
    versions={"jax": jax.__version__},
    dtype=dtype,
    devices=mesh.size,
    sequences=counts.sequences,
    tokens=counts.sequences * (counts.words + counts.entities),
    flops=flops_of(program.experiment),
    compiling=compiling,
    step=times,
    product=products,
    product_flops=product_flops(),
    peak_bytes=(jax.local_devices()[0].memory_stats() or {}).get("peak_bytes_in_use"),
  )


def _steps(step: Any, state: Any, batch: Any, steps: int) -> tuple[Any, float]:
  """Returns the state after an untimed step and some timed ones, and the seconds of one."""
  state, _ = jax.block_until_ready(step(state, batch))
  start = time.perf_counter()
  for _ in range(steps):
    state, _ = step(state, batch)
  jax.block_until_ready(state)
  return state, (time.perf_counter() - start) / steps


def _seconds(product: Callable[[], object]) -> float:
  product()
  start = time.perf_counter()
  product()
  return time.perf_counter() - start
