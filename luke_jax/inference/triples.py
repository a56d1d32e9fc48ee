"""Triples out of texts: two names, how they are related, and the sentences that say so."""

import bisect
import collections
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from luke_jax.convert.parts import ModelParts
from luke_jax.inference.batches import CompiledShapes
from luke_jax.inference.predicting import Abstaining, predict, predictions
from luke_jax.inference.settings import sure_of, task_of
from luke_jax.tasks.facts.files import FactsExample, NameOfText, key_of
from luke_jax.tasks.facts.task import Facts
from luke_jax.tasks.predictions import Fact, Link, Span
from luke_jax.text.sentences import split_sentences
from luke_jax.text.tokenizer import Bounds

_MONTH = (
  r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
  r"|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_YEAR, _DAY = r"(?:1\d{3}|20\d{2})", r"(?:[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th)?"
_DATES = re.compile(
  rf"(?<![\w.-])(?:{_DAY} {_MONTH},? {_YEAR}|{_MONTH} {_DAY},? {_YEAR}|{_DAY} {_MONTH}(?!\w)"
  rf"|{_MONTH} {_DAY}|{_MONTH},? {_YEAR}|{_YEAR}-\d\d-\d\d|{_YEAR}s?)(?![\w-]|\.\d)"
)


def dates_in(text: str) -> Iterator[Bounds]:
  """Yields the dates and years of a text that are written out, in order."""
  return (match.span() for match in _DATES.finditer(text))


SHOWN = 0.5  # score of facts, where nobody measured from which one nine in ten are right
DATE = "TIME"  # the type of dates, for a model that knows it


class Name(NamedTuple):
  """A name in a text, `text[start:end]`, its label, and what it means if that is known."""

  text: str
  start: int
  end: int
  label: str
  title: str | None = None
  item: str | None = None  # of Wikidata
  score: float = 1.0  # of the name and its label

  @property
  def words(self) -> str:
    """Returns its words, whatever their case, signs and a leading "the"."""
    return key_of(self.text)

  @property
  def key(self) -> str:
    """Returns the key that names of the same thing share: its item, its title, or its words."""
    return self.item or self.title or self.words


class Triple(NamedTuple):
  """Two names of a text, their relation, and the sentences in which they have it."""

  head: Name
  relation: str
  tail: Name
  score: float
  sentence: Bounds


class TripleEvidence(NamedTuple):
  """A place that says a fact: the text's id, and a triple in it."""

  id: str
  triple: Triple


class MergedFact(NamedTuple):
  """Two things and their relation, by all places that say so, the surest first."""

  head: Name  # as it is named most often
  relation: str
  tail: Name
  score: float  # of the surest place
  evidence: tuple[TripleEvidence, ...]
  against: tuple[str, ...] = ()  # other tails that the head has, of a relation that has one


class Extractor(NamedTuple):
  """The models that find triples: of names, of facts and perhaps of what names mean."""

  names: ModelParts
  facts: ModelParts | None = None
  linker: ModelParts | None = None
  labels: Sequence[str] | Mapping[str, str] | None = None  # of names that are looked for
  threshold: float | None = None  # the least score of a fact; None: as the model has it
  least: float | None = None  # score of a name
  relations: Sequence[str] | None = None  # that are asked for, by name; None: all
  shapes: CompiledShapes | None = None  # that rows are padded to; None: those of the process

  def triples(self, texts: Sequence[str]) -> list[list[Triple]]:
    """Returns the triples of each text, in order."""
    return self.related(texts, self.names_in(texts))

  def related(self, texts: Sequence[str], names: Sequence[Sequence[Name]]) -> list[list[Triple]]:
    """Returns the triples of names in each text, the surest first."""
    assert self.facts is not None
    abstaining = Abstaining(self.task, self.threshold)
    groups = [same_things(of_text) for of_text in names]
    examples = [
      FactsExample(str(number), f"text {number}", text, tuple(map(_as_one, of_text)))
      for number, (text, of_text) in enumerate(zip(texts, groups, strict=True))
    ]
    found = predictions(self.facts, abstaining.task, examples, shapes=self.shapes)
    return [
      _triples(example, of_text, self._asked(abstaining.kept(facts)))
      for of_text, (example, facts) in zip(groups, found, strict=True)
    ]

  def _asked(self, facts: Sequence[Fact]) -> list[Fact]:
    return [x for x in facts if self.relations is None or x.label in self.relations]

  def names_in(self, texts: Sequence[str]) -> list[list[Name]]:
    """Returns the names of each text, with what they mean if there is a linker.

    And its dates, where the model of facts reads them.
    """
    dated = self.facts is not None and DATE in self.task.types
    labels = self.labels or (self._with_hidden() if dated else None)
    options = {"labels": labels, "threshold": self.least, "shapes": self.shapes}
    found: list[list[Span]] = predict(self.names, texts, **options)
    names = [
      [Name(x.text, x.start, x.end, x.label, score=x.score) for x in spans] for spans in found
    ]
    if self.linker is not None:
      mentions = [[[x.start, x.end] for x in of_text] for of_text in names]
      linked: list[list[Link]] = predict(self.linker, texts, mentions=mentions, shapes=self.shapes)
      names = [
        [_meaning(name, links) for name in of_text]
        for of_text, links in zip(names, linked, strict=True)
      ]
    return [_with_dates(*x) for x in zip(texts, names, strict=True)] if dated else names

  def _with_hidden(self) -> Sequence[str] | None:
    """Returns all labels of the model of names, where it hides some."""
    task = task_of(self.names)
    return task.labels[1:] if set(task.labels) - set(task.shown_labels) else None

  @property
  def sure(self) -> float:
    """Returns the score from which nine in ten facts are right, where somebody measured it."""
    assert self.facts is not None
    sure = sure_of(self.facts)
    return SHOWN if sure is None else sure

  @property
  def task(self) -> Facts:
    """Returns the task of the model of facts."""
    assert self.facts is not None
    task = task_of(self.facts)
    assert isinstance(task, Facts)  # as its answers are facts
    return task


def _with_dates(text: str, names: Sequence[Name]) -> list[Name]:
  """Returns the names of a text and its dates outside of them, in order."""
  taken = {place for name in names for place in range(name.start, name.end)}
  dates = [
    Name(text[start:end], start, end, DATE)
    for start, end in dates_in(text)
    if taken.isdisjoint(range(start, end))
  ]
  return sorted([*names, *dates], key=lambda name: (name.start, name.end))


def _meaning(name: Name, links: Sequence[Link]) -> Name:
  """Returns a name with what its link means; one that a linker has no room for has none."""
  same = (x for x in links if (x.start, x.end) == (name.start, name.end))
  link = next(same, None)
  return name if link is None else name._replace(title=link.title, item=link.item)


def same_things(names: Sequence[Name]) -> list[list[Name]]:
  """Returns the names of a text by what they mean, in order of their first mentions.

  That are those with one key, and a short form with the one long form that it can stand for: a
  person's first or last name, or the initials of an organisation.
  """
  groups: dict[str, list[Name]] = {}
  for name in names:
    groups.setdefault(name.key, []).append(name)
  long_forms: dict[tuple[str, str], set[str]] = {}
  for key, (name, *_) in groups.items():
    for short in _short_forms(name):
      long_forms.setdefault((name.label, short), set()).add(key)
  meant = {name.key for name in names if name.item or name.title}
  for key in [x for x in groups if x not in meant]:
    short = groups[key][0]
    stands_for = long_forms.get((short.label, short.words), set()) - {key}
    if len(stands_for) == 1 and (long := stands_for.pop()) in groups:
      groups[long] += groups.pop(key)
  ordered = (sorted(x, key=lambda name: name.start) for x in groups.values())
  return sorted(ordered, key=lambda group: group[0].start)


def _short_forms(name: Name) -> set[str]:
  """Returns words that a name of several may be called by: one of them, or its initials."""
  words = name.words.split()
  if len(words) < 2:
    return set()
  if name.label == "PER":
    return {words[0], words[-1]}
  if name.label != "ORG":
    return set()
  large = [word for word in words if word not in ("of", "the", "and", "for")]
  return {x for x in ("".join(y[0] for y in z) for z in (words, large)) if len(x) > 1}


def _as_one(names: Sequence[Name]) -> NameOfText:
  label = collections.Counter(name.label for name in names).most_common(1)[0][0]
  return NameOfText(tuple((name.start, name.end) for name in names), label)


def _triples(
  example: FactsExample, groups: Sequence[Sequence[Name]], facts: Sequence[Fact]
) -> list[Triple]:
  """Returns the facts of a text as triples, each with the sentences from one name to the other."""
  sentences = split_sentences(example.text, "en") if facts else []
  ends = list(itertools.accumulate(map(len, sentences)))
  triples = []
  for fact in facts:
    head, tail = (
      next(x for x in groups[number] if (x.start, x.end) == mention[1:])
      for number, mention in zip(fact.names, (fact.head, fact.tail), strict=True)
    )
    first = bisect.bisect_right(ends, min(head.start, tail.start))
    last = bisect.bisect_left(ends, max(head.end, tail.end))
    bounds = (ends[first - 1] if first else 0), ends[min(last, len(ends) - 1)]
    triples.append(Triple(head, fact.label, tail, fact.score, bounds))
  return triples


def merged(
  found: Iterable[tuple[str, Sequence[Triple]]], single: Sequence[str] = ()
) -> list[MergedFact]:
  """Returns the facts of texts with their ids, those of the most places first.

  Names mean the same thing if they have one item, else one title, else the same words whatever
  their case, signs and a leading "the". Of `single` relations a head has one tail: several are
  against each other.
  """
  places: dict[tuple[str, str, str], list[TripleEvidence]] = {}
  for id, triples in found:
    for triple in triples:
      key = triple.head.key, triple.relation, triple.tail.key
      places.setdefault(key, []).append(TripleEvidence(id, triple))
  tails: dict[tuple[str, str], list[str]] = {}
  for head, relation, tail in places:
    tails.setdefault((head, relation), []).append(tail)
  usual = {
    key: tuple(_usual(getattr(x.triple, of) for x in evidence) for of in ("head", "tail"))
    for key, evidence in places.items()
  }
  facts = []
  for key, evidence in places.items():
    evidence.sort(key=lambda x: -x.triple.score)
    head, relation, tail = key
    others = [x for x in tails[head, relation] if x != tail] if relation in single else []
    against = tuple(usual[head, relation, other][1].text for other in others)
    best = evidence[0].triple
    names = usual[key]
    facts.append(
      MergedFact(names[0], best.relation, names[1], best.score, tuple(evidence), against)
    )
  return sorted(facts, key=lambda fact: (-len(fact.evidence), -fact.score))


def _usual(names: Iterable[Name]) -> Name:
  """Returns the name that is written most often as it is."""
  names = list(names)
  ((text, _),) = collections.Counter(name.text for name in names).most_common(1)
  return next(name for name in names if name.text == text)
