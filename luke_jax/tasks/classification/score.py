"""Scores of labels and numbers of texts, and the figures and mistakes behind them."""

import collections
import re
from collections.abc import Mapping, Sequence

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats.files import Faults
from luke_jax.formats.records import read_records
from luke_jax.tasks.calibration import Answered
from luke_jax.tasks.classification.files import TextExample, labels_in, number_in
from luke_jax.tasks.evaluation import (
  Evaluation,
  Mistake,
  f1_of_sets,
  false_answers,
  gold_labels,
  in_order,
  precision_recall_f1,
)
from luke_jax.tasks.predictions import Label, Labels, Number

Counts = Mapping[tuple[str, str], int]  # by gold and predicted label


def matthews(confusion: Counts) -> float:
  """Returns Matthews' correlation of any number of classes; 0 if one side is constant."""
  names = sorted({name for pair in confusion for name in pair})
  table = np.array([[confusion.get((g, p), 0) for p in names] for g in names], np.float64)
  gold, predicted, total = table.sum(1), table.sum(0), table.sum()
  covariance = np.trace(table) * total - gold @ predicted
  scale = np.sqrt((total**2 - gold @ gold) * (total**2 - predicted @ predicted))
  return float(covariance / scale) if scale else 0.0


def pearson(gold: Sequence[float], predicted: Sequence[float]) -> float:
  """Returns the correlation of numbers; 0 if one side is constant."""
  one, other = (np.asarray(x, np.float64) - np.mean(x) for x in (gold, predicted))
  scale = np.sqrt((one @ one) * (other @ other))
  return float(one @ other / scale) if scale else 0.0


def spearman(gold: Sequence[float], predicted: Sequence[float]) -> float:
  """Returns the correlation of ranks, equal numbers having the mean of theirs."""
  return pearson(_ranks(gold), _ranks(predicted))


def _ranks(values: Sequence[float]) -> list[float]:
  _, places, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
  last = counts.cumsum()
  return (last - (counts - 1) / 2)[places].tolist()


def root_mean_square(gold: Sequence[float], predicted: Sequence[float]) -> float:
  """Returns the root of the mean square of the differences, one mean for all."""
  return float(np.sqrt(np.mean(np.square(np.subtract(gold, predicted)))))


def mean_reciprocal_rank(
  groups: Sequence[str], relevant: Sequence[bool], scores: Sequence[float]
) -> float:
  """Returns the mean over groups of 1 / rank of the best relevant item; 0 where none is relevant.

  An irrelevant item with the same score ranks before a relevant one.
  """
  best: dict[str, float] = {}
  for group, wanted, score in zip(groups, relevant, scores, strict=True):
    best.setdefault(group, -np.inf)
    if wanted:
      best[group] = max(best[group], score)
  before = dict.fromkeys(best, 0)
  for group, wanted, score in zip(groups, relevant, scores, strict=True):
    before[group] += not wanted and score >= best[group]
  ranks = (1 / (before[group] + 1) if top > -np.inf else 0.0 for group, top in best.items())
  return float(np.mean(list(ranks))) if best else 0.0


POSITIVE = "1"  # where two labels are 0 and 1
_WHOLE = re.compile(r"-?\d+")
Predicted = Labels | Number


def positive_of(labels: Sequence[str], chosen: str = "") -> str:
  """Returns the label whose F1 and ranking count, "" if nothing says which."""
  return chosen or (POSITIVE if set(labels) == {"0", POSITIVE} else "")


def in_numbers(labels: Sequence[str]) -> bool:
  """Returns whether labels are whole numbers, as ratings are."""
  return bool(labels) and all(_WHOLE.fullmatch(label) for label in labels)


def score_labels(
  gold: Sequence[str], predicted: Sequence[str], positive: str = ""
) -> dict[str, float]:
  """Returns the scores of one label for each text; a missing prediction is "" and wrong."""
  confusion = collections.Counter(zip(gold, predicted, strict=True))
  names = sorted({name for pair in confusion for name in pair} - {""})
  table = f1_of_sets([{x} for x in gold], [{x} for x in predicted], names)
  accuracy = sum(g == p for g, p in zip(gold, predicted, strict=True)) / max(1, len(gold))
  scores = {"accuracy": accuracy, "macro_f1": _mean_f1(table)}
  if positive:
    of_it = f1_of_sets([{x} for x in gold], [{x} for x in predicted], [positive])[positive]
    scores |= {name: of_it[name] for name in ("f1", "precision", "recall")}
  scores["matthews"] = matthews(confusion)
  if len(set(gold)) > 2 and in_numbers(names) and "" not in predicted:
    ratings = [list(map(int, side)) for side in (gold, predicted)]
    scores["rmse"] = root_mean_square(*ratings)
  return scores


def score_sets(gold: Sequence[set[str]], predicted: Sequence[set[str]]) -> dict[str, float]:
  """Returns the scores of several labels for each text; accuracy counts equal sets."""
  pairs = list(zip(gold, predicted, strict=True))
  sizes = (sum(len(g & p) for g, p in pairs), sum(map(len, predicted)), sum(map(len, gold)))
  micro = precision_recall_f1(*sizes)
  table = f1_of_sets(gold, predicted, sorted(set().union(*gold, *predicted)))
  return {
    "micro_f1": micro["f1"],
    "macro_f1": _mean_f1(table),
    "precision": micro["precision"],
    "recall": micro["recall"],
    "accuracy": sum(g == p for g, p in pairs) / max(1, len(pairs)),
    **false_answers(gold, predicted),
  }


def score_numbers(gold: Sequence[float], predicted: Sequence[float]) -> dict[str, float]:
  """Returns the correlations of numbers, and the root of their mean square error."""
  return {
    "pearson": pearson(gold, predicted),
    "spearman": spearman(gold, predicted),
    "rmse": root_mean_square(gold, predicted),
  }


def _ranking(
  examples: Sequence[TextExample], predictions: Sequence[Predicted], positive: str
) -> dict[str, float]:
  """Returns the mean reciprocal rank of candidates with the positive label, by their questions."""
  asked = [(x, p) for x, p in zip(examples, predictions, strict=True) if x.qid is not None]
  if not positive or not asked:
    return {}
  scores = [p.scores.get(positive, 0.0) if isinstance(p, Labels) else 0.0 for _, p in asked]
  relevant = [gold_label(x) == positive for x, _ in asked]
  return {"mrr": mean_reciprocal_rank([x.qid or "" for x, _ in asked], relevant, scores)}


def gold_label(example: TextExample) -> str:
  """Returns the only label of an example."""
  if example.labels is None or len(example.labels) != 1:
    actual = "missing" if example.labels is None else ", ".join(example.labels) or "none"
    raise InputError(f"{example.place}: label: {actual}; expected one, or task.target=labels")
  return example.labels[0]


def read_predictions(path: Path, faults: Faults) -> dict[str, Predicted]:
  """Reads JSON lines of predictions by their ids: `label`, `labels` or `number`."""
  return dict(read_records(path, _prediction, faults))


def _prediction(value: Mapping[str, object], id: str, place: str) -> tuple[str, Predicted]:
  number = value.get("number")
  if isinstance(number, int | float) and not isinstance(number, bool):
    return id, Number(float(number))
  names = labels_in(value, place)
  if names is None:
    raise InputError(f"{place}: no label, labels or number; expected one of them")
  scores = value.get("scores")
  scores = {name: float(x) for name, x in scores.items()} if isinstance(scores, dict) else {}
  return id, Labels(tuple(Label(name, scores.get(name, 0.0)) for name in names), scores)


def score_file(
  examples: Sequence[TextExample], predicted: Mapping[str, Predicted]
) -> dict[str, float]:
  """Returns the scores of predictions by id, of the kind that they are of."""
  ordered = in_order(examples, predicted, Labels((), {}))
  if any(isinstance(x, Number) for x in ordered):
    return score_numbers(list(map(number_in, examples)), _values(examples, ordered))
  if all(x.labels is None or len(x.labels) == 1 for x in examples) and all(
    len(x) <= 1 for x in ordered if isinstance(x, Labels)
  ):
    labels = {label for x in examples for label in x.labels or ()}
    return _of_one(examples, ordered, positive_of(sorted(labels)))
  return score_sets(list(map(gold_labels, examples)), list(map(_names, ordered)))


def _values(examples: Sequence[TextExample], predicted: Sequence[Predicted]) -> list[float]:
  for example, one in zip(examples, predicted, strict=True):
    if not isinstance(one, Number):
      raise InputError(f"predictions: id {example.id!r}: no number; expected one for each example")
  return [x.value for x in predicted if isinstance(x, Number)]


def _names(predicted: Predicted) -> set[str]:
  return {x.label for x in predicted} if isinstance(predicted, Labels) else set()


def _of_one(
  examples: Sequence[TextExample], predictions: Sequence[Predicted], positive: str
) -> dict[str, float]:
  gold = list(map(gold_label, examples))
  predicted = [x.label if isinstance(x, Labels) else "" for x in predictions]
  return score_labels(gold, predicted, positive) | _ranking(examples, predictions, positive)


def evaluate(
  examples: Sequence[TextExample], predictions: Sequence[Labels], positive: str
) -> Evaluation:
  """Returns the scores of one label for each text, figures for each label, and the mistakes."""
  gold = list(map(gold_label, examples))
  predicted = [x.label for x in predictions]
  names = sorted({*gold, *predicted} - {""})
  pairs = collections.Counter(zip(gold, predicted, strict=True))
  table = f1_of_sets([{x} for x in gold], [{x} for x in predicted], names)
  mistakes = [
    _mistake(example, example_gold, x.label or "nothing", x[0].score if x else 0.0)
    for example, example_gold, x in zip(examples, gold, predictions, strict=True)
    if x.label != example_gold
  ]
  answers = [
    [Answered(x[0].score, x.label == label)] if x else []
    for label, x in zip(gold, predictions, strict=True)
  ]
  scores, counts = _of_one(examples, predictions, positive), [1] * len(gold)
  return Evaluation.of(scores, answers, counts, mistakes, labels=table, confusion=dict(pairs))


def evaluate_sets(
  examples: Sequence[TextExample], predictions: Sequence[Labels], labels: Sequence[str]
) -> Evaluation:
  """Returns the scores of several labels for each text, figures for each label, and mistakes."""
  gold, predicted = list(map(gold_labels, examples)), list(map(_names, predictions))
  names = sorted({*labels, *set().union(*gold, *predicted)})
  mistakes = [
    _mistake(
      example,
      ", ".join(sorted(wanted)) or "nothing",
      ", ".join(sorted(_names(x))) or "nothing",
      max((one.score for one in x if one.label not in wanted), default=0.0),
    )
    for example, wanted, x in zip(examples, gold, predictions, strict=True)
    if _names(x) != wanted
  ]
  table = f1_of_sets(gold, predicted, names)
  answers = [
    [Answered(one.score, one.label in right) for one in x]
    for right, x in zip(gold, predictions, strict=True)
  ]
  scores = score_sets(gold, predicted)
  return Evaluation.of(scores, answers, map(len, gold), mistakes, labels=table)


def evaluate_numbers(examples: Sequence[TextExample], predictions: Sequence[Number]) -> Evaluation:
  """Returns the correlations of numbers, and the texts from the largest error on."""
  gold, predicted = list(map(number_in, examples)), [x.value for x in predictions]
  errors = sorted(
    ((abs(g - p), i) for i, (g, p) in enumerate(zip(gold, predicted, strict=True))), reverse=True
  )
  mistakes = [
    _mistake(examples[i], f"{gold[i]:.4g}", f"{predicted[i]:.4g}", 0.0)
    for error, i in errors
    if error
  ]
  return Evaluation(score_numbers(gold, predicted), mistakes=mistakes)


def _mean_f1(table: Mapping[str, Mapping[str, float]]) -> float:
  return sum(row["f1"] for row in table.values()) / max(1, len(table))


def _mistake(example: TextExample, gold: str, predicted: str, score: float) -> Mistake:
  text, question = example.text, ""
  if example.text_pair is not None:
    text, question = example.text_pair, example.text
  return Mistake(example.id, text, (), gold, predicted, score, question)
