"""Experiments from files, saved configs and the command line, and their printed form."""

import dataclasses
import difflib
import importlib.machinery
import json
import re
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from luke_jax.errors import InputError
from luke_jax.models.families import SIZES, family_named
from luke_jax.training import typed_values
from luke_jax.training.experiment import Experiment
from luke_jax.training.field_notes import field_notes
from luke_jax.training.typed_values import dotted, field_kinds, is_group, placed

_SIMILAR = 0.45  # likeness from which a name is suggested
_ABSENT = object()


def load_experiment(path: Path) -> Experiment:
  """Returns the result of `config()` of an experiment file, its fields checked by type."""
  return experiment_and_notes(path, "")[0]


def experiment_and_notes(path: Path, name: str) -> tuple[Experiment, dict[str, Any]]:
  """Returns the result of `config()` of an experiment file, and a constant of the file, if any."""
  if path.is_file() and path.suffix != ".py":
    raise InputError(f"{path}: not a .py file; expected an experiment file")
  try:
    source = path.read_bytes()
  except OSError as fault:
    raise InputError(f"{path}: {fault.strerror}; expected an experiment file") from None
  line = ""
  try:
    module = _module(path, source)
    config = getattr(module, "config", None)
    if not callable(config):
      raise InputError("no function config; expected `def config()` that returns an Experiment")
    line = _line_of(config)
    experiment = config()
    if not isinstance(experiment, Experiment):
      kind = type(experiment).__name__
      raise InputError(f"config() returned a {kind}; expected an Experiment")
    checked = from_dict(to_dict(experiment), experiment)
    return checked, dict(getattr(module, name, {})) if name else {}
  except Exception as fault:
    raise InputError(f"{path}: {_line(fault, path) or line}{_message(fault)}") from None


def override(experiment: Experiment, assignments: Sequence[str]) -> Experiment:
  """Returns the experiment with changes such as "optimizer.learning_rate=2e-5"; the last one wins.

  `model=luke-large` sets all sizes to those that have a name, of any system.
  """
  changes: dict[tuple[str, ...], Any] = {}
  fields = {name: (value, kind) for name, value, kind in _fields(experiment, "")}
  for assignment in assignments:
    name, equals, text = (part.strip() for part in assignment.partition("="))
    if not equals:
      raise InputError(f"{assignment}: no '='; expected FIELD=VALUE, such as run.seed=1")
    if name == "model":
      experiment = dataclasses.replace(experiment, model=_size(text))
      changes = {path: value for path, value in changes.items() if path[0] != "model"}
      fields = {name: (value, kind) for name, value, kind in _fields(experiment, "")}
      continue
    if name not in fields:
      raise InputError(f"{name}: no such field; expected {_nearest(name, fields)}")
    for path, value in _assigned(name, text, *fields[name]).items():
      changes = {other: x for other, x in changes.items() if not _overlap(path, other)}
      changes[path] = value
  return _replaced(experiment, changes, "")


class Setting(NamedTuple):
  """A field of an experiment as text for a user."""

  name: str
  type: str
  value: str
  meaning: str


def settings(experiment: Experiment) -> Iterator[Setting]:
  """Yields every field that can be overridden, with its value in the experiment."""
  meanings = dict(_meanings(experiment, ""))
  size = "a named size such as luke-base, or its fields below"
  yield Setting("model", "a name", "", size)
  for name, value, kind in _fields(experiment, ""):
    if not is_group(value):
      shown = json.dumps(typed_values.to_json(value, name), ensure_ascii=False)
      yield Setting(name, typed_values.expected(kind), shown, meanings.get(name, ""))


def _meanings(group: Any, place: str) -> Iterator[tuple[str, str]]:
  for name, note in field_notes(type(group)).items():
    yield dotted(place, name), note
  for name in field_kinds(type(group)):
    if is_group(getattr(group, name)):
      yield from _meanings(getattr(group, name), dotted(place, name))


def assignment(experiment: Experiment, name: str, value: Any) -> str:
  """Returns the assignment of a value to a field, by its dotted name or by its own alone."""
  fields = {field: value for field, value, _ in _fields(experiment, "") if not is_group(value)}
  matches = [name] if name in fields else [x for x in fields if x.rpartition(".")[2] == name]
  if len(matches) != 1:
    described = {field: (value, None) for field, value in fields.items()}
    if matches:
      raise InputError(f"{name}: several fields; expected one of {', '.join(matches)}")
    raise InputError(f"{name}: no such field; expected {_nearest(name, described)}")
  return f"{matches[0]}={_text(value)}"


def _text(value: Any) -> str:
  """Returns a value as it is written on the command line."""
  if value is None or isinstance(value, bool | list | tuple):
    return json.dumps(value)
  return str(value)


def to_dict(experiment: Experiment) -> dict[str, Any]:
  """Returns the experiment as JSON values.

  The task names its class, {"class": "module:Name", ...}, and the model its system,
  {"family": "luke", ...}.
  """
  values = typed_values.to_json(experiment, "")
  values["task"] = {"class": _class_name(type(experiment.task)), **values["task"]}
  values["model"] = {"family": experiment.model.family.name, **values["model"]}
  return values


def to_json(experiment: Experiment) -> str:
  """Returns the text of a config.json."""
  return json.dumps(to_dict(experiment), ensure_ascii=False, indent=2) + "\n"


def from_dict(data: Mapping[str, Any], own: Experiment | None = None) -> Experiment:
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


def _named_group(
  data: Mapping[str, Any], group: str, name: str, expected: str
) -> tuple[str, dict[str, Any]]:
  """Returns the class or system that a group of a saved config names, and its fields."""
  saved = data.get(group) if isinstance(data, Mapping) else None
  if not isinstance(saved, Mapping) or not isinstance(saved.get(name), str):
    raise InputError(f"{group}.{name}: missing; expected {expected}")
  return saved[name], {key: value for key, value in saved.items() if key != name}


def _config_class(system: str, own: Experiment | None) -> type:
  if own is not None and system == own.model.family.name:
    return type(own.model)
  return family_named(system).config


def differences(saved: Mapping[str, Any], current: Mapping[str, Any]) -> list[str]:
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


def _module(path: Path, source: bytes) -> ModuleType:
  """Returns the module of a file, compiled anew and without a compiled file beside the user's."""
  name = "_experiment_" + re.sub(r"\W", "_", path.stem)
  module = ModuleType(name)
  module.__file__ = str(path)
  loader = importlib.machinery.SourceFileLoader(name, str(path))
  sys.modules[name] = module  # dataclasses look up the names in their annotations here
  exec(loader.source_to_code(source, str(path)), module.__dict__)
  return module


def _line_of(function: Any) -> str:
  code = getattr(function, "__code__", None)
  return f"line {code.co_firstlineno}: " if code else ""


def _line(fault: Exception, path: Path) -> str:
  """Returns the line of the file where a fault happened, or nothing if it was elsewhere."""
  if isinstance(fault, SyntaxError) and fault.filename == str(path):
    return f"line {fault.lineno}: "
  frames = traceback.extract_tb(fault.__traceback__)
  lines = [frame.lineno for frame in frames if frame.filename == str(path)]
  return f"line {lines[-1]}: " if lines else ""


def _message(fault: Exception) -> str:
  message = fault.msg if isinstance(fault, SyntaxError) else str(fault)
  text = message if isinstance(fault, InputError) else f"{type(fault).__name__}: {message}"
  return " ".join(text.split())


def _fields(group: Any, place: str) -> Iterator[tuple[str, Any, Any]]:
  """Yields every field's dotted name, value and declared type; groups before their fields."""
  for name, kind in field_kinds(type(group)).items():
    value = getattr(group, name)
    yield dotted(place, name), value, kind
    if is_group(value):
      yield from _fields(value, dotted(place, name))


def _nearest(name: str, fields: Mapping[str, tuple[Any, Any]]) -> str:
  """Returns the field that seems meant, by its own name and, if given, the group's."""

  def likeness(field: str) -> float:
    given, own = name.rpartition(".")[2], field.rpartition(".")[2]
    short = "".join(word[:1] for word in own.split("_"))
    similarity = 1.0 if given == short else difflib.SequenceMatcher(None, given, own).ratio()
    if "." not in name:
      return similarity
    return (similarity + difflib.SequenceMatcher(None, name, field).ratio()) / 2

  settable = ["model", *(x for x, (value, _) in fields.items() if not is_group(value))]
  best = max(settable, key=likeness)
  if likeness(best) > _SIMILAR:
    return f"another, perhaps {best}"
  return f"a field of {', '.join(field_kinds(Experiment))}"


def _size(text: str) -> Any:
  if text not in SIZES:
    near = difflib.get_close_matches(text, SIZES, n=1)
    hint = f", perhaps {near[0]}" if near else ""
    raise InputError(f"model: {text!r}; expected one of {', '.join(SIZES)}{hint}")
  return SIZES[text]


def _assigned(name: str, text: str, value: Any, kind: Any) -> dict[tuple[str, ...], Any]:
  """Returns the new values by path."""
  path = tuple(name.split("."))
  if not is_group(value):
    return {path: typed_values.from_text(text, kind, name)}
  if typed_values.optional(kind) and text.lower() in ("null", "none"):
    return {path: None}
  names = ", ".join(dotted(name, field) for field in field_kinds(type(value)))
  raise InputError(f"{name}: a group of fields; expected one of {names}")


def _overlap(path: tuple[str, ...], other: tuple[str, ...]) -> bool:
  return all(a == b for a, b in zip(path, other, strict=False))


def _replaced(group: Any, changes: Mapping[tuple[str, ...], Any], place: str) -> Any:
  """Returns the group with new values by path, all at once as they may depend on each other."""
  new = {path[0]: value for path, value in changes.items() if len(path) == 1}
  for name in {path[0]: None for path in changes if len(path) > 1}:
    inner = {path[1:]: value for path, value in changes.items() if path[0] == name}
    new[name] = _replaced(getattr(group, name), inner, dotted(place, name))
  with placed(place):
    return dataclasses.replace(group, **new)


def _class_name(task_class: type) -> str:
  return f"{task_class.__module__}:{task_class.__qualname__}"


def _task_class(name: str, given: type | None) -> type:
  if given and name == _class_name(given):
    return given
  module, _, own = name.partition(":")
  # The name of a module starts with a letter, so that __main__ and the like are not run.
  if re.fullmatch(r"luke_jax(\.[a-z]\w*)+", module, re.ASCII):
    try:
      task_class = getattr(importlib.import_module(module), own, None)
    except ImportError:
      task_class = None
    if (
      isinstance(task_class, type)
      and dataclasses.is_dataclass(task_class)
      and _class_name(task_class) == name
    ):
      return task_class
  also = f" or {_class_name(given)}" if given else ""
  raise InputError(f"task.class: {name!r}; expected a task of luke_jax{also}")


def _leaves(values: Mapping[str, Any], place: str) -> Iterator[tuple[str, Any]]:
  for name, value in values.items():
    if isinstance(value, Mapping):
      yield from _leaves(value, dotted(place, name))
    else:
      yield dotted(place, name), value


def _shown(values: Mapping[str, Any], name: str) -> str:
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
