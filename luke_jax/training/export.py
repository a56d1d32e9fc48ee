"""Reading the experiment and the parameters of a finished or running run."""

import jax

from luke_jax.errors import InputError, at
from luke_jax.files import Path
from luke_jax.training import directory
from luke_jax.training.checkpoints import Checkpoints
from luke_jax.training.experiment import Experiment, from_dict
from luke_jax.training.mesh import MeshShape, make_mesh, without_padding
from luke_jax.training.optimizer import merge
from luke_jax.training.program import Program
from luke_jax.training.task import Params


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
  try:
    if not checkpoints.steps:
      raise InputError(f"{folder}: has no checkpoint yet")
    step = checkpoints.best or checkpoints.steps[-1]
    mesh = make_mesh(MeshShape(), [_host()])
    parts = checkpoints.read_params(step, Program(experiment, mesh, steps=1).state_shapes)
  finally:
    checkpoints.close()
  params = jax.device_get(merge(parts["trained"], parts["frozen"]))
  backbone = experiment.backbone
  tables = backbone.config.layout.entities
  return experiment, step, without_padding(params, tables, backbone.entities)
