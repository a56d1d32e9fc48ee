"""Benchmark of the training loop: the time it adds to its compiled steps."""

import contextlib
import dataclasses
import io
import itertools
import statistics
import sys
import tempfile
import time
from collections.abc import Callable

import jax
from rich.table import Table

from benchmarks.figures import print_figures
from luke_jax.errors import InputError
from luke_jax.files import Path, check_place, cores_and_processor
from luke_jax.pipeline.batches import Data
from luke_jax.systems.luke import SIZES
from luke_jax.tasks.synthetic import SyntheticPretraining
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.loop import train
from luke_jax.training.mesh import make_mesh
from luke_jax.training.program import Program


@dataclasses.dataclass(frozen=True)
class EngineTimes:
  """Milliseconds per step, by round."""

  machine: str
  device: str
  versions: dict[str, str]
  steps: int  # in a round
  loop: list[float]  # everything between a run's first step and its last
  waiting: list[float]  # the part of it that waits for a batch and places it on devices
  bare: list[float]  # the compiled step alone, on a batch that is already placed

  @property
  def overhead(self) -> float:
    """Returns the median over rounds of the time that the loop adds to a bare step."""
    return statistics.median(loop - bare for loop, bare in zip(self.loop, self.bare, strict=True))


def experiment(steps: int) -> Experiment:
  """Returns a run of a tiny LUKE on short pages, whose steps are short beside the overhead."""
  tiny = dataclasses.replace(
    SIZES["tiny"], vocab_size=100, entity_vocab_size=50, hidden_size=32, intermediate_size=64
  )
  return Experiment(
    model=tiny,
    task=SyntheticPretraining(pages=2**14, words=32, entities=8, mention=4),
    data=Data(batch_size=16, evaluation_batch_size=256),
    run=Run(steps=steps, log_every=10, save_every=steps),
  )


def run(steps: int, rounds: int) -> EngineTimes:
  """Times whole runs and as many bare steps in turn, in temporary folders."""
  for name, number in (("steps", steps), ("rounds", rounds)):
    if number < 1:
      raise InputError(f"{name}: {number}; expected 1 or more")
  chosen = experiment(steps)
  bare_steps = _bare_steps(chosen)
  runs, bare = [], [bare_steps()]
  for _ in range(rounds):
    runs.append(_seconds_of_a_run(chosen))
    bare.append(bare_steps())
  # A run is compared with the mean of the bare steps before and after it, since the load of other
  # processes changes over time.
  around = [(before + after) / 2 for before, after in itertools.pairwise(bare)]
  return EngineTimes(
    machine=cores_and_processor(),
    device=jax.devices()[0].device_kind,
    versions={"jax": jax.__version__},
    steps=steps,
    loop=[1e3 * (seconds["data"] + seconds["step"]) / steps for seconds in runs],
    waiting=[1e3 * seconds["data"] / steps for seconds in runs],
    bare=[1e3 * seconds / steps for seconds in around],
  )


def _seconds_of_a_run(chosen: Experiment) -> dict[str, float]:
  """Returns a run's seconds by kind, as its own ledger counts them; hides its progress."""
  with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
    return train(chosen, Path(folder) / "run")["seconds"]


def _bare_steps(chosen: Experiment) -> Callable[[], float]:
  """Returns a function that takes a run's steps on one batch and returns their seconds."""
  steps = chosen.run.steps or 0
  program = Program(chosen, make_mesh(chosen.mesh), steps)
  records = chosen.engine.records(chosen.backbone, "train")
  batch = program.placed(program.training_batches(records)(0))
  step = program.step

  def seconds() -> float:
    state = program.fresh_state()
    jax.block_until_ready(state)
    start = time.perf_counter()
    for _ in range(steps):
      state, _ = step(state, batch)
    jax.block_until_ready(state)
    return time.perf_counter() - start

  return seconds


def main(*, steps: int = 1000, rounds: int = 3, output: Path | None = None) -> None:
  """Times what a training run spends between its steps.

  Trains a tiny model as `luke-jax train` does and takes the same compiled step bare, in turn. The
  difference is the cost of batches, their placing, dispatch, logging and the progress line.

      python -m benchmarks engine --steps 1000

  Args:
    steps: Number of steps in a round.
    rounds: Number of times each side runs.
    output: File for the figures, as JSON.
  """
  if output:
    check_place(output)
  print(f"timing {rounds} x {steps} steps in the loop and bare", file=sys.stderr)
  result = run(steps, rounds)
  summary = {"overhead_ms": result.overhead}
  print_figures(
    result,
    summary,
    [_table(result)],
    f"{result.machine}; {result.device}; {result.versions}",
    output=output,
  )


def _table(result: EngineTimes) -> Table:
  table = Table("", "median", "least", "most", title=f"ms a step, {result.steps} steps a round")
  for name, times in (
    ("in the loop", result.loop),
    ("of that, waiting for data", result.waiting),
    ("bare", result.bare),
  ):
    table.add_row(name, *(f"{f(times):.2f}" for f in (statistics.median, min, max)))
  table.add_row("between the steps", f"{result.overhead:.2f}", "", "")
  return table
