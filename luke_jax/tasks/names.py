"""The five fine-tuned tasks by name."""

import difflib
import importlib
from types import ModuleType
from typing import Any, Literal

from luke_jax.errors import InputError

TaskName = Literal["typing", "relations", "ner", "cloze", "qa"]
CLASSES = {
  "typing": "EntityTyping",
  "relations": "RelationClassification",
  "ner": "NamedEntities",
  "cloze": "ClozeAnswering",
  "qa": "QuestionAnswering",
}


def task_class(name: str) -> Any:
  """The settings of a task."""
  return getattr(_room(name, "task"), CLASSES[name])


def is_fine_tuned(task: Any) -> bool:
  """Whether a task is one of the five."""
  return type(task).__name__ in CLASSES.values()


def task_files(name: str) -> ModuleType:
  """The room that reads a task's files."""
  return _room(name, "files")


def task_scores(name: str) -> ModuleType:
  """The room that scores a task's predictions."""
  return _room(name, "score")


def _room(name: str, room: str) -> ModuleType:
  if name not in CLASSES:
    near = difflib.get_close_matches(name, CLASSES, n=1)
    hint = f", perhaps {near[0]}" if near else ""
    raise InputError(f"task {name!r}: unknown; expected one of {', '.join(CLASSES)}{hint}")
  return importlib.import_module(f"luke_jax.tasks.{name}.{room}")
