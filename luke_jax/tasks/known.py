"""The fine-tuned tasks by name."""

import difflib
import importlib
from collections.abc import Container
from types import ModuleType
from typing import Any, Literal

from luke_jax.errors import InputError

TaskName = Literal["typing", "relations", "ner", "cloze", "qa", "classification", "tagging"]
CLASSES = {
  "typing": "EntityTyping",
  "relations": "RelationClassification",
  "ner": "NamedEntities",
  "cloze": "ClozeAnswering",
  "qa": "QuestionAnswering",
  "classification": "TextClassification",
  "tagging": "Tagging",
}

# The attributes of a fine-tuned task, of this package or a user's own.
FUNCTIONS = ("name", "metric", "head", "entity_table", "new_words", "text_task", "read", "parse")
FUNCTIONS += ("reads", "check", "features", "label_shape", "network", "outputs", "loss", "predict")
FUNCTIONS += ("decode", "evaluate", "score", "records", "rows", "row_shapes", "found_labels")
FUNCTIONS += ("weights", "initial_params", "check_example", "text_directory")


def task_class(name: str) -> Any:
  """Returns the settings class of a task."""
  return getattr(_room(name, "task"), CLASSES[name])


def is_fine_tuned(task: Any) -> bool:
  """Returns whether a task, of this package or a user's own, has the functions for fine-tuning.

  Pretraining has no examples of texts, and so no `features` and no `decode`.
  """
  return all(callable(getattr(task, name, None)) for name in ("features", "decode", "evaluate"))


def heads_of(task: Any) -> tuple[str, ...]:
  """Returns the kinds of heads that a task, a class or a value, may have."""
  return getattr(task, "heads", None) or (task.head,)


def tasks_with(heads: Container[str]) -> tuple[str, ...]:
  """Returns the names of the tasks that need one of these kinds of heads."""
  return tuple(x for x in CLASSES if any(head in heads for head in heads_of(task_class(x))))


def is_known(task: type) -> bool:
  """Returns true if a class is one of the tasks that have names."""
  return task.__module__.startswith("luke_jax.") and task.__name__ in CLASSES.values()


def check_task(task: Any) -> None:
  """Raises InputError for a class that lacks functions of a fine-tuned task."""
  lacking = [name for name in FUNCTIONS if not hasattr(task, name)]
  if lacking:
    name = getattr(task, "__name__", type(task).__name__)
    raise InputError(
      f"task {name}: no {', '.join(lacking)}; expected all of {', '.join(FUNCTIONS)}"
    )


def task_files(name: str) -> ModuleType:
  """Returns the module that reads a task's files."""
  return _room(name, "files")


def task_scores(name: str) -> ModuleType:
  """Returns the module that scores a task's predictions."""
  return _room(name, "score")


def _room(name: str, room: str) -> ModuleType:
  if name not in CLASSES:
    near = difflib.get_close_matches(name, CLASSES, n=1)
    hint = f", perhaps {near[0]}" if near else ""
    raise InputError(f"task {name!r}: unknown; expected one of {', '.join(CLASSES)}{hint}")
  return importlib.import_module(f"luke_jax.tasks.{name}.{room}")
