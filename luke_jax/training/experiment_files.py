"""Experiments from Python files, with faults by line."""

import importlib.machinery
import re
import sys
import traceback
from types import ModuleType

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.training.experiment import Experiment
from luke_jax.training.saved_configs import from_dict, to_dict


def load_experiment(path: Path) -> Experiment:
  """Returns the result of `config()` of an experiment file, its fields checked by type."""
  return experiment_and_notes(path, "")[0]


def experiment_and_notes(path: Path, name: str) -> tuple[Experiment, dict[str, object]]:
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


def _module(path: Path, source: bytes) -> ModuleType:
  """Returns the module of a file, compiled anew and without a compiled file beside the user's."""
  name = "_experiment_" + re.sub(r"\W", "_", path.stem)
  module = ModuleType(name)
  module.__file__ = str(path)
  loader = importlib.machinery.SourceFileLoader(name, str(path))
  sys.modules[name] = module  # dataclasses look up the names in their annotations here
  exec(loader.source_to_code(source, str(path)), module.__dict__)
  return module


def _line_of(function: object) -> str:
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
