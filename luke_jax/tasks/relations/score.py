"""The metrics of relation classification: TACRED's micro F1, and SemEval-2010 Task 8's macro F1."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats.files import Faults, lines, string
from luke_jax.formats.records import read_records
from luke_jax.tasks.calibration import Answered
from luke_jax.tasks.evaluation import (
  Evaluation,
  Mark,
  Mistake,
  false_answers,
  in_order,
  precision_recall_f1,
)
from luke_jax.tasks.predictions import Relation
from luke_jax.tasks.relations.files import RelationExample

# In TACRED and KBP37, in SemEval-2010 Task 8, and in the TACRED of ERNIE's authors.
NO_RELATION = ("no_relation", "Other", "NA")
UNANSWERED = ""
_DIRECTION = re.compile(r"\(e[12],e[12]\)$")


def negative_of(labels: Iterable[str]) -> str | None:
  """Returns the label that means "no relation", if one of the labels does."""
  names = set(labels)
  return next((label for label in NO_RELATION if label in names), None)


def score(gold: Sequence[str], predicted: Sequence[str], negative: str = "") -> dict[str, float]:
  """Returns micro precision, recall and F1 of all labels but the negative one, as TACRED's scorer.

  For labels with a direction, `(e1,e2)`, the first score is the official one of SemEval-2010
  Task 8. "" as a prediction means none.
  """
  pairs = list(zip(gold, predicted, strict=True))
  outside = {negative or negative_of({*gold, *predicted}), UNANSWERED}
  right = sum(g == p and g not in outside for g, p in pairs)
  guesses = sum(p not in outside for p in predicted)
  micro = precision_recall_f1(right, guesses, sum(g not in outside for g in gold))
  if not guesses:
    micro["precision"] = 1.0  # as in the scorer, for no predictions; F1 is 0 anyway
  related = ([x not in outside for x in labels] for labels in (gold, predicted))
  scores = {
    "f1": micro["f1"],
    "precision": micro["precision"],
    "recall": micro["recall"],
    "accuracy": sum(g == p for g, p in pairs) / max(1, len(pairs)),
    "macro_f1": _mean_f1(row for label, row in _table(pairs).items() if label not in outside),
    **false_answers(*related),
  }
  if not any(_DIRECTION.search(label) for label in gold):
    return scores
  relations = _table(pairs, lambda label: _DIRECTION.sub("", label)).items()
  scored = (row for label, row in relations if label not in outside and row["count"])
  return {"semeval_macro_f1": _mean_f1(scored)} | scores


def _table(
  pairs: Sequence[tuple[str, str]], name: Callable[[str], str] = str
) -> dict[str, dict[str, float]]:
  """Returns figures for each name; only the label itself is right, not another of the same name."""
  right = Counter(name(g) for g, p in pairs if g == p)
  guesses = Counter(name(p) for _, p in pairs)
  gold = Counter(name(g) for g, _ in pairs)
  return {
    x: precision_recall_f1(right[x], guesses[x], gold[x]) | {"count": gold[x]}
    for x in sorted(gold | guesses)
  }


def _mean_f1(rows: Iterable[Mapping[str, float]]) -> float:
  f1s = [row["f1"] for row in rows]
  return sum(f1s) / max(1, len(f1s))


def read_predictions(path: Path, faults: Faults) -> dict[str, str] | list[str]:
  """Reads labels by the ids of their examples, or in the order of all examples.

  JSON lines have ids, and so have lines of an id, a tab and a label, as SemEval's scorer reads
  them; TACRED's reads a label a line.
  """
  first = next((line for _, line in lines(path) if line.strip()), "")
  if first.lstrip().startswith("{"):
    return dict(read_records(path, lambda x, id, place: (id, string(x, "label", place)), faults))
  if "\t" in first:
    return _by_id(path, faults)
  labels = []
  for number, line in lines(path):
    if not line.strip() or "\t" in line:
      raise InputError(f"{path}: line {number}: {line!r}; expected a label and nothing else")
    labels.append(line.strip())
  return labels


def _by_id(path: Path, faults: Faults) -> dict[str, str]:
  labels: dict[str, str] = {}
  for number, line in lines(path):
    with faults.caught():
      id, _, label = map(str.strip, line.partition("\t"))
      if not id or not label or id in labels:
        raise InputError(
          f"{path}: line {number}: {line!r}; expected an id, each once, a tab and a label"
        )
      labels[id] = label
  return labels


def score_file(
  examples: Sequence[RelationExample], predicted: Mapping[str, str] | Sequence[str]
) -> dict[str, float]:
  """Returns the scores of labels from `read_predictions`; a missing one counts as unanswered."""
  gold = list(map(gold_label, examples))
  if isinstance(predicted, Mapping):
    return score(gold, in_order(examples, predicted, UNANSWERED))
  if len(predicted) != len(examples):
    raise InputError(f"predictions: {len(predicted)} labels; expected {len(examples)}, one a line")
  return score(gold, predicted)


def gold_label(example: RelationExample) -> str:
  """Returns the label of an example that must have one."""
  if example.label is None:
    raise InputError(f"{example.place}: label: missing; expected the name of a relation")
  return example.label


def evaluate(
  examples: Sequence[RelationExample],
  predictions: Sequence[Relation],
  labels: Sequence[str],
  negative: str = "",
) -> Evaluation:
  """Returns scores, figures for each label, which label was taken for which, and the mistakes."""
  gold, predicted = list(map(gold_label, examples)), [relation.label for relation in predictions]
  pairs = list(zip(gold, predicted, strict=True))
  absent = {label: precision_recall_f1(0, 0, 0) | {"count": 0} for label in labels}
  table = {label: row for label, row in (absent | _table(pairs)).items() if label != UNANSWERED}
  negative = negative or negative_of(labels) or ""
  answers = [
    [Answered(x.score, x.label == label)] if x.label not in (negative, UNANSWERED) else []
    for label, x in zip(gold, predictions, strict=True)
  ]
  counts = (int(label != negative) for label in gold)
  scores, mistakes = score(gold, predicted, negative), _mistakes(examples, predictions)
  return Evaluation.of(scores, answers, counts, mistakes, labels=table, confusion=Counter(pairs))


def _mistakes(
  examples: Sequence[RelationExample], predictions: Sequence[Relation]
) -> Iterator[Mistake]:
  for example, relation in zip(examples, predictions, strict=True):
    gold = gold_label(example)
    if gold != relation.label:
      marks = (Mark(*example.head, "head"), Mark(*example.tail, "tail"))
      yield Mistake(example.id, example.text, marks, gold, relation.label, relation.score)
