"""Scores facts as people get them: python -m data.redocred.score [FACTS] [NAMES] [FOLDER].

FACTS and NAMES are models, english/facts and english/ner unless they are given; FOLDER is
datasets/redocred. Prints, for the test documents, precision and recall with the names that people
marked and with those that the model finds; and for data/hard_facts how many of the texts that state
a fact, and of those that deny it, give it. F1 is of the facts that the model holds for more likely
than none, however its scores were fitted; "holds" is the score of the least sure of them.
"""

import collections
import itertools
import json
import sys
from collections.abc import Iterator, Sequence, Set
from pathlib import Path
from typing import NamedTuple

import numpy as np

from luke_jax import files
from luke_jax.convert.parts import ModelParts
from luke_jax.convert.reading import read as read_model
from luke_jax.formats.files import Faults
from luke_jax.inference.predicting import predictions
from luke_jax.inference.settings import Calibration, task_of
from luke_jax.inference.triples import Extractor, Name, Triple
from luke_jax.runs.models import model_directory
from luke_jax.tasks.calibration import Answered, calibration_error
from luke_jax.tasks.facts.files import FactsExample, Holds, read
from luke_jax.tasks.facts.score import precision_at
from luke_jax.tasks.predictions import Fact

HARD = Path(__file__).parents[1] / "hard_facts" / "pairs.jsonl"
RECALLS = (0.1, 0.25, 0.3, 0.5)
LEAST = 0.02


class Least(NamedTuple):
  """Scores of the least sure fact that a model gives, and that is shown by default."""

  holds: float
  sure: float


class Counted(NamedTuple):
  """A fact that a model gave, None between names that people did not mark."""

  fact: Holds | None
  inside: bool  # a sentence
  answer: Answered


def main(facts: str, names: str, folder: Path) -> None:
  """Prints all figures as lines of JSON."""
  of_facts, finder = (read_model(model_directory(files.Path(x))) for x in (facts, names))
  extractor = Extractor(finder, of_facts, threshold=LEAST)
  documents = read(files.Path(folder / "test.jsonl"), Faults())
  least = Least(Calibration.of(of_facts).score(task_of(of_facts).threshold), extractor.sure)
  rounded = {name: round(x, 4) for name, x in least._asdict().items()}
  print(json.dumps({**rounded, "documents": len(documents)}))
  marked = [counted(x, facts) for x, facts in found(extractor, of_facts, documents)]
  of_marked = {"names": "as people marked them", **figures(documents, marked, least)}
  print(
    json.dumps(of_marked | {"f1_ign": f1_of_new(documents, marked, stated(folder), least.holds)})
  )
  told = extractor.triples([x.text for x in documents])
  for of_marked in (False, True):
    pairs = zip(documents, told, strict=True)
    by_model = [list(matched(x, of_one, of_marked=of_marked)) for x, of_one in pairs]
    which = ", those that people marked too" * of_marked
    of_found = {"names": f"as the model finds them{which}"}
    print(json.dumps(of_found | figures(documents, by_model, least)))
  for score in least:
    print(json.dumps({"least": round(score, 4), **hard(extractor, of_facts, score)}))


def stated(folder: Path) -> set[tuple[str, str, str]]:
  """Returns the facts of the training part, by all forms of their names."""
  train = [x for y in ("train", "dev") for x in read(files.Path(folder / f"{y}.jsonl"), Faults())]
  return {x for example in train for fact in example.facts or () for x in _forms(example, fact)}


def _forms(example: FactsExample, fact: Holds) -> Iterator[tuple[str, str, str]]:
  heads, tails = (example.names[x].mentions for x in fact[:2])
  for head, tail in itertools.product(heads, tails):
    yield example.text[slice(*head)], example.text[slice(*tail)], fact.label


def f1_of_new(
  examples: Sequence[FactsExample],
  answers: Sequence[Sequence[Counted]],
  stated: Set[tuple[str, str, str]],
  least: float,
) -> float:
  """Returns DocRED's "Ign F1": right facts that the training part states are none of precision."""
  given = [(e, x) for e, of_one in zip(examples, answers, strict=True) for x in of_one]
  sure = [(e, x.fact, x.answer.right) for e, x in given if x.answer.score >= least]
  right = [(e, fact) for e, fact, is_right in sure if is_right]
  known = sum(not stated.isdisjoint(_forms(e, fact)) for e, fact in right)
  precision = (len(right) - known) / max(1, len(sure) - known)
  recall = len(right) / sum(len(x.facts or ()) for x in examples)
  return round(2 * precision * recall / max(1e-9, precision + recall), 3)


def found(
  extractor: Extractor, model: ModelParts, examples: Sequence[FactsExample]
) -> Iterator[tuple[FactsExample, list[Fact]]]:
  """Yields texts with all facts that the model finds among the names that they have."""
  yield from predictions(model, extractor.task.with_threshold(LEAST), examples)


def counted(example: FactsExample, facts: Sequence[Fact]) -> list[Counted]:
  """Returns what became of facts between names that people marked."""
  gold = set(example.facts or ())
  held = [(Holds(*x.names, x.label), x.score) for x in facts]
  return [Counted(x, example.inside(x), Answered(score, x in gold)) for x, score in held]


def matched(
  example: FactsExample, triples: Sequence[Triple], *, of_marked: bool = False
) -> Iterator[Counted]:
  """Yields what became of triples.

  Names that people did not mark make them wrong, or with `of_marked` leave them out.
  """
  gold, seen = set(example.facts or ()), set()
  for x in triples:
    head, tail = (_number(example, name) for name in (x.head, x.tail))
    if head is None or tail is None:
      if not of_marked:
        yield Counted(None, True, Answered(x.score, False))
      continue
    fact = Holds(head, tail, x.relation)
    if fact not in seen:
      seen.add(fact)
      yield Counted(fact, example.inside(fact), Answered(x.score, fact in gold))


def _number(example: FactsExample, name: Name) -> int | None:
  """Returns the number of the marked name whose mention shares most with a name, if half of it."""
  shares = [
    (
      max(0, min(end, name.end) - max(start, name.start)) / max(end - start, name.end - name.start),
      i,
    )
    for i, x in enumerate(example.names)
    for start, end in x.mentions
  ]
  share, number = max(shares, default=(0, 0))
  return number if share >= 0.5 else None


def figures(
  examples: Sequence[FactsExample], answers: Sequence[Sequence[Counted]], least: Least
) -> dict[str, float]:
  """Returns precision at recalls inside sentences, F1, and what is shown by default."""
  gold = [(example, fact) for example in examples for fact in example.facts or ()]
  inside_gold = sum(example.inside(fact) for example, fact in gold)
  every = [x for of_one in answers for x in of_one]
  inside = [x.answer for x in every if x.inside]
  of_all = [x.answer for x in every]
  shown = [x for x in of_all if x.score >= least.sure]
  given = [x for x in of_all if x.score >= least.holds]
  return {
    "f1": _f1(of_all, len(gold), least.holds),
    "f1_inside": _f1(inside, inside_gold, least.holds),
    **{f"precision_at_{x}_inside": round(precision_at(inside, inside_gold, x), 3) for x in RECALLS},
    "shown": len(shown),
    "shown_precision": round(sum(x.right for x in shown) / max(1, len(shown)), 3),
    "shown_recall": round(sum(x.right for x in shown) / len(gold), 3),
    "calibration_error": round(calibration_error(given), 3),
    "false_facts": round(sum(not x.right for x in given) / len(examples), 2),
  }


def _f1(answers: Sequence[Answered], gold: int, least: float) -> float:
  given = [x.right for x in answers if x.score >= least]
  return round(2 * float(np.sum(given)) / max(1, len(given) + gold), 3)


def hard(extractor: Extractor, model: ModelParts, least: float) -> dict[str, object]:
  """Returns the shares of texts that give the fact they state, and of those that deny it."""
  lines = [json.loads(x) for x in HARD.read_text(encoding="utf-8").splitlines()]
  task = extractor.task
  examples = [task.parse({"text": x["text"], "names": x["names"]}, x["id"], x["id"]) for x in lines]
  counts: dict[str, list[bool]] = collections.defaultdict(list)
  for line, (example, facts) in zip(lines, found(extractor, model, examples), strict=True):
    there = {
      (_surface(example, x, 0), _surface(example, x, 1), x.label) for x in facts if x.score >= least
    }
    asked = tuple(line["text"][slice(*line[side])] for side in ("head", "tail"))
    pair = (*asked, line["relation"]) in there
    if line["relation"] in task.labels:
      counts["affirmed" if line["holds"] else "denied"].append(pair)
      if not line["holds"]:
        counts[f"denied: {line['form']}"].append(pair)
        counts["denied, any relation"].append(any(x[:2] == asked for x in there))
  return {name: round(sum(x) / len(x), 3) for name, x in sorted(counts.items())}


def _surface(example: FactsExample, fact: Fact, side: int) -> str:
  start, end = example.names[fact.names[side]].mentions[0]
  return example.text[start:end]


if __name__ == "__main__":
  given = sys.argv[1:]
  defaults = ["english/facts", "english/ner", "datasets/redocred"]
  chosen = [*given, *defaults[len(given) :]]
  main(chosen[0], chosen[1], Path(chosen[2]))
