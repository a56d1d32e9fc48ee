"""The fine-tuned tasks by name."""

import difflib
import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Literal

from luke_jax.errors import InputError
from luke_jax.models.table import installed

if TYPE_CHECKING:
  from luke_jax.tasks.contract import TextTask
  from luke_jax.training.task import Settings

TaskName = Literal[
  "typing",
  "relations",
  "ner",
  "cloze",
  "qa",
  "classification",
  "tagging",
  "linking",
  "labels",
  "facts",
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
  "facts": "Facts",
}


def task_class(name: str) -> "type[TextTask]":
  """Returns the settings class of a task, of this package or of an installed one."""
  if name not in CLASSES and (own := installed("luke_jax.tasks", name)):
    return own
  return getattr(_room(name, "task"), CLASSES[name])


def is_name(name: str) -> bool:
  """Returns whether a task has this name, of this package or of an installed one."""
  return name in CLASSES or installed("luke_jax.tasks", name) is not None


def is_named(task: "type[Settings]") -> bool:
  """Returns whether a class is found by its name; a model of another names the class."""
  return is_name(task.name) and task_class(task.name) is task


def task_scores(name: str) -> ModuleType:
  """Returns the module that scores a task's predictions, which of tags are those of names."""
  return _room("ner" if name == "tagging" else name, "score")


def _room(name: str, room: str) -> ModuleType:
  if name not in CLASSES:
    folder, _, last = name.rpartition("/")
    near = difflib.get_close_matches(last, CLASSES, n=1)
    hint = f", perhaps {' '.join((near[0], name) if folder else near)}" if near else ""
    raise InputError(f"task {name!r}: unknown; expected one of {', '.join(CLASSES)}{hint}")
  return importlib.import_module(f"luke_jax.tasks.{name}.{room}")
