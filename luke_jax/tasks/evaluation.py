"""Evaluations: scores, figures and mistakes of a model on examples with known answers."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Self, TypeVar

from luke_jax.errors import InputError
from luke_jax.tasks.calibration import Answered, Wanted

Item = TypeVar("Item")
Predicted = TypeVar("Predicted")
Outcome = Literal["", "right", "wrong", "missed"]  # "missed" is gold and was not predicted


class Mark(NamedTuple):
  """A stretch of a text to be shown, its name, and whether it was predicted rightly."""

  start: int
  end: int
  name: str
  outcome: Outcome = ""  # "" where a mark is neither gold nor predicted


class Mistake(NamedTuple):
  """A wrong prediction; the surer the model was, the worse."""

  id: str
  text: str
  marks: tuple[Mark, ...]
  gold: str
  predicted: str
  score: float
  question: str = ""  # about the text


@dataclasses.dataclass(frozen=True)
class Evaluation:
  """Scores, of which the first is the task's official one, and figures and mistakes behind them."""

  scores: Mapping[str, float]
  labels: Mapping[str, Mapping[str, float]] = dataclasses.field(default_factory=dict)
  # Counts of pairs of a gold and a predicted label; "" stands for no label.
  confusion: Mapping[tuple[str, str], int] = dataclasses.field(default_factory=dict)
  mistakes: Sequence[Mistake] = ()  # the worst first
  answers: Sequence[Answered] = ()  # what was answered, of those whose scores are probabilities
  wanted: Sequence[Wanted] = ()  # what there is to find in each example; not kept in JSON

  def as_json(self) -> dict[str, Any]:
    """Returns all of it as JSON values."""
    return {
      "scores": dict(self.scores),
      "labels": {name: dict(row) for name, row in self.labels.items()},
      "confusion": [
        {"gold": gold, "predicted": predicted, "count": count}
        for (gold, predicted), count in self.confusion.items()
      ],
      "mistakes": [
        mistake._asdict() | {"marks": [mark._asdict() for mark in mistake.marks]}
        for mistake in self.mistakes
      ],
      "answers": [[round(x.score, 4), int(x.right)] for x in self.answers],
    }

  @classmethod
  def from_json(cls, values: Mapping[str, Any]) -> Self:
    """Returns the evaluation that `as_json` gave the values of."""
    confusion = {(x["gold"], x["predicted"]): x["count"] for x in values["confusion"]}
    mistakes = [
      Mistake(**x | {"marks": tuple(Mark(**mark) for mark in x["marks"])})
      for x in values["mistakes"]
    ]
    answers = tuple(Answered(score, bool(right)) for score, right in values.get("answers", ()))
    return cls(values["scores"], values["labels"], confusion, mistakes, answers)


def precision_recall_f1(right: float, predicted: float, gold: float) -> dict[str, float]:
  """Returns the three measures from counts; 0 for a division by 0."""
  precision = right / predicted if predicted else 0.0
  recall = right / gold if gold else 0.0
  total = precision + recall
  f1 = 2 * precision * recall / total if total else 0.0
  return {"precision": precision, "recall": recall, "f1": f1}


def false_answers(gold: Sequence[Any], predicted: Sequence[Any]) -> dict[str, float]:
  """Returns the share of examples with nothing to find that have an answer; none if all have it."""
  answered = [bool(y) for x, y in zip(gold, predicted, strict=True) if not x]
  return {"false_answers": sum(answered) / len(answered)} if answered else {}


def outcomes(gold: Sequence[Item], predicted: Sequence[Item]) -> list[tuple[Item, Outcome]]:
  """Returns all that is gold or predicted: the right, then the wrong, then the missed."""
  wanted, answers = set(gold), set(predicted)
  right: list[tuple[Item, Outcome]] = [(item, "right") for item in predicted if item in wanted]
  wrong: list[tuple[Item, Outcome]] = [(item, "wrong") for item in predicted if item not in wanted]
  missed: list[tuple[Item, Outcome]] = [(item, "missed") for item in gold if item not in answers]
  return right + wrong + missed


def in_order(
  examples: Sequence[Any], predicted: Mapping[str, Predicted], unanswered: Predicted
) -> list[Predicted]:
  """Returns the prediction for each example, by its id.

  Raises InputError for ids that no example has.
  """
  ids = {example.id for example in examples}
  for id in predicted:
    if id not in ids:
      raise InputError(f"predictions: id {id!r}: of no example; expected ids of the gold file")
  return [predicted.get(example.id, unanswered) for example in examples]
