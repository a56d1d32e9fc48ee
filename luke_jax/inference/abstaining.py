"""Predictions that are sure enough: none in the place of others, or all of them."""

import dataclasses
import math
from typing import Any

import numpy as np

from luke_jax.errors import InputError
from luke_jax.tasks.classification.task import TextClassification
from luke_jax.tasks.fine_tuning import FineTunedTask
from luke_jax.tasks.labels.task import LabelledNames
from luke_jax.tasks.linking.task import EntityLinking
from luke_jax.tasks.predictions import Labels, Number, Relation, TaggedSpans, Types
from luke_jax.tasks.relations.score import UNANSWERED, negative_of
from luke_jax.tasks.relations.task import RelationClassification
from luke_jax.tasks.typing.task import EntityTyping

OWN = (EntityLinking, LabelledNames)  # tasks whose threshold is one of the scores they show
LEAST = 0.001  # score of an answer that is ever told


def check_share(name: str, value: object) -> None:
  """Raises InputError for what is neither None nor a number from 0 to 1."""
  if value is not None and not (isinstance(value, int | float | np.number) and 0 <= value <= 1):
    raise InputError(f"{name}: {value!r:.60}; expected a number from 0 to 1")


def answering_all(task: FineTunedTask) -> FineTunedTask:
  """Returns a task that leaves out only what is very unlikely, where it has a threshold."""
  if isinstance(task, (*OWN, TextClassification)):
    return dataclasses.replace(task, threshold=LEAST)
  if isinstance(task, EntityTyping):
    return dataclasses.replace(task, threshold=math.log(LEAST / (1 - LEAST)))
  return task


class Abstaining:
  """A task that answers nothing of a score below a threshold; None: all that it answers."""

  def __init__(self, task: FineTunedTask, threshold: float | None):
    check_share("threshold", threshold)
    if threshold is not None and isinstance(task, OWN):
      task, threshold = dataclasses.replace(task, threshold=threshold), None
    elif threshold is not None:
      task = answering_all(task)
    self.task, self._threshold = task, threshold

  def kept(self, prediction: Any) -> Any:
    """Returns a prediction without what is less sure; a relation is none, or the label of that."""
    least = self._threshold
    if least is None:
      return prediction
    if isinstance(prediction, Number):
      raise InputError("threshold: of a number, which has no score; expected none")
    if isinstance(prediction, Relation):
      return prediction if prediction.score >= least else prediction._replace(label=self._none)
    if isinstance(prediction, Labels):
      kept = tuple(x for x in prediction.labels if x.score >= least)
      return dataclasses.replace(prediction, labels=kept)
    sure = [x for x in prediction if x.score >= least]
    if isinstance(prediction, Types | TaggedSpans):
      return dataclasses.replace(prediction, spans=tuple(sure))
    return sure

  @property
  def _none(self) -> str:
    task = self.task
    negative = task.negative if isinstance(task, RelationClassification) else ""
    return negative or negative_of(task.labels) or UNANSWERED
