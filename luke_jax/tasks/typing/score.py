"""Metrics of entity typing: loose micro, loose macro and strict (Ling and Weld, 2012)."""

from collections.abc import Iterator, Mapping, Sequence

from luke_jax.files import Path
from luke_jax.formats.files import Faults
from luke_jax.formats.records import read_records
from luke_jax.tasks.calibration import Answered
from luke_jax.tasks.evaluation import (
  Evaluation,
  Mark,
  Mistake,
  f1_of_sets,
  false_answers,
  gold_labels,
  in_order,
  outcomes,
  precision_recall_f1,
)
from luke_jax.tasks.predictions import Types
from luke_jax.tasks.typing.files import TypingExample, labels_in


def score(gold: Sequence[set[str]], predicted: Sequence[set[str]]) -> dict[str, float]:
  """Returns precision, recall and F1 over all labels; the paper reports the loose micro ones."""
  pairs = list(zip(gold, predicted, strict=True))
  right = sum(len(g & p) for g, p in pairs)
  micro = precision_recall_f1(right, sum(map(len, predicted)), sum(map(len, gold)))
  exact = sum(g == p for g, p in pairs)
  strict = precision_recall_f1(exact, sum(map(bool, predicted)), sum(map(bool, gold)))
  return {
    "f1": micro["f1"],
    "precision": micro["precision"],
    "recall": micro["recall"],
    **{f"macro_{name}": value for name, value in _macro(pairs).items()},
    "strict_f1": strict["f1"],
    "strict_accuracy": exact / max(1, len(pairs)),
    **false_answers(gold, predicted),
  }


def _macro(pairs: Sequence[tuple[set[str], set[str]]]) -> dict[str, float]:
  """Returns mean precision over examples with predictions, and mean recall over those with gold."""
  precisions = [len(g & p) / len(p) for g, p in pairs if p]
  recalls = [len(g & p) / len(g) for g, p in pairs if g]
  precision = sum(precisions) / max(1, len(precisions))
  recall = sum(recalls) / max(1, len(recalls))
  total = precision + recall
  f1 = 2 * precision * recall / total if total else 0.0
  return {"precision": precision, "recall": recall, "f1": f1}


def best_threshold(
  gold: Sequence[set[str]], logits: Sequence[Mapping[str, float]]
) -> tuple[float, float]:
  """Returns the threshold of logits with the highest loose micro F1, and that F1.

  It is the middle between two logits; of equally good thresholds, the highest.
  """
  pairs = [(x, label in g) for g, row in zip(gold, logits, strict=True) for label, x in row.items()]
  pairs.sort(reverse=True)
  total, right, best = sum(map(len, gold)), 0, (0.0, 0.0)
  for predicted, (logit, correct) in enumerate(pairs, start=1):
    right += correct
    below = pairs[predicted][0] if predicted < len(pairs) else logit - 2
    f1 = 2 * right / (predicted + total)
    if below < logit and f1 > best[1]:
      best = ((logit + below) / 2, f1)
  return best


def read_predictions(path: Path, faults: Faults) -> dict[str, set[str]]:
  """Reads the labels in JSON lines of predictions, by the ids of their examples."""
  return dict(read_records(path, lambda x, id, place: (id, set(labels_in(x, place))), faults))


def score_file(
  examples: Sequence[TypingExample], predicted: Mapping[str, set[str]]
) -> dict[str, float]:
  """Returns the scores of predictions by id; an example without one has no predicted labels."""
  return score([gold_labels(example) for example in examples], in_order(examples, predicted, set()))


def evaluate(
  examples: Sequence[TypingExample], predictions: Sequence[Types], labels: Sequence[str]
) -> Evaluation:
  """Returns scores, the best threshold, figures for each label, and the mistakes."""
  gold = list(map(gold_labels, examples))
  predicted = [{span.label for span in types} for types in predictions]
  threshold, f1 = best_threshold(gold, [types.logits for types in predictions])
  scores = score(gold, predicted) | {"best_threshold": threshold, "best_threshold_f1": f1}
  answers = [
    [Answered(span.score, span.label in right) for span in types]
    for right, types in zip(gold, predictions, strict=True)
  ]
  table = f1_of_sets(gold, predicted, sorted({*labels, *set().union(*gold, *predicted)}))
  mistakes = _mistakes(examples, predictions)
  return Evaluation.of(scores, answers, map(len, gold), mistakes, labels=table)


def _mistakes(examples: Sequence[TypingExample], predictions: Sequence[Types]) -> Iterator[Mistake]:
  for example, types in zip(examples, predictions, strict=True):
    gold, predicted = gold_labels(example), {span.label: span.score for span in types}
    if gold != predicted.keys():
      wrong = [value for label, value in predicted.items() if label not in gold]
      marks = tuple(Mark(*example.span, *x) for x in outcomes(sorted(gold), sorted(predicted)))
      correct, answered = (", ".join(sorted(names)) or "nothing" for names in (gold, predicted))
      surest = max(wrong, default=0.0)
      yield Mistake(example.id, example.text, marks, correct, answered, surest)
