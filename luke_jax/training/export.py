"""Reading the experiment, the parameters and the state of a finished or running run."""

import contextlib
from collections.abc import Mapping

import jax
import jax.numpy as jnp

from luke_jax.errors import InputError, at
from luke_jax.files import Path
from luke_jax.training import directory
from luke_jax.training.checkpoints import Checkpoints
from luke_jax.training.experiment import Experiment, from_dict, total_steps
from luke_jax.training.mesh import MeshShape, make_mesh, without_padding
from luke_jax.training.optimizer import Length, learning_rate, merge
from luke_jax.training.program import Program
from luke_jax.training.task import Params, State


def is_run(folder: Path) -> bool:
  """Returns whether a folder is that of a run."""
  return (folder / directory.CHECKPOINTS).is_dir() and (folder / directory.CONFIG).is_file()


def read_experiment(folder: Path, own: Experiment | None = None) -> Experiment:
  """Returns the experiment of a run's folder.

  `own` is one that the user's code made, where the task or the system is not of this package.
  """
  if not is_run(folder):
    raise InputError(
      f"{folder}: not the folder of a run; expected what luke-jax train made, with config.json and"
      " checkpoints"
    )
  config = folder / directory.CONFIG
  with at(config):
    return from_dict(directory.read_json(config), own)


def _host() -> jax.Device:
  """Returns the CPU, or the first device if JAX_PLATFORMS names other platforms only."""
  try:
    return jax.local_devices(backend="cpu")[0]
  except RuntimeError:
    return jax.local_devices()[0]


def read_run(folder: Path, own: Experiment | None = None) -> tuple[Experiment, int, Params]:
  """Returns a run's experiment, and the step and the parameters of a checkpoint, without padding.

  The checkpoint is the best one if the experiment names a metric, otherwise the newest. The
  parameters are on the host.
  """
  experiment = read_experiment(folder, own)
  checkpoints = Checkpoints(folder / directory.CHECKPOINTS, experiment.run, reading=True)
  with contextlib.closing(checkpoints):
    if not checkpoints.steps:
      raise InputError(f"{folder}: has no checkpoint yet")
    step = checkpoints.best or checkpoints.steps[-1]
    mesh = make_mesh(MeshShape(), [_host()])
    parts = checkpoints.read_params(step, Program(experiment, mesh, steps=1).state_shapes)
  params = jax.device_get(merge(parts["trained"], parts["frozen"]))
  backbone = experiment.backbone
  tables = backbone.config.layout.entities
  return experiment, step, without_padding(params, tables, backbone.entities)


def read_branch(program: Program, records: int, data: Mapping[str, str]) -> tuple[int, State]:
  """Returns the step and the state of the checkpoint that a run branches from, if both agree."""
  experiment, steps = program.experiment, program.steps
  checkpoint = Path(experiment.run.branch or "")
  folder, step = checkpoint.parent.parent, checkpoint.name
  if not (step.isdecimal() and int(step) < steps) or experiment.run.minutes:
    expected = f"FOLDER/checkpoints/STEP of a run, a step below {steps}, and run.minutes null"
    raise InputError(f"run.branch: {str(checkpoint)!r}; expected {expected}")
  source, updates = read_experiment(folder, experiment), jnp.arange(int(step))
  directory.check_data(folder, data)
  if lines := directory.others(folder, experiment, directory.BRANCHED):
    raise InputError(f"run.branch: {folder} is another run ({lines}); expected the same settings")
  before = total_steps(source.run, records, source.data.batch_size)
  there, here = (
    learning_rate(x.optimizer, x.schedule, updates, Length.of(x.schedule, length))
    for x, length in ((source, before), (experiment, steps))
  )
  for update in jnp.flatnonzero(there != here):
    raise InputError(
      f"run.branch: update {update} had the rate {there[update]:.3g}, and has {here[update]:.3g};"
      " expected schedule.decay=wsd, warmup_steps as there, and a checkpoint before the rate falls"
    )
  checkpoints = Checkpoints(folder / directory.CHECKPOINTS, source.run, reading=True)
  with contextlib.closing(checkpoints):
    return int(step), checkpoints.read_state(int(step), program.state_shapes)
