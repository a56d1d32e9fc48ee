"""Training steps of experiment files, planned for TPUs that are not there."""

import dataclasses
import functools

import jax

from luke_jax.files import Path
from luke_jax.plan.chips import Topology, devices
from luke_jax.plan.compiling import Compiled, OutOfMemory, advice, compile_in_child
from luke_jax.plan.plan import Plan, flops_of, make_plan
from luke_jax.runs.recipes import read_experiment
from luke_jax.training.experiment import Experiment, total_steps
from luke_jax.training.mesh import make_mesh
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
