"""Experiments: everything that a run depends on, in one frozen value."""

import dataclasses
import math
from fractions import Fraction
from typing import Any

from luke_jax.errors import InputError
from luke_jax.models.system import Backbone, ModelConfig, Running
from luke_jax.pipeline.batches import Data
from luke_jax.training.mesh import MeshShape
from luke_jax.training.optimizer import Optimizer, Schedule
from luke_jax.training.task import Task


@dataclasses.dataclass(frozen=True)
class Run:
  """Length of a run, and the metrics and checkpoints that it writes."""

  steps: int | None = None  # or epochs, one of the two
  epochs: float | None = None  # readings of the records of train
  # Time that all of the run takes, by which steps, decay and scores go; the number of steps or
  # epochs is then what it begins with, before it has measured.
  minutes: float | None = None
  seed: int = 0  # of parameters, order, masks and dropout
  accumulation: int = 1  # micro-batches that make one batch
  log_every: int = 10  # steps between lines of metrics
  evaluate_every: int | None = None  # steps; None: only at the end
  save_every: int = 1000  # steps between checkpoints
  keep: int = 2  # newest checkpoints
  keep_every: int | None = None  # keeps every k-th step for good
  best_metric: str | None = None  # keeps the checkpoint where this is highest
  patience: int | None = None  # scores of dev without a better one, after which the run ends
  # A model directory, or the folder of a run, with the parameters of step 0; the optimizer and the
  # schedule start anew.
  start: str | None = None
  skip_bad_steps: int = 0  # steps without a finite loss that are left out before the run stops

  def __post_init__(self) -> None:
    for name in ("steps", "evaluate_every", "keep_every", "patience"):
      if getattr(self, name) is not None:
        self._check_whole(name, 1)
    for name, least in _LEAST.items():
      self._check_whole(name, least)
    for name in ("epochs", "minutes"):
      value = getattr(self, name)
      number = isinstance(value, int | float) and not isinstance(value, bool)
      if value is not None and not (number and 0 < value < math.inf):
        raise InputError(f"run.{name}: {value!r}; expected a number above 0")
    if self.patience is not None and self.best_metric is None:
      raise InputError(f"run.patience: {self.patience}; expected run.best_metric with it")
    for name, kind in (("best_metric", "the name of a metric"), ("start", "a folder")):
      value = getattr(self, name)
      if value is not None and not (isinstance(value, str) and value):
        raise InputError(f"run.{name}: {value!r}; expected {kind}")
    if self.steps is not None and self.epochs is not None:
      raise InputError(
        f"run.steps: {self.steps}, and run.epochs: {self.epochs}; expected one of them, the other"
        " null"
      )

  def _check_whole(self, name: str, least: int) -> None:
    value = getattr(self, name)
    if type(value) is not int or not least <= value <= _MOST:
      raise InputError(f"run.{name}: {value!r}; expected a whole number from {least} to {_MOST}")


_LEAST = {
  "seed": 0,
  "accumulation": 1,
  "log_every": 1,
  "save_every": 1,
  "keep": 1,
  "skip_bad_steps": 0,
}
_MOST = 2**31 - 1  # steps and seeds are 32-bit


@dataclasses.dataclass(frozen=True)
class Experiment:
  """Everything that a run depends on; `config()` of an experiment file returns it."""

  model: Any  # the sizes of a system, as luke_jax.models.table.SIZES has them
  task: Task  # a frozen dataclass
  running: Running = dataclasses.field(default_factory=Running)
  data: Data = dataclasses.field(default_factory=Data)
  optimizer: Optimizer = dataclasses.field(default_factory=Optimizer)
  schedule: Schedule = dataclasses.field(default_factory=Schedule)
  mesh: MeshShape = dataclasses.field(default_factory=MeshShape)
  run: Run = dataclasses.field(default_factory=Run)

  def __post_init__(self) -> None:
    for name in ("model", "task"):
      value = getattr(self, name)
      settings = getattr(type(value), "__dataclass_params__", None)
      if not (settings and settings.frozen):
        raise InputError(f"{name}: {value!r}; expected a value of a frozen dataclass")
    if not isinstance(self.task, Task):
      expected = f"a {Task.__module__}.{Task.__name__}"
      raise InputError(f"task: {self.task!r}; expected {expected}, such as Pretraining")
    if not isinstance(self.model, ModelConfig):
      raise InputError(f"model: {self.model!r}; expected the sizes of a system, as SIZES has them")
    for name, kind in _GROUPS.items():
      if not isinstance(getattr(self, name), kind):
        raise InputError(f"{name}: {getattr(self, name)!r}; expected a {kind.__name__}")

  @property
  def backbone(self) -> Backbone:
    """Returns the encoder, as it runs on one device."""
    return Backbone(self.model, self.running)


_GROUPS = {
  "running": Running,
  "data": Data,
  "optimizer": Optimizer,
  "schedule": Schedule,
  "mesh": MeshShape,
  "run": Run,
}


def total_steps(run: Run, records: int, batch_size: int) -> int:
  """Returns the number of steps that a run takes over so many records."""
  if batch_size < 1 or batch_size % run.accumulation:
    raise InputError(
      f"data.batch_size: {batch_size}; expected a multiple of run.accumulation, {run.accumulation}"
    )
  if records < 1:
    raise InputError("the records of train: none; expected one at least")
  if run.steps is not None:
    return run.steps
  if run.epochs is None:
    raise InputError("run.steps: null, as run.epochs; expected one of them")
  # As a decimal, since 0.1 epochs of 30 records in binary would be slightly more than 3 records.
  return math.ceil(records * Fraction(str(run.epochs)) / batch_size)
