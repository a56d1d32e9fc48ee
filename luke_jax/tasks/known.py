"""The fine-tuned tasks by name."""

import difflib
import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Literal

from luke_jax.errors import InputError

if TYPE_CHECKING:
  from luke_jax.tasks.contract import TextTask

TaskName = Literal[
  "typing", "relations", "ner", "cloze", "qa", "classification", "tagging", "linking", "labels"
]
CLASSES = {
  "typing": "EntityTyping",
  "relations": "RelationClassification",
  "ner": "NamedEntities",
  "cloze": "ClozeAnswering",
  "qa": "QuestionAnswering",
  "classification": "TextClassification",
  "tagging": "Tagging",
  "linking": "EntityLinking",
  "labels": "LabelledNames",
}
BY_TAGS = "tagging"  # which finds names as "ner" does, by a tag for each word


def task_class(name: str) -> "type[TextTask]":
  """Returns the settings class of a task."""
  return getattr(_room(name, "task"), CLASSES[name])


def is_known(task: type) -> bool:
  """Returns true if a class is one of the tasks that have names."""
  return task.__module__.startswith("luke_jax.") and task.__name__ in CLASSES.values()


def task_files(name: str) -> ModuleType:
  """Returns the module that reads a task's files."""
  return _room(name, "files")


def task_scores(name: str) -> ModuleType:
  """Returns the module that scores a task's predictions."""
  return _room(name, "score")


def _room(name: str, room: str) -> ModuleType:
  if name not in CLASSES:
    folder, _, last = name.rpartition("/")
    near = difflib.get_close_matches(last, CLASSES, n=1)
    hint = f", perhaps {' '.join((near[0], name) if folder else near)}" if near else ""
    raise InputError(f"task {name!r}: unknown; expected one of {', '.join(CLASSES)}{hint}")
  return importlib.import_module(f"luke_jax.tasks.{name}.{room}")
