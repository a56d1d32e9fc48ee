"""Experiments as JSON values: what config.json of a run holds, and its printed form."""

import dataclasses
import importlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from luke_jax import typed_values
from luke_jax.errors import InputError
from luke_jax.models.table import system_named
from luke_jax.training.experiment import Experiment
from luke_jax.training.task import Task
from luke_jax.typed_values import dotted, field_kinds, is_group

_ABSENT = object()
_MOVED = {  # modules of tasks that runs and models name, where they were when those were saved
  "luke_jax.tasks.aligned_pretraining": "luke_jax.systems.ernie_thu.pretraining",
  "luke_jax.tasks.unit_pretraining": "luke_jax.systems.ernie_baidu.pretraining",
}


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
  there, here = dict(_leaves(saved, "")), dict(_leaves(current, ""))
  return [
    f"{name}: {_shown(there, name)} there, {_shown(here, name)} here"
    for name in here | there
    if there.get(name, _ABSENT) != here.get(name, _ABSENT)
  ]


def describe(experiment: Experiment) -> str:
  """Returns a line for each field, by dotted name, with the default if the value differs."""
  values, defaults = dict(_leaves(to_dict(experiment), "")), dict(_defaults(experiment, ""))
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
      and issubclass(task_class, Task)
      and _class_name(task_class) == name
    ):
      return task_class
  also = f" or {_class_name(of_user)}" if of_user else ""
  raise InputError(f"task.class: {name!r}; expected a task of luke_jax{also}")


def _leaves(values: Mapping[str, object], place: str) -> Iterator[tuple[str, Any]]:
  for name, value in values.items():
    if isinstance(value, Mapping):
      yield from _leaves(value, dotted(place, name))
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
