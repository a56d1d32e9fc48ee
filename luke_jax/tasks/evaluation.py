"""Evaluations: scores, figures and mistakes of a model on examples with known answers."""

import dataclasses
import itertools
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Self, TypeVar

from luke_jax.errors import InputError
from luke_jax.tasks.calibration import Answered, Wanted, wanted_of

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

  @classmethod
  def of(
    cls,
    scores: Mapping[str, float],
    answers: Sequence[Sequence[Answered]],
    counts: Iterable[int],
    mistakes: Iterable[Mistake],
    *,
    labels: Mapping[str, Mapping[str, float]] | None = None,
    confusion: Mapping[tuple[str, str], int] | None = None,
  ) -> Self:
    """Returns an evaluation by the answers to each example, and the number of what it asks for."""
    ranked = sorted(mistakes, key=lambda mistake: -mistake.score)
    figures = (scores, labels or {}, confusion or {}, ranked)
    return cls(*figures, list(itertools.chain(*answers)), wanted_of(answers, counts))

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


def merged(parts: Sequence[Evaluation]) -> Evaluation:
  """Returns one evaluation of parts of the examples, each scored by a model of its own.

  Scores are means over parts; figures of a label are means over its examples, counts are sums.
  """
  scores = {
    name: statistics.mean(part.scores[name] for part in parts)
    for name in parts[0].scores
    if all(name in part.scores for part in parts)
  }
  labels = sorted({label for part in parts for label in part.labels})
  rows = {x: _mean_row([part.labels[x] for part in parts if x in part.labels]) for x in labels}
  confusion: Counter[tuple[str, str]] = Counter()
  for part in parts:
    confusion.update(part.confusion)
  mistakes = sorted((x for part in parts for x in part.mistakes), key=lambda x: -x.score)
  return Evaluation(scores, rows, confusion, mistakes, [x for part in parts for x in part.answers])


def _mean_row(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
  """Returns the figures of a label, means by the number of its examples, and their sum."""
  counts = [row["count"] for row in rows]
  total = sum(counts)
  shares = [count / total for count in counts] if total else [1 / len(rows)] * len(rows)
  figures = {
    name: sum(share * row[name] for share, row in zip(shares, rows, strict=True))
    for name in rows[0]
  }
  return figures | {"count": total}


def precision_recall_f1(right: float, predicted: float, gold: float) -> dict[str, float]:
  """Returns the three measures from counts; 0 for a division by 0."""
  precision = right / predicted if predicted else 0.0
  recall = right / gold if gold else 0.0
  total = precision + recall
  f1 = 2 * precision * recall / total if total else 0.0
  return {"precision": precision, "recall": recall, "f1": f1}


def f1_of_sets(
  gold: Sequence[set[str]], predicted: Sequence[set[str]], labels: Sequence[str]
) -> dict[str, dict[str, float]]:
  """Returns precision, recall, F1 and count of each label; 0 for a division by 0."""
  table = {}
  for label in labels:
    right = sum(label in g and label in p for g, p in zip(gold, predicted, strict=True))
    positives, count = (sum(label in x for x in side) for side in (predicted, gold))
    table[label] = precision_recall_f1(right, positives, count) | {"count": count}
  return table


def gold_labels(example: Any) -> set[str]:
  """Returns the labels of an example, which may be none."""
  if example.labels is None:
    raise InputError(f"{example.place}: labels: missing; expected a list of them")
  return set(example.labels)


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
