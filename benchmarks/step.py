"""Benchmark of an experiment's training step: its time, share of the speed, and memory."""

import dataclasses
import statistics
import time
from collections.abc import Callable
from typing import Annotated, Any

import jax
from rich.table import Table
from tyro.conf import Positional, UseAppendAction, arg

from benchmarks.figures import print_figures
from benchmarks.sides import devices, product_flops, square_product
from luke_jax.cli.process import stderr_console
from luke_jax.errors import InputError
from luke_jax.files import Path, check_place
from luke_jax.nn.layers import Dtype
from luke_jax.plan.plan import flops_of, token_counts
from luke_jax.runs.recipes import read_experiment
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


def main(
  experiment: Annotated[Path, Positional, arg(metavar="EXPERIMENT")],
  /,
  *,
  set: UseAppendAction[tuple[str, ...]] = (),
  steps: int = 10,
  rounds: int = 3,
  output: Path | None = None,
) -> None:
  """Times an experiment's training step alone, on the devices of this machine.

  The step that `luke-jax train` compiles runs on the experiment's first batch, from fresh
  parameters: nothing is read from `run.start`, and nothing is saved. Its share of the speed of a
  square matrix product and, on GPUs and TPUs, its memory are shown.

      python -m benchmarks step experiments/synthetic.py:luke-large --set data.batch_size=16

  Args:
    experiment: Python file with a function `config()` that returns an Experiment.
    set: A field by its dotted name and its value, as often as needed.
    steps: Number of steps in a round.
    rounds: Number of rounds.
    output: File for the figures, as JSON.
  """
  if output:
    check_place(output)
  chosen = read_experiment(experiment, set)
  with stderr_console().status(f"timing {experiment}"):
    result = run(chosen, steps, rounds)
  summary = {
    "step_ms": 1e3 * statistics.median(result.step),
    "tokens_per_second": result.tokens / statistics.median(result.step),
    "flops_per_second": result.flops_per_second,
    "of_product": result.of_product,
    "peak_gib": result.peak_bytes and result.peak_bytes / 2**30,
  }
  print_figures(
    result,
    summary,
    [_table(result, str(experiment))],
    f"{result.machine}; {result.versions}",
    output=output,
  )


def _table(result: StepTimes, name: str) -> Table:
  seconds = statistics.median(result.step)
  table = Table("one step", "", title=f"{name}, {result.dtype}, {result.devices} x")
  table.add_row("time", f"{1e3 * seconds:,.1f} ms")
  table.add_row("sequences a second", f"{result.sequences / seconds:,.1f}")
  table.add_row("words and entities a second", f"{result.tokens / seconds:,.0f}")
  table.add_row("TFLOP/s of a device", f"{result.flops_per_second / 1e12:,.2f}")
  table.add_row("of a square product's speed", f"{result.of_product:.0%}")
  table.add_row("compiling", f"{result.compiling:.1f} s")
  if result.peak_bytes:
    table.add_row("memory at most", f"{result.peak_bytes / 2**30:.1f} GiB")
  return table
