"""Checks of the labels of examples against those that a model knows."""

import dataclasses
import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.tasks.evaluation import Evaluation

if TYPE_CHECKING:
  from luke_jax.tasks.contract import TextTask

Example = TypeVar("Example")


class UnknownLabelError(InputError):
  """Error for a label that a model was not trained for."""

  def __init__(self, message: str, label: str):
    super().__init__(message)
    self.label = label


def check_none(labels: Sequence[str], reason: str) -> None:
  """Raises InputError for labels of a task that has none."""
  if labels:
    raise InputError(f"labels: {', '.join(labels)}; expected none, {reason}")


def check_label(label: str, labels: Sequence[str], place: str) -> None:
  """Raises UnknownLabelError for a label that the model was not trained for."""
  if not labels:
    raise InputError(f"{place}: label {label!r}: of a task without labels; expected task.labels")
  if label not in labels:
    near = difflib.get_close_matches(label, labels, n=1)
    hint = f", perhaps {near[0]!r}" if near else ""
    raise UnknownLabelError(
      f"{place}: label {label!r}: not among the model's {len(labels)}; expected one of"
      f" {', '.join(labels[:20])}{hint}",
      label,
    )


def checked_to_score(
  task: "TextTask[Example, Any]", examples: Sequence[Example], faults: Faults
) -> tuple[list[Example], list[str]]:
  """Returns the examples with answers, and those labels of them that the model does not know.

  A model misses such a label each time, so that an example with one counts as any other.
  """
  valid: list[Example] = []
  unknown: list[str] = []
  for example in examples:
    with faults.caught():
      knowing, labels = task, []
      while (label := _unknown_label(knowing, example)) is not None:
        labels.append(label)
        names = *knowing.labels, task.label_of_name(label)
        knowing = dataclasses.replace(knowing, labels=names)
      task, unknown = knowing, unknown + labels
      valid.append(example)
  return valid, unknown


def _unknown_label(task: "TextTask[Example, Any]", example: Example) -> str | None:
  """Returns the first label of an example that a task lacks; raises InputError for other faults."""
  try:
    task.check_example(example)
  except UnknownLabelError as fault:
    if task.label_of_name(fault.label) in task.labels:  # as is that of no entity
      raise
    return fault.label
  return None


def counted_as_missed(unknown: Sequence[str], evaluation: Evaluation) -> str:
  """Returns a line that says which labels a model does not know, and how many of them it missed."""
  counts = (f"{label} {evaluation.labels[label]['count']:.0f}" for label in sorted(unknown))
  return f"labels that the model does not know count as missed: {', '.join(counts)}"
