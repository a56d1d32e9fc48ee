"""Experiments: all that a run depends on, in one frozen value, and as JSON."""

import dataclasses
import importlib
import importlib.machinery
import importlib.metadata
import json
import math
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from luke_jax import typed_values
from luke_jax.errors import InputError
from luke_jax.models.system import Backbone, ModelConfig, Running
from luke_jax.models.table import system_named
from luke_jax.pipeline.batches import Data
from luke_jax.training.mesh import MeshShape
from luke_jax.training.optimizer import Optimizer, Schedule
from luke_jax.training.task import Settings, Task
from luke_jax.typed_values import dotted, field_kinds, is_group

_ABSENT = object()
_MOVED = {  # modules of tasks that runs and models name, where they were when those were saved
  "luke_jax.tasks.links.task": "luke_jax.systems.transe.task",
  "luke_jax.tasks.aligned_pretraining": "luke_jax.systems.ernie_thu.pretraining",
  "luke_jax.tasks.unit_pretraining": "luke_jax.systems.ernie_baidu.pretraining",
}


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
  tolerance: float = 0.0  # of that metric: among scores that differ by less the last one is best
  patience: int | None = None  # scores of dev without a better one, after which the run ends
  # A model directory, or the folder of a run, with the parameters of step 0; the optimizer and the
  # schedule start anew.
  start: str | None = None
  # A checkpoint, runs/first/checkpoints/1000, from whose whole state the run goes on.
  branch: str | None = None
  skip_bad_steps: int = 0  # steps without a finite loss that are left out before the run stops

  def __post_init__(self) -> None:
    for name in ("steps", "evaluate_every", "keep_every", "patience"):
      if getattr(self, name) is not None:
        self._check_whole(name, 1)
    for name, least in _SMALLEST.items():
      self._check_whole(name, least)
    for name in ("epochs", "minutes"):
      value = getattr(self, name)
      number = isinstance(value, int | float) and not isinstance(value, bool)
      if value is not None and not (number and 0 < value < math.inf):
        raise InputError(f"run.{name}: {value!r}; expected a number above 0")
    if not (isinstance(self.tolerance, int | float) and 0 <= self.tolerance < math.inf):
      raise InputError(f"run.tolerance: {self.tolerance!r}; expected a number from 0")
    if self.patience is not None and self.best_metric is None:
      raise InputError(f"run.patience: {self.patience}; expected run.best_metric with it")
    texts = {"best_metric": "the name of a metric", "start": "a folder", "branch": "a folder"}
    for name, kind in texts.items():
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
    if type(value) is not int or not least <= value <= _LARGEST:
      raise InputError(f"run.{name}: {value!r}; expected a whole number from {least} to {_LARGEST}")


_SMALLEST = {"seed": 0, "accumulation": 1, "log_every": 1, "save_every": 1, "keep": 1}
_SMALLEST |= {"skip_bad_steps": 0}
_LARGEST = 2**31 - 1  # steps and seeds are 32-bit


@dataclasses.dataclass(frozen=True)
class Experiment:
  """Everything that a run depends on; `config()` of an experiment file returns it."""

  model: Any  # the sizes of a system, as luke_jax.models.table.SIZES has them
  task: Settings  # a frozen dataclass
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
    if not isinstance(self.task, Settings):
      expected = f"a {Settings.__module__}.{Settings.__name__}"
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

  @property
  def engine(self) -> Task:
    """Returns the functions of the task."""
    return self.task.engine()


_GROUPS = {"running": Running, "data": Data, "optimizer": Optimizer, "schedule": Schedule}
_GROUPS |= {"mesh": MeshShape, "run": Run}


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


def to_dict(experiment: Experiment) -> dict[str, Any]:
  """Returns the experiment as JSON values.

  The task names its class, {"class": "module:Name", ...}, and the model its system,
  {"family": "luke", ...}.
  """
  values = typed_values.to_json(experiment, "")
  values["task"] = {"class": _class_name(type(experiment.task)), **values["task"]}
  values["model"] = {"family": experiment.model.name, **values["model"]}
  return values


def to_json(experiment: Experiment) -> str:
  """Returns the text of a config.json."""
  return json.dumps(to_dict(experiment), ensure_ascii=False, indent=2) + "\n"


def from_dict(data: Mapping[str, object], own: Experiment | None = None) -> Experiment:
  """Returns the experiment of a saved config.

  The task's class and the model's system are those of this package, or of `own`, an experiment
  that the user's code made: reading a config runs no other code.
  """
  task_class, task = _named_group(data, "task", "class", "the task's class as module:Name")
  system, model = _named_group(data, "model", "family", "the model's system, such as luke")
  kinds = field_kinds(Experiment) | {
    "task": _task_class(task_class, type(own.task) if own else None),
    "model": _config_class(system, own),
  }
  values = {**data, "task": task, "model": model}
  return typed_values.group_from_json(values, Experiment, "", kinds=kinds)


def differences(saved: Mapping[str, object], current: Mapping[str, object]) -> list[str]:
  """Returns the differences of two results of `to_dict`: "run.seed: 0 there, 1 here"."""
  there, here = dict(leaves(saved, "")), dict(leaves(current, ""))
  return [
    f"{name}: {_shown(there, name)} there, {_shown(here, name)} here"
    for name in here | there
    if there.get(name, _ABSENT) != here.get(name, _ABSENT)
  ]


def describe(experiment: Experiment) -> str:
  """Returns a line for each field, by dotted name, with the default if the value differs."""
  values, defaults = dict(leaves(to_dict(experiment), "")), dict(_defaults(experiment, ""))
  names = max(map(len, values))
  lines = []
  for name, value in values.items():
    line = f"{name:{names}}  {_shown(values, name)}"
    if defaults.get(name, value) != value:
      line += f"  (default {_shown(defaults, name)})"
    lines.append(line)
  return "\n".join(lines)


def _named_group(
  data: Mapping[str, object], group: str, name: str, expected: str
) -> tuple[str, dict[str, object]]:
  """Returns the class or system that a group of a saved config names, and its fields."""
  saved = data.get(group) if isinstance(data, Mapping) else None
  if not isinstance(saved, Mapping) or not isinstance(saved.get(name), str):
    raise InputError(f"{group}.{name}: missing; expected {expected}")
  return saved[name], {key: value for key, value in saved.items() if key != name}


def _config_class(system: str, own: Experiment | None) -> type:
  if own is not None and system == own.model.name:
    return type(own.model)
  return system_named(system)


def _class_name(task_class: type) -> str:
  return f"{task_class.__module__}:{task_class.__qualname__}"


def _task_class(name: str, of_user: type | None) -> type:
  module, _, class_name = name.partition(":")
  module = _MOVED.get(module, module)
  name = f"{module}:{class_name}"
  if of_user and name == _class_name(of_user):
    return of_user
  # The name of a module starts with a letter, so that __main__ and the like are not run.
  if re.fullmatch(r"luke_jax(\.[a-z]\w*)+", module, re.ASCII):
    try:
      task_class = getattr(importlib.import_module(module), class_name, None)
    except ImportError:
      task_class = None
    if (
      isinstance(task_class, type)
      and issubclass(task_class, Settings)
      and _class_name(task_class) == name
    ):
      return task_class
  for point in importlib.metadata.entry_points(group="luke_jax.tasks"):
    if name == point.value:
      return point.load()
  also = f" or {_class_name(of_user)}" if of_user else ""
  raise InputError(f"task.class: {name!r}; expected a task of luke_jax{also}")


def leaves(values: Mapping[str, Any], place: str) -> Iterator[tuple[str, Any]]:
  """Yields the values that are no objects, by their dotted names."""
  for name, value in values.items():
    if isinstance(value, Mapping):
      yield from leaves(value, dotted(place, name))
    else:
      yield dotted(place, name), value


def _shown(values: Mapping[str, object], name: str) -> str:
  return json.dumps(values[name], ensure_ascii=False) if name in values else "missing"


def _defaults(group: Any, place: str) -> Iterator[tuple[str, Any]]:
  """Yields the default of each field that has one and is no group, by dotted name, as JSON."""
  for field in dataclasses.fields(group):
    name, value, default = dotted(place, field.name), getattr(group, field.name), field.default
    if is_group(value):
      yield from _defaults(value, name)
      continue
    if field.default_factory is not dataclasses.MISSING:
      default = field.default_factory()
    if default is not dataclasses.MISSING:
      yield name, typed_values.to_json(default, name)
