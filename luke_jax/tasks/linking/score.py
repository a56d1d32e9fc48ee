"""Metrics of entity linking: accuracy where names are given, precision and recall where not."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats.files import Faults, listed
from luke_jax.formats.records import read_records
from luke_jax.tasks.calibration import Answered
from luke_jax.tasks.evaluation import Evaluation, Mark, Mistake, precision_recall_f1
from luke_jax.tasks.linking.files import LinkedMention, LinkingExample
from luke_jax.tasks.predictions import Link
from luke_jax.text.tokenizer import Bounds

_OF_WORDS = "'\"_"  # beside letters and digits, where the ends of two names are compared


class Meaning(NamedTuple):
  """An entity by its title and perhaps its item; neither of them for none that is known."""

  title: str = ""
  item: str | None = None

  @property
  def known(self) -> bool:
    """Returns whether it is an entity."""
    return bool(self.title or self.item)

  def same(self, other: "Meaning") -> bool:
    """Returns whether both are one entity: by their items, or by titles where one has no item."""
    if self.item and other.item:
      return self.item == other.item
    return self.known and _spelt(self.title) == _spelt(other.title)


Answers = Mapping[Bounds, Meaning]  # by span; an answer may be that there is no known entity


class Counts(NamedTuple):
  """Numbers of right answers, of wrong ones, and of names that were missed."""

  right: int = 0
  wrong: int = 0
  missed: int = 0


def _spelt(title: str) -> str:
  """Returns a title with the first letter and the spaces that all titles have."""
  plain = " ".join(title.replace("_", " ").split())
  return plain[:1].upper() + plain[1:]


def meaning_of(mention: LinkedMention) -> Meaning:
  """Returns what a mention means."""
  return Meaning(mention.title or "", mention.item)


def all_mentions(mentions: Iterable[LinkedMention]) -> Iterator[LinkedMention]:
  """Yields the mentions and those that lie in them."""
  for mention in mentions:
    yield mention
    yield from all_mentions(mention.parts)


def counted(example: LinkingExample, answers: Answers) -> Answers:
  """Returns the answers in the annotated part, at the spans of the names that they are about.

  In a text that was annotated in part, spans end where words do: `Curie's` is about `Curie`.
  """
  if example.annotated is None:
    return answers
  names = {x[:2] for x in all_mentions(example.mentions or ())}
  by_words = {_to_words(example.text, span): span for span in answers}
  found: dict[Bounds, Meaning] = {}
  for name in names:
    for span in (name, by_words.get(_to_words(example.text, name)), by_words.get(name)):
      if span in answers:
        found[name] = answers[span]
        break
  extended = names | {_to_words(example.text, name) for name in names}
  first, last = example.annotated
  for span, meaning in answers.items():
    inside = first <= span[0] and span[1] <= last
    if inside and extended.isdisjoint((span, _to_words(example.text, span))):
      found[span] = meaning
  return found


def _to_words(text: str, span: Bounds) -> Bounds:
  """Returns the span with the whole of the words in which it begins and ends."""
  start, end = span
  while start > 0 and (text[start - 1].isalnum() or text[start - 1] in _OF_WORDS):
    start -= 1
  while end < len(text) - 1 and (text[end].isalnum() or text[end] in _OF_WORDS):
    end += 1
  if text[start : start + 1] == '"' and '"' not in text[start + 1 : end]:
    start += 1  # opens a quotation that goes on behind the name
  return start, end


def counts_of(example: LinkingExample, answers: Answers, *, with_none: bool = False) -> Counts:
  """Returns the counts of a text; with none also of names without a known entity."""
  answers, roots = counted(example, answers), example.mentions or ()
  names = {x[:2] for x in all_mentions(roots)}
  others = sum((x.known or with_none) for span, x in answers.items() if span not in names)
  each = [_counts_of_name(root, answers, with_none) for root in roots]
  right, wrong, missed = (sum(x[i] for x in each) for i in range(3))
  return Counts(right, wrong + others, missed)


def _counts_of_name(root: LinkedMention, answers: Answers, with_none: bool) -> Counts:
  """Returns the counts of a name by the labels in it that tell: once right, missed or neither."""
  each = [_of_label(x, answers, with_none) for x in _telling(root, answers) or [root]]
  missed = any(x.missed for x in each)
  wrong = sum(x.wrong for x in each)
  return Counts(int(not missed and not wrong and any(x.right for x in each)), wrong, int(missed))


def _telling(
  label: LinkedMention, answers: Answers, outer: LinkedMention | None = None
) -> list[LinkedMention]:
  """Returns the labels in a name by which it is counted; none if nothing in it was found.

  It is the outermost that is right, else those nested in it that have an answer, together with the
  missed ones beside them.
  """
  if _is_right(label, answers):
    return [label]
  found = [_telling(x, answers, label) for x in label.parts]
  if any(found):
    missed = (x for x, of_part in zip(label.parts, found, strict=True) if not of_part)
    lacking = [x for x in missed if x[:2] not in answers]
    return [*(x for of_part in found for x in of_part), *lacking]
  if outer is not None and label[:2] in answers and label[:2] != outer[:2]:
    return [label]
  return []


def _is_right(label: LinkedMention, answers: Answers) -> bool:
  gold, said = meaning_of(label), answers.get(label[:2])
  return said is not None and (gold.same(said) or not (gold.known or said.known))


def _of_label(label: LinkedMention, answers: Answers, with_none: bool) -> Counts:
  """Returns the counts of a label by itself.

  An optional one is never missed nor right, and wrong if another entity is given for its own.
  """
  gold, said = meaning_of(label), answers.get(label[:2])
  if said is None:
    missed = not label.optional or any(not x.optional for x in all_mentions(label.parts))
    return Counts(missed=int(missed and (gold.known or with_none)))
  right = _is_right(label, answers)
  if label.optional:
    wrong = gold.known and not right if said.known else with_none
    return Counts(wrong=int(wrong))
  if not (gold.known or with_none):
    return Counts(wrong=int(said.known))
  return Counts(int(right), int(not right and (said.known or with_none)), int(not right))


_ITEM = re.compile(r"Q\d+")


class Place(NamedTuple):
  """The place of a name's entity among its candidates, None if it is none, and their number."""

  place: int | None
  count: int
  known: bool  # whether the entity is one that the linker knows at all


Candidates = dict[tuple[int, int], Place]  # by span


def score(examples: Sequence[LinkingExample], predicted: Sequence[Answers]) -> dict[str, float]:
  """Returns accuracy over names with an entity, and micro and macro F1.

  What is predicted where the gold has no entity is wrong, and what is optional counts nowhere; two
  texts are alike in macro F1 whatever their length, and one without names does not count there.
  Weak F1 is of spans that overlap. Measures `…_with_none` count names without a
  known entity as well: they have to be said to have none.
  """
  pairs = list(zip(examples, predicted, strict=True))
  each = [counts_of(x, y) for x, y in pairs]
  scores = _measures(each)
  scores = {"accuracy": scores["recall"]} | scores
  found = [_measures([x])["f1"] for x in each if any(x)]
  scores["macro_f1"] = sum(found) / max(1, len(found))
  scores["weak_f1"] = _weak_f1(pairs)
  refused = [
    not y.get(x[:2], Meaning()).known
    for example, y in pairs
    for x in example.mentions or ()
    if not (meaning_of(x).known or x.optional)
  ]
  if refused:
    scores["none_of_these"] = sum(refused) / len(refused)
  if refused or any(x.annotated for x in examples):
    of_all = _measures([counts_of(x, y, with_none=True) for x, y in pairs])
    scores |= {f"{name}_with_none": value for name, value in of_all.items()}
  return scores


def _measures(counts: Sequence[Counts]) -> dict[str, float]:
  right, wrong, missed = (sum(x[i] for x in counts) for i in range(3))
  return precision_recall_f1(right, right + wrong, right + missed)


def _weak_f1(pairs: Sequence[tuple[LinkingExample, Answers]]) -> float:
  """Returns F1 of answers that overlap a name of the same entity."""
  said_right = said_all = gold_right = gold_all = 0
  for example, answers in pairs:
    names = list(all_mentions(example.mentions or ()))
    optional = {x[:2] for x in names if x.optional}
    labels = [(x[:2], meaning_of(x)) for x in names if x[:2] not in optional]
    said = [x for x in counted(example, answers).items() if x[1].known and x[0] not in optional]
    required = [x for x in example.mentions or () if meaning_of(x).known and not x.optional]
    said_right += sum(_met(x, labels) for x in said)
    gold_right += sum(_met((x[:2], meaning_of(x)), said) for x in required)
    said_all, gold_all = said_all + len(said), gold_all + len(required)
  precision, recall = said_right / max(1, said_all), gold_right / max(1, gold_all)
  return 2 * precision * recall / max(precision + recall, 1e-9)


def _met(one: tuple[Bounds, Meaning], others: Sequence[tuple[Bounds, Meaning]]) -> bool:
  (start, end), meaning = one
  return any(start < x[1] and x[0] < end and meaning.same(y) for x, y in others)


def check_meanings(example: LinkingExample) -> None:
  """Raises InputError for an example that does not say what its names mean."""
  if example.mentions is None or any(x.title is None for x in example.mentions):
    raise InputError(f"{example.place}: mentions: no titles; expected what each name means")


class _Judged(NamedTuple):
  """A link, and what the gold says of its name: nothing where it has none of that span."""

  link: Link
  said: Meaning
  meant: Sequence[LinkedMention]

  @property
  def right(self) -> bool:
    return any(meaning_of(x).same(self.said) for x in self.meant)

  @property
  def optional(self) -> bool:
    return any(x.optional for x in self.meant)


def _judged(example: LinkingExample, links: Sequence[Link]) -> list[_Judged]:
  """Returns the links that count."""
  labels: dict[Bounds, list[LinkedMention]] = defaultdict(list)
  for mention in all_mentions(example.mentions or ()):
    labels[mention[:2]].append(mention)
  first, last = example.annotated or (0, len(example.text))
  return [
    _Judged(x, Meaning(x.title or "", x.item), labels[x.start, x.end])
    for x in links
    if first <= x.start and x.end <= last
  ]


def evaluate(
  examples: Sequence[LinkingExample],
  predictions: Sequence[Sequence[Link]],
  candidates: Sequence[Candidates],
) -> Evaluation:
  """Returns the scores of links and the surest mistakes."""
  said = [{(x.start, x.end): Meaning(x.title or "", x.item) for x in y} for y in predictions]
  scores = score(examples, said) | _of_candidates(examples, said, candidates)
  judged = list(map(_judged, examples, predictions))
  answers = [
    [Answered(x.link.score, x.right) for x in links if x.said.known and not x.optional]
    for links in judged
  ]
  counts = (
    sum(meaning_of(x).known and not x.optional for x in example.mentions or ())
    for example in examples
  )
  return Evaluation.of(scores, answers, counts, _mistakes(examples, judged))


def _of_candidates(
  examples: Sequence[LinkingExample], said: Sequence[Answers], candidates: Sequence[Candidates]
) -> dict[str, float]:
  """Returns how often the right entity is known, a candidate, and the likeliest by the prior.

  And accuracy over the names of known entities, and, where there are some, the same of names that
  have several candidates with the right one among them.
  """
  rows = [
    (of_text[x[:2]], meaning_of(x).same(answers.get(x[:2], Meaning())))
    for example, answers, of_text in zip(examples, said, candidates, strict=True)
    for x in example.mentions or ()
    if x[:2] in of_text
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
  examples: Sequence[LinkingExample], judged: Sequence[Sequence[_Judged]]
) -> Iterator[Mistake]:
  for example, links in zip(examples, judged, strict=True):
    for link, said, meant in links:
      of_name = _Judged(link, said, meant)
      gold = [x for x in map(meaning_of, meant) if x.known]
      if of_name.right or of_name.optional or not (gold or said.known):
        continue
      mark = Mark(link.start, link.end, link.title or "none", "wrong")
      correct = " or ".join(dict.fromkeys(x.title or x.item or "" for x in gold)) or "none"
      names = correct, link.title or "none"
      yield Mistake(example.id, example.text, (mark,), *names, link.score, "")


def read_predictions(path: Path, faults: Faults) -> dict[str, Answers]:
  """Reads links by id from JSON lines, as `luke-jax predict` or ELEVANT writes them."""
  return dict(read_records(path, _prediction, faults))


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
  for example in examples:
    check_meanings(example)
  return score(examples, [predicted.get(x.id, {}) for x in examples])
