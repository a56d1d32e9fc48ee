"""Metrics of entity linking: accuracy where names are given, precision and recall where not."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.tasks.evaluation import Evaluation, Mark, Mistake, precision_recall_f1
from luke_jax.tasks.files import Faults, listed, read_json_lines
from luke_jax.tasks.linking.files import Example
from luke_jax.tasks.predictions import Link

Answers = Mapping[tuple[int, int], str]  # titles by span, "" for no known entity


class Place(NamedTuple):
  """The place of a name's entity among its candidates, None if it is none, and their number."""

  place: int | None
  count: int


Candidates = dict[tuple[int, int], Place]  # by span


def score(gold: Sequence[Answers], predicted: Sequence[Answers]) -> dict[str, float]:
  """Returns accuracy over names with an entity, and micro and macro F1.

  What is predicted where the gold has no entity is wrong; two texts are alike in macro F1 whatever
  their length, and one without names does not count there.
  """
  counts = [_counts(x, y) for x, y in zip(gold, predicted, strict=True)]
  right, said, all_gold = (
    (sum(column) for column in zip(*counts, strict=True)) if counts else (0,) * 3
  )
  scores = {"accuracy": right / max(1, all_gold)} | precision_recall_f1(right, said, all_gold)
  each = [precision_recall_f1(*x)["f1"] for x in counts if x[1] or x[2]]
  none = [span for x in gold for span, title in x.items() if not title]
  refused = sum(
    not y.get(span, "")
    for x, y in zip(gold, predicted, strict=True)
    for span, title in x.items()
    if not title
  )
  scores["macro_f1"] = sum(each) / max(1, len(each))
  return scores | ({"none_of_these": refused / len(none)} if none else {})


def _counts(gold: Answers, predicted: Answers) -> tuple[int, int, int]:
  """Returns the numbers of right answers, of answers, and of names with an entity."""
  said = {span: title for span, title in predicted.items() if title}
  right = sum(gold.get(span) == title for span, title in said.items())
  return right, len(said), sum(map(bool, gold.values()))


def golds(example: Example) -> Answers:
  """Returns what the names of an example mean."""
  if example.mentions is None or any(x.title is None for x in example.mentions):
    raise InputError(f"{example.place}: mentions: no titles; expected what each name means")
  return {(x.start, x.end): x.title or "" for x in example.mentions}


def evaluate(
  examples: Sequence[Example],
  predictions: Sequence[Sequence[Link]],
  candidates: Sequence[Candidates],
) -> Evaluation:
  """Returns the scores of links and the surest mistakes."""
  gold = list(map(golds, examples))
  said = [{(x.start, x.end): x.title or "" for x in links} for links in predictions]
  scores = score(gold, said) | _of_candidates(gold, said, candidates)
  return Evaluation(scores, mistakes=_mistakes(examples, gold, predictions))


def _of_candidates(
  gold: Sequence[Answers], said: Sequence[Answers], candidates: Sequence[Candidates]
) -> dict[str, float]:
  """Returns how often the right entity is a candidate, and the likeliest one by the prior.

  And, where there are some, the same of names that have several candidates with the right one
  among them.
  """
  rows = [
    (place, answers.get(span) == right[span])
    for right, answers, found in zip(gold, said, candidates, strict=True)
    for span, place in found.items()
  ]
  count = max(1, len(rows))
  scores = {
    "recall_of_candidates": sum(x.place is not None for x, _ in rows) / count,
    "prior_accuracy": sum(x.place == 0 for x, _ in rows) / count,
  }
  several = [(x, right) for x, right in rows if x.count > 1 and x.place is not None]
  if several:
    scores["ambiguous_accuracy"] = sum(right for _, right in several) / len(several)
    scores["ambiguous_prior_accuracy"] = sum(x.place == 0 for x, _ in several) / len(several)
  return scores


def _mistakes(
  examples: Sequence[Example], gold: Sequence[Answers], predictions: Sequence[Sequence[Link]]
) -> list[Mistake]:
  found = []
  for example, right, links in zip(examples, gold, predictions, strict=True):
    for link in links:
      correct = right.get((link.start, link.end), "")
      if correct != (link.title or ""):
        mark = Mark(link.start, link.end, link.title or "none", "wrong")
        names = correct or "none", link.title or "none"
        found.append(Mistake(example.id, example.text, (mark,), *names, link.score, ""))
  return sorted(found, key=lambda mistake: -mistake.score)


def read_predictions(path: Path, faults: Faults) -> dict[str, Answers]:
  """Reads links by id from JSON lines, as `luke-jax predict` writes them."""
  return dict(read_json_lines(path, _prediction, faults))


def _prediction(value: Mapping[str, Any], id: str, place: str) -> tuple[str, Answers]:
  links = listed(value, "links", place)
  for link in links:
    if not isinstance(link, list | tuple) or len(link) < 3:
      raise InputError(f"{place}: links: {link!r}; expected [start, end, title]")
  return id, {(link[0], link[1]): link[2] or "" for link in links}


def score_file(examples: Sequence[Example], predicted: Mapping[str, Answers]) -> dict[str, float]:
  """Returns the scores of links by id; those of other texts do not count."""
  return score(list(map(golds, examples)), [predicted.get(x.id, {}) for x in examples])
