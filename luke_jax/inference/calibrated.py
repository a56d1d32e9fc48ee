"""Scores as shares of right answers, by what the training found on dev."""

import dataclasses
import math
from typing import Any, NamedTuple

from luke_jax.convert.parts import ModelParts
from luke_jax.errors import InputError
from luke_jax.inference.settings import KEY
from luke_jax.tasks.predictions import Labels, Number, TaggedSpans, Types

ENTRY = "calibration"  # of luke_jax's entry in config.json
SURE = "sure"  # beside it: the score from which nine in ten answers are right
SHARPEST = 1e-9  # beside 0 and 1, whose logits are endless


class Calibration(NamedTuple):
  """A line through the logits of scores: surer answers stay surer, and answers stay the same."""

  slope: float = 1.0
  offset: float = 0.0

  @classmethod
  def of(cls, model: ModelParts) -> "Calibration":
    """Returns what a model's config.json says; without an entry scores stay as they are."""
    ours = model.rest.get(KEY)
    entry = ours.get(ENTRY) if isinstance(ours, dict) else None
    if entry is None:
      return cls()
    numbers = entry if isinstance(entry, list) and len(entry) == 2 else [None]
    if not all(isinstance(x, int | float) and math.isfinite(x) for x in numbers) or numbers[0] <= 0:
      raise InputError(f"config.json: {KEY}.{ENTRY}: {entry!r:.60}; expected a slope and an offset")
    return cls(*numbers)

  def score(self, score: float) -> float:
    """Returns how often answers of a score are right."""
    sure = min(max(score, SHARPEST), 1 - SHARPEST)
    return 1 / (1 + math.exp(-self.slope * math.log(sure / (1 - sure)) - self.offset))

  def scored(self, prediction: Any) -> Any:
    """Returns a prediction with these scores of its answers; numbers have none."""
    if self == (1.0, 0.0):
      return prediction
    if isinstance(prediction, Types | TaggedSpans):
      return dataclasses.replace(prediction, spans=tuple(map(self._answer, prediction.spans)))
    if isinstance(prediction, Labels):
      return dataclasses.replace(prediction, labels=tuple(map(self._answer, prediction.labels)))
    if isinstance(prediction, list):
      return [self._answer(answer) for answer in prediction]
    return self._answer(prediction)

  def _answer(self, answer: Any) -> Any:
    if isinstance(answer, Number):
      return answer
    return answer._replace(score=self.score(answer.score))


def sure_of(model: ModelParts) -> float | None:
  """Returns the score from which a model's answers are sure; None if nobody has measured it."""
  ours = model.rest.get(KEY)
  entry = ours.get(SURE) if isinstance(ours, dict) else None
  if entry is not None and not (isinstance(entry, int | float) and 0 <= entry <= 1):
    raise InputError(f"config.json: {KEY}.{SURE}: {entry!r:.60}; expected a score from 0 to 1")
  return entry


def without_calibration(model: ModelParts) -> ModelParts:
  """Returns a model whose scores are as they are computed."""
  ours = model.rest.get(KEY)
  if not isinstance(ours, dict) or ENTRY not in ours:
    return model
  kept = {name: x for name, x in ours.items() if name != ENTRY}
  return dataclasses.replace(model, rest={**model.rest, KEY: kept})
