"""What there is to say of a model's predictions for examples with known answers."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from luke_jax.errors import InputError

Predicted = TypeVar("Predicted")


class Mark(NamedTuple):
  """A stretch of a text that is worth showing, and what it is."""

  start: int
  end: int
  name: str


class Mistake(NamedTuple):
  """A wrong prediction. The surer the model was, the worse."""

  id: str
  text: str
  marks: tuple[Mark, ...]
  gold: str
  predicted: str
  score: float


@dataclasses.dataclass(frozen=True)
class Evaluation:
  """Scores, the first of which is the task's official one, and where they come from."""

  scores: Mapping[str, float]
  labels: Mapping[str, Mapping[str, float]] = dataclasses.field(default_factory=dict)
  # How often a gold label was predicted as which; "" stands for no label at all.
  confusion: Mapping[tuple[str, str], int] = dataclasses.field(default_factory=dict)
  mistakes: Sequence[Mistake] = ()  # the worst first


def precision_recall_f1(right: float, predicted: float, gold: float) -> dict[str, float]:
  """The three measures from counts; 0 where there is nothing to divide by."""
  precision = right / predicted if predicted else 0.0
  recall = right / gold if gold else 0.0
  total = precision + recall
  f1 = 2 * precision * recall / total if total else 0.0
  return {"precision": precision, "recall": recall, "f1": f1}


def in_order(
  examples: Sequence[Any], predicted: Mapping[str, Predicted], unanswered: Predicted
) -> list[Predicted]:
  """What is predicted for each example, by its id. Ids that no example has are refused."""
  known = {example.id for example in examples}
  for id in predicted:
    if id not in known:
      raise InputError(f"predictions: id {id!r}: of no example; expected ids of the gold file")
  return [predicted.get(example.id, unanswered) for example in examples]
