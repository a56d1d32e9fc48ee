"""The metrics of entity typing: loose micro, loose macro and strict (Ling and Weld, 2012)."""

from collections.abc import Sequence

from luke_jax.tasks.evaluation import Evaluation, Mark, Mistake, precision_recall_f1
from luke_jax.tasks.predictions import Span
from luke_jax.tasks.typing.files import Example


def score(gold: Sequence[set[str]], predicted: Sequence[set[str]]) -> dict[str, float]:
  """Precision, recall and F1 over all labels, of which the paper gives the loose micro ones."""
  pairs = list(zip(gold, predicted, strict=True))
  right = sum(len(g & p) for g, p in pairs)
  micro = precision_recall_f1(right, sum(map(len, predicted)), sum(map(len, gold)))
  scores = {f"micro_{name}": value for name, value in micro.items()}
  exact = sum(g == p for g, p in pairs)
  strict = precision_recall_f1(exact, sum(map(bool, predicted)), sum(map(bool, gold)))
  return {
    "f1": scores["micro_f1"],
    "precision": scores["micro_precision"],
    "recall": scores["micro_recall"],
    **{f"macro_{name}": value for name, value in _macro(pairs).items()},
    "strict_f1": strict["f1"],
    "strict_accuracy": exact / max(1, len(pairs)),
  }


def _macro(pairs: Sequence[tuple[set[str], set[str]]]) -> dict[str, float]:
  """Means over examples: precision over those with a prediction, recall over those with gold."""
  precisions = [len(g & p) / len(p) for g, p in pairs if p]
  recalls = [len(g & p) / len(g) for g, p in pairs if g]
  precision = sum(precisions) / max(1, len(precisions))
  recall = sum(recalls) / max(1, len(recalls))
  total = precision + recall
  f1 = 2 * precision * recall / total if total else 0.0
  return {"precision": precision, "recall": recall, "f1": f1}


def evaluate(
  examples: Sequence[Example], predictions: Sequence[Sequence[Span]], labels: Sequence[str]
) -> Evaluation:
  """Scores, figures for each label, and where the model was wrong."""
  gold = [set(example.labels or ()) for example in examples]
  predicted = [{span.label for span in spans} for spans in predictions]
  return Evaluation(
    score(gold, predicted), _by_label(gold, predicted, labels), {}, _mistakes(examples, predictions)
  )


def _by_label(
  gold: Sequence[set[str]], predicted: Sequence[set[str]], labels: Sequence[str]
) -> dict[str, dict[str, float]]:
  table = {}
  for label in sorted({*labels, *set().union(*gold, *predicted)}):
    right = sum(label in g and label in p for g, p in zip(gold, predicted, strict=True))
    count = sum(label in g for g in gold)
    table[label] = precision_recall_f1(right, sum(label in p for p in predicted), count)
    table[label]["count"] = count
  return table


def _mistakes(examples: Sequence[Example], predictions: Sequence[Sequence[Span]]) -> list[Mistake]:
  found = []
  for example, spans in zip(examples, predictions, strict=True):
    gold, predicted = set(example.labels or ()), {span.label: span.score for span in spans}
    if gold != predicted.keys():
      wrong = [value for label, value in predicted.items() if label not in gold]
      marks = (Mark(*example.span, "mention"),)
      told, said = (", ".join(sorted(names)) or "nothing" for names in (gold, predicted))
      surest = max(wrong, default=0.0)
      found.append(Mistake(example.id, example.text, marks, told, said, surest))
  return sorted(found, key=lambda mistake: -mistake.score)
