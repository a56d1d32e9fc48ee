"""Python files with experiments: `config()`, rows of a table, or a task of one's own."""

import difflib
import importlib.machinery
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.training.experiment import Experiment, from_dict, to_dict

Kind = TypeVar("Kind")


class Row(NamedTuple):
  """A row of a table in an experiment file, made by `overrides.row`."""

  config: Callable[[], Experiment]
  paper: Mapping[str, Any]  # the published row: table, method, split and scores


def load_experiment(path: Path) -> Experiment:
  """Returns the experiment of FILE.py, or of a row, FILE.py:ROW, its fields checked by type."""
  return experiment_and_paper(path)[0]


def experiment_and_paper(path: Path) -> tuple[Experiment, dict[str, Any]]:
  """Returns an experiment as `load_experiment` does, and the published row that belongs to it."""
  file, name = file_and_row(path)
  if file.is_file() and file.suffix != ".py":
    raise InputError(f"{file}: not a .py file; expected an experiment file")
  try:
    source = file.read_bytes()
  except OSError as fault:
    raise InputError(f"{file}: {fault.strerror}; expected an experiment file") from None
  line = ""
  try:
    row = _row(_module(file, source), name)
    code = getattr(row.config, "__code__", None)
    line = f"line {code.co_firstlineno}: " if code and code.co_filename == str(file) else ""
    experiment = row.config()
    if not isinstance(experiment, Experiment):
      kind = type(experiment).__name__
      raise InputError(f"config() returned a {kind}; expected an Experiment")
    return from_dict(to_dict(experiment), experiment), dict(row.paper)
  except Exception as fault:
    raise InputError(f"{path}: {_line(fault, file) or line}{_message(fault)}") from None


def file_and_row(path: Path) -> tuple[Path, str]:
  """Returns the parts of FILE.py:ROW; the row of FILE.py is ""."""
  file, colon, row = str(path).rpartition(".py:")
  return (Path(f"{file}.py"), row) if colon else (path, "")


def is_experiment_file(name: str | Path) -> bool:
  """Returns whether a name on the command line is FILE.py or FILE.py:ROW."""
  return file_and_row(Path(name))[0].suffix == ".py"


def _row(module: ModuleType, name: str) -> Row:
  rows = getattr(module, "ROWS", None)
  rows = rows if isinstance(rows, Mapping) else {}
  config = getattr(module, "config", None)
  if not name and callable(config):
    return Row(config, getattr(module, "PAPER", {}))
  if name in rows:
    if isinstance(row := rows[name], Row):
      return row
    raise InputError(f"ROWS: a {type(row).__name__}; expected what overrides.row returns")
  if not rows and name:
    raise InputError("no ROWS; expected the file alone")
  if not rows:
    raise InputError("no function config; expected `def config()` that returns an Experiment")
  near = difflib.get_close_matches(name, rows, n=1)
  expected = f"another, perhaps :{near[0]}" if near else f"one of :{', :'.join(rows)}"
  raise InputError(f"{'no such row' if name else 'a table'}; expected {expected}")


def own_classes(path: Path, kind: type[Kind]) -> tuple[type[Kind], type | None]:
  """Returns the task of a user's file, a class of a kind, and the system of its experiment.

  Without an experiment the task is the class that the file defines, the last in a line of them.
  """
  file, row = file_and_row(path)
  try:
    module = _module(file, file.read_bytes())
  except OSError as fault:
    raise InputError(f"{file}: {fault.strerror}; expected a file with a task") from None
  except Exception as fault:
    raise InputError(f"{file}: {_line(fault, file)}{_message(fault)}") from None
  if row or hasattr(module, "config"):
    experiment = load_experiment(path)
    task: type = type(experiment.task)
    if not issubclass(task, kind):
      raise InputError(f"{path}: {task.__name__} is no {kind.__name__}; expected one")
    return task, type(experiment.model)
  own = [x for x in vars(module).values() if isinstance(x, type) and issubclass(x, kind)]
  own = [x for x in own if x.__module__ == module.__name__]
  last = [x for x in own if not any(x in other.__mro__[1:] for other in own)]
  if len(last) != 1:
    names = ", ".join(x.__name__ for x in last) or "none"
    raise InputError(f"{path}: {names}; expected one class of {kind.__name__}, or config()")
  return last[0], None


def _module(path: Path, source: bytes) -> ModuleType:
  """Returns the module of a file, compiled anew and without a compiled file beside the user's."""
  name = "_experiment_" + re.sub(r"\W", "_", path.stem)
  module = ModuleType(name)
  module.__file__ = str(path)
  loader = importlib.machinery.SourceFileLoader(name, str(path))
  sys.modules[name] = module  # dataclasses look up the names in their annotations here
  exec(loader.source_to_code(source, str(path)), module.__dict__)
  return module


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
