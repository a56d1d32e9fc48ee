"""Metrics of entity linking: accuracy where names are given, precision and recall where not."""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.tasks.calibration import Answered, wanted_of
from luke_jax.tasks.evaluation import Evaluation, Mark, Mistake, precision_recall_f1
from luke_jax.tasks.files import Faults, listed, read_json_lines
from luke_jax.tasks.linking.files import LinkingExample
from luke_jax.tasks.predictions import Link

_ITEM = re.compile(r"Q\d+")


class Meaning(NamedTuple):
  """An entity by its title and perhaps its item; neither of them for none that is known."""

  title: str = ""
  item: str | None = None
  optional: bool = False  # counts neither as found nor as missed

  @property
  def known(self) -> bool:
    """Returns whether it is an entity."""
    return bool(self.title or self.item)

  def same(self, other: "Meaning") -> bool:
    """Returns whether both are one entity: by their items, or by titles where one has no item."""
    if self.item and other.item:
      return self.item == other.item
    return self.known and _spelt(self.title) == _spelt(other.title)


def _spelt(title: str) -> str:
  """Returns a title with the first letter and the spaces that all titles have."""
  plain = " ".join(title.replace("_", " ").split())
  return plain[:1].upper() + plain[1:]


Answers = Mapping[tuple[int, int], Meaning]  # by span


class Place(NamedTuple):
  """The place of a name's entity among its candidates, None if it is none, and their number."""

  place: int | None
  count: int
  known: bool  # whether the entity is one that the linker knows at all


Candidates = dict[tuple[int, int], Place]  # by span


class Counts(NamedTuple):
  """Numbers of right answers, of answers, and of what there is to find."""

  right: int
  said: int
  gold: int


def score(gold: Sequence[Answers], predicted: Sequence[Answers]) -> dict[str, float]:
  """Returns accuracy over names with an entity, and micro and macro F1.

  What is predicted where the gold has no entity is wrong, and what is optional counts nowhere; two
  texts are alike in macro F1 whatever their length, and one without names does not count there.
  Weak F1 is of spans that overlap. Where some names have no known entity, `f1_with_none` counts
  those that are said to have none as well.
  """
  pairs = list(zip(gold, predicted, strict=True))
  each = [counts_of(x, y) for x, y in pairs]
  total = _sum(each)
  scores = {"accuracy": total.right / max(1, total.gold)} | precision_recall_f1(*total)
  found = [precision_recall_f1(*x)["f1"] for x in each if x.said or x.gold]
  scores["macro_f1"] = sum(found) / max(1, len(found))
  scores["weak_f1"] = _weak_f1(pairs)
  refused = [
    not y.get(span, Meaning()).known
    for x, y in pairs
    for span, meaning in x.items()
    if not (meaning.known or meaning.optional)
  ]
  if refused:
    scores["none_of_these"] = sum(refused) / len(refused)
    of_all = _sum([counts_of(x, y, with_none=True) for x, y in pairs])
    scores["f1_with_none"] = precision_recall_f1(*of_all)["f1"]
  return scores


def counts_of(gold: Answers, predicted: Answers, *, with_none: bool = False) -> Counts:
  """Returns the counts of a text; with none also of names without a known entity."""
  required = {x: y for x, y in gold.items() if not y.optional and (y.known or with_none)}
  said = {
    span: meaning
    for span, meaning in predicted.items()
    if (meaning.known or with_none) and not gold.get(span, Meaning()).optional
  }
  right = sum(
    span in required and (required[span].same(x) or not (required[span].known or x.known))
    for span, x in said.items()
  )
  return Counts(right, len(said), len(required))


def _sum(counts: Sequence[Counts]) -> Counts:
  right, said, gold = (sum(x[i] for x in counts) for i in range(3))
  return Counts(right, said, gold)


def _weak_f1(pairs: Sequence[tuple[Answers, Answers]]) -> float:
  """Returns F1 of answers that overlap a name of the same entity."""
  said_right = said_all = gold_right = gold_all = 0
  for gold, predicted in pairs:
    required = {x: y for x, y in gold.items() if y.known and not y.optional}
    said = {
      span: meaning
      for span, meaning in predicted.items()
      if meaning.known and not gold.get(span, Meaning()).optional
    }
    said_right += sum(_met(x, required) for x in said.items())
    gold_right += sum(_met(x, said) for x in required.items())
    said_all, gold_all = said_all + len(said), gold_all + len(required)
  precision, recall = said_right / max(1, said_all), gold_right / max(1, gold_all)
  return 2 * precision * recall / max(precision + recall, 1e-9)


def _met(one: tuple[tuple[int, int], Meaning], others: Answers) -> bool:
  (start, end), meaning = one
  return any(start < x[1] and x[0] < end and meaning.same(y) for x, y in others.items())


def golds(example: LinkingExample) -> Answers:
  """Returns what the names of an example mean."""
  if example.mentions is None or any(x.title is None for x in example.mentions):
    raise InputError(f"{example.place}: mentions: no titles; expected what each name means")
  return {(x.start, x.end): Meaning(x.title or "", x.item, x.optional) for x in example.mentions}


def evaluate(
  examples: Sequence[LinkingExample],
  predictions: Sequence[Sequence[Link]],
  candidates: Sequence[Candidates],
) -> Evaluation:
  """Returns the scores of links and the surest mistakes."""
  gold = list(map(golds, examples))
  said = [{(x.start, x.end): Meaning(x.title or "", x.item) for x in y} for y in predictions]
  scores = score(gold, said) | _of_candidates(gold, said, candidates)
  answers = [
    [
      Answered(link.score, _meant(link, right).same(Meaning(link.title, link.item)))
      for link in links
      if link.title and not _meant(link, right).optional
    ]
    for right, links in zip(gold, predictions, strict=True)
  ]
  counts = (sum(x.known and not x.optional for x in right.values()) for right in gold)
  mistakes = _mistakes(examples, gold, predictions)
  return Evaluation(scores, {}, {}, mistakes, list(chain(*answers)), wanted_of(answers, counts))


def _meant(link: Link, gold: Answers) -> Meaning:
  return gold.get((link.start, link.end), Meaning())


def _of_candidates(
  gold: Sequence[Answers], said: Sequence[Answers], candidates: Sequence[Candidates]
) -> dict[str, float]:
  """Returns how often the right entity is known, a candidate, and the likeliest by the prior.

  And accuracy over the names of known entities, and, where there are some, the same of names that
  have several candidates with the right one among them.
  """
  rows = [
    (place, right[span].same(answers.get(span, Meaning())))
    for right, answers, of_text in zip(gold, said, candidates, strict=True)
    for span, place in of_text.items()
  ]
  several = [(x, right) for x, right in rows if x.count > 1 and x.place is not None]
  scores = {
    "recall_of_knowledge": _share(rows, lambda x: x.known),
    "recall_of_candidates": _share(rows, lambda x: x.place is not None),
    "prior_accuracy": _share(rows, lambda x: x.place == 0),
  }
  if known := [(x, right) for x, right in rows if x.known]:
    scores["accuracy_of_known"] = sum(right for _, right in known) / len(known)
  if several:
    scores["ambiguous_accuracy"] = sum(right for _, right in several) / len(several)
    scores["ambiguous_prior_accuracy"] = _share(several, lambda x: x.place == 0)
  return scores


def _share(rows: Sequence[tuple[Place, bool]], holds: Callable[[Place], bool]) -> float:
  return sum(holds(place) for place, _ in rows) / max(1, len(rows))


def _mistakes(
  examples: Sequence[LinkingExample], gold: Sequence[Answers], predictions: Sequence[Sequence[Link]]
) -> list[Mistake]:
  mistakes = []
  for example, right, links in zip(examples, gold, predictions, strict=True):
    for link in links:
      correct = _meant(link, right)
      said = Meaning(link.title or "", link.item)
      if correct.optional or correct.same(said) or not (correct.known or said.known):
        continue
      mark = Mark(link.start, link.end, link.title or "none", "wrong")
      names = correct.title or correct.item or "none", link.title or "none"
      mistakes.append(Mistake(example.id, example.text, (mark,), *names, link.score, ""))
  return sorted(mistakes, key=lambda mistake: -mistake.score)


def read_predictions(path: Path, faults: Faults) -> dict[str, Answers]:
  """Reads links by id from JSON lines, as `luke-jax predict` or ELEVANT writes them."""
  return dict(read_json_lines(path, _prediction, faults))


def _prediction(value: Mapping[str, Any], id: str, place: str) -> tuple[str, Answers]:
  if "evaluation_span" in value:  # of ELEVANT
    mentions = value.get("entity_mentions", ())
    links = [[*x.get("span", ()), None, x.get("id")] for x in mentions if isinstance(x, Mapping)]
  else:
    links = listed(value, "links", place)
  answers = {}
  for link in links:
    valid = isinstance(link, list | tuple) and len(link) >= 3
    if not valid or not isinstance(link[2], str | None) or {type(x) for x in link[:2]} != {int}:
      raise InputError(f"{place}: links: {link!r}; expected [start, end, title]")
    item = link[3] if len(link) > 3 and _ITEM.fullmatch(str(link[3])) else None
    answers[link[0], link[1]] = Meaning(link[2] or "", item)
  return id, answers


def score_file(
  examples: Sequence[LinkingExample], predicted: Mapping[str, Answers]
) -> dict[str, float]:
  """Returns the scores of links by id; those of other texts do not count."""
  return score(list(map(golds, examples)), [predicted.get(x.id, {}) for x in examples])
