"""`luke-jax plan`."""

import dataclasses
import functools
from typing import Annotated

import jax
from tyro.conf import Positional, UseAppendAction, arg

from luke_jax.cli.process import stderr_console
from luke_jax.files import Path, check_place, write_json
from luke_jax.plan.chips import GIB, Topology, devices, parse_topology
from luke_jax.plan.compiling import Compiled, OutOfMemory, advice, compile_in_child, largest_fit
from luke_jax.plan.plan import Plan, flops_of, make_plan, report
from luke_jax.runs.recipes import read_experiment
from luke_jax.terminal import Console
from luke_jax.training.experiment import Experiment, total_steps
from luke_jax.training.mesh import make_mesh
from luke_jax.training.metrics import summary_line
from luke_jax.training.program import Program


@dataclasses.dataclass(frozen=True)
class PlannedStep:
  """Training step of an experiment file, with changes, on a slice."""

  file: Path
  assignments: tuple[str, ...]
  topology: Topology

  @functools.cached_property
  def experiment(self) -> Experiment:
    """Returns the experiment with its changes."""
    return read_experiment(self.file, self.assignments)

  @property
  def together(self) -> int:
    """Returns the size of a batch that gives each chip one sequence in every micro-batch."""
    return self.topology.devices * self.experiment.run.accumulation

  @property
  def sequences(self) -> int:
    """Returns the number of sequences that a chip processes at a time."""
    return max(1, self.experiment.data.batch_size // self.together)

  @property
  def steps(self) -> int:
    """Returns the number of the run's steps; counts its records only if it lasts for epochs."""
    experiment = self.experiment
    if experiment.run.steps is not None:
      return experiment.run.steps
    records = experiment.engine.records(experiment.backbone, "train")
    return total_steps(experiment.run, len(records), experiment.data.batch_size)

  def with_sequences(self, number: int) -> "PlannedStep":
    """Returns the step with another number of sequences a chip."""
    batch = f"data.batch_size={number * self.together}"
    return dataclasses.replace(self, assignments=(*self.assignments, batch))

  def compiled(self) -> Compiled | OutOfMemory:
    """Compiles the step with the TPU's compiler."""
    arguments = (self.file, self.assignments, self.topology, self.steps)
    return compile_in_child(self.topology, lowered_step, *arguments)

  def plan(self, compiled: Compiled) -> Plan:
    """Returns the plan from the compiled step."""
    return make_plan(
      compiled,
      self.topology,
      experiment=str(self.file),
      steps=self.steps,
      flops=flops_of(self.experiment),
    )

  def advice(self, fault: OutOfMemory) -> str:
    """Returns the settings to change if the step does not fit."""
    return advice(
      fault,
      self.topology,
      sequences=self.sequences,
      remat=self.experiment.running.remat,
      sharded=self.experiment.mesh.fsdp == "all",
    )


def lowered_step(
  file: Path, assignments: tuple[str, ...], topology: Topology, steps: int
) -> tuple[jax.stages.Lowered, object]:
  """Returns the step traced for a slice, and the shapes it takes, for the compiling process."""
  experiment = read_experiment(file, assignments)
  program = Program(experiment, make_mesh(experiment.mesh, devices(topology)), steps)
  return program.lowered_step, program.step_shapes


def run(
  experiment: Annotated[Path, Positional, arg(metavar="EXPERIMENT")],
  /,
  *,
  topology: str,
  slices: int = 1,
  set: UseAppendAction[tuple[str, ...]] = (),
  json: Path | None = None,
  fit: bool = False,
) -> int:
  """Predicts what an experiment costs on TPUs: memory, time, bytes sent and chip-hours.

  Compiles the real training step with the TPU's own compiler, on this machine and without a chip;
  that takes a minute or two. Needs the extra `tpu`. The last line printed is a summary in JSON. The
  status is 1 if the step does not fit.

      luke-jax plan experiments/pretraining.py:luke-large --topology v5e:16x16

  Args:
    experiment: Experiment file, FILE.py, or a row of one, FILE.py:ROW.
    topology: Kind of chip and shape of the slice, such as v5e:16x16, v6e:4x4 or v5p:2x2x2.
    slices: Number of such slices, joined by the data-centre network; `mesh.replica` has to be a
      multiple of it.
    set: A field by its dotted name and its value, as often as needed.
    json: File for every figure, as JSON.
    fit: Searches for the largest batch per chip that fits, in a few compiles.
  """
  if json is not None:
    check_place(json)
  step = PlannedStep(experiment, set, parse_topology(topology, slices))
  step, compiled = largest(step) if fit else (step, _compiled(step))
  if isinstance(compiled, OutOfMemory):
    print(step.advice(compiled))
    return 1
  plan = step.plan(compiled)
  Console().print(report(plan))
  if json is not None:
    write_json(json, plan.to_json())
  print(summary_line(_summary(plan)))
  return 0


def _summary(plan: Plan) -> dict[str, float]:
  return {
    "chips": plan.topology.devices,
    "gib_per_chip": plan.memory.total / GIB,
    "step_seconds": plan.step_seconds,
    "steps": plan.steps,
    "hours": plan.hours,
  }


def largest(step: PlannedStep) -> tuple[PlannedStep, Compiled | OutOfMemory]:
  """Returns the compiled step with the largest batch that fits; prints every attempt."""

  def attempt(number: int) -> Compiled | OutOfMemory:
    result = _compiled(step.with_sequences(number))
    fits = isinstance(result, Compiled)
    needed = result.memory.total if isinstance(result, Compiled) else result.needed
    verdict = "fit" if fits else "do not fit"
    print(f"{number} sequences a chip {verdict}: {needed / GIB:.2f} GiB", flush=True)
    return result

  number, compiled = largest_fit(attempt, step.sequences)
  largest_step = step.with_sequences(number)
  if isinstance(compiled, Compiled):
    print(
      f"the largest: {number} a chip, data.batch_size={largest_step.experiment.data.batch_size}\n"
    )
  return largest_step, compiled


def _compiled(step: PlannedStep) -> Compiled | OutOfMemory:
  """Compiles a step, and says so meanwhile."""
  with stderr_console().status(f"compiling for {step.topology}"):
    return step.compiled()
