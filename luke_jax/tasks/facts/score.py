"""Precision, recall and F1 of facts, as DocRED counts them, inside sentences and across them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats.files import Faults
from luke_jax.formats.records import read_records
from luke_jax.tasks.calibration import Answered, wanted_of
from luke_jax.tasks.evaluation import (
  Evaluation,
  Mark,
  Mistake,
  false_answers,
  in_order,
  precision_recall_f1,
)
from luke_jax.tasks.facts.files import MOST_NAMES, FactsExample, Holds, facts_in
from luke_jax.tasks.predictions import Fact

RECALL = 0.3  # inside sentences, at which precision is given


def read_predictions(path: Path, faults: Faults) -> dict[str, tuple[Holds, ...]]:
  """Reads facts by the ids of their texts, as `luke-jax predict` writes them."""

  def facts(value: Mapping[str, Any], id: str, place: str) -> tuple[str, tuple[Holds, ...]]:
    return id, tuple(facts_in(value, "facts", range(MOST_NAMES), place, least=3))

  return dict(read_records(path, facts, faults))


def score_file(
  examples: Sequence[FactsExample], predicted: Mapping[str, Sequence[Holds]]
) -> dict[str, float]:
  """Returns the scores of predictions by id; a text without any has no facts."""
  ordered = [list(x) for x in in_order(examples, predicted, ())]
  for example, facts in zip(examples, ordered, strict=True):
    for fact in facts:
      if max(fact.head, fact.tail) >= (count := len(example.names)):
        where = f"predictions: id {example.id!r}"
        raise InputError(f"{where}: {list(fact)}; expected numbers below {count}, of its names")
  return _scores(examples, ordered)


def _scores(
  examples: Sequence[FactsExample], predicted: Sequence[Sequence[Holds]]
) -> dict[str, float]:
  """Returns micro F1 over facts, the same inside sentences and across them, and false ones a text.

  What is unknown counts nowhere.
  """
  counts: Counter[tuple[str, bool]] = Counter()
  gold = [set(x.facts or ()) for x in examples]
  answers = [set(_known(x, of)) for x, of in zip(examples, predicted, strict=True)]
  for example, right, given in zip(examples, gold, answers, strict=True):
    for name, facts in (("gold", right), ("given", given), ("right", right & given)):
      counts.update((name, example.inside(fact)) for fact in facts)
  parts = {
    inside: precision_recall_f1(*(counts[name, inside] for name in ("right", "given", "gold")))
    for inside in (True, False)
  }
  sums = [counts[name, True] + counts[name, False] for name in ("right", "given", "gold")]
  whole = precision_recall_f1(*sums)
  return {
    **{name: whole[name] for name in ("f1", "precision", "recall")},
    "f1_inside": parts[True]["f1"],
    "f1_across": parts[False]["f1"],
    "false_facts": (sums[1] - sums[0]) / max(1, len(examples)),
    **false_answers(gold, answers),
  }


def _known(example: FactsExample, facts: Sequence[Holds]) -> list[Holds]:
  """Returns the facts of which it is known whether they hold."""
  unknown = set(example.unknown)
  return [x for x in facts if x not in unknown and Holds(x.head, x.tail) not in unknown]


def evaluate(
  examples: Sequence[FactsExample], predictions: Sequence[Sequence[Fact]], threshold: float
) -> Evaluation:
  """Returns the scores of facts above a threshold, and the figures of all that were found.

  Beside F1, the precision of the surest facts inside sentences that are three in ten of those.
  """
  every = [[Holds(*x.names, x.label) for x in of_one] for of_one in predictions]
  scored = [
    {fact: x.score for fact, x in zip(facts, of_one, strict=True)}
    for facts, of_one in zip(every, predictions, strict=True)
  ]
  sure = [
    [fact for fact in facts if of[fact] >= threshold]
    for facts, of in zip(every, scored, strict=True)
  ]
  scores = _scores(examples, sure)
  answers, inside = [], []
  for example, facts, of in zip(examples, every, scored, strict=True):
    gold = set(example.facts or ())
    known = [(fact, Answered(of[fact], fact in gold)) for fact in _known(example, facts)]
    answers.append([x for fact, x in known])
    inside += [x for fact, x in known if example.inside(fact)]
  wanted = wanted_of(answers, (len(x.facts or ()) for x in examples))
  count = sum(x.inside(fact) for x in examples for fact in x.facts or ())
  scores |= {"precision_at_30": precision_at(inside, count, RECALL)}
  flat = [x for of_one in answers for x in of_one if x.score >= threshold]
  confusion = _confusion(examples, sure)
  return Evaluation(
    scores, _table(confusion), confusion, _mistakes(examples, predictions, threshold), flat, wanted
  )


def precision_at(answers: Sequence[Answered], gold: int, recall: float) -> float:
  """Returns the precision of as many of the surest answers as have a recall; 0 if all have less."""
  right = np.cumsum([x.right for x in sorted(answers, key=lambda x: -x.score)])
  enough = np.flatnonzero(right >= recall * gold)
  return float(right[enough[0]] / (enough[0] + 1)) if gold and len(enough) else 0.0


def _table(confusion: Mapping[tuple[str, str], int]) -> dict[str, dict[str, float]]:
  """Returns precision, recall, F1 and the number of gold facts of each relation."""
  gold: Counter[str] = Counter()
  given: Counter[str] = Counter()
  for (right, answer), count in confusion.items():
    gold[right] += count
    given[answer] += count
  return {
    name: precision_recall_f1(confusion.get((name, name), 0), given[name], gold[name])
    | {"count": gold[name]}
    for name in sorted((gold | given).keys() - {""})
  }


def _confusion(
  examples: Sequence[FactsExample], predicted: Sequence[Sequence[Holds]]
) -> Counter[tuple[str, str]]:
  """Returns how often a relation was found, missed, or given where it does not hold."""
  pairs: Counter[tuple[str, str]] = Counter()
  for example, facts in zip(examples, predicted, strict=True):
    gold, answers = set(example.facts or ()), set(_known(example, facts))
    pairs.update((x.label, x.label) for x in gold & answers)
    pairs.update((x.label, "") for x in gold - answers)
    pairs.update(("", x.label) for x in answers - gold)
  return pairs


def _mistakes(
  examples: Sequence[FactsExample], predictions: Sequence[Sequence[Fact]], threshold: float
) -> list[Mistake]:
  mistakes = []
  for example, facts in zip(examples, predictions, strict=True):
    gold = set(example.facts or ())
    by_pair = {(x.head, x.tail): x.label for x in gold}
    for fact in facts:
      held = Holds(*fact.names, fact.label)
      if fact.score >= threshold and held not in gold and _known(example, [held]):
        marks = (Mark(*fact.head[1:], "head"), Mark(*fact.tail[1:], "tail"))
        right = by_pair.get(fact.names, "")
        mistakes.append(Mistake(example.id, example.text, marks, right, fact.label, fact.score))
  return sorted(mistakes, key=lambda mistake: -mistake.score)
