"""Triples out of texts: two names, how they are related, and the sentence that says so."""

import collections
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from luke_jax.convert.parts import ModelParts
from luke_jax.inference.predicting import predict
from luke_jax.inference.settings import task_of
from luke_jax.tasks.predictions import Link, Relation, Span
from luke_jax.text.sentences import split_sentences
from luke_jax.text.tokenizer import Bounds

GROUP = 512  # pairs of names that are read together
APART = 5  # names at most between two that may be related
_NO_NAME = re.compile(r"[^\w\s]|_")
_ARTICLE = re.compile(r"^the\s+")


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
  def key(self) -> str:
    """Returns the key that names of the same thing share: its item, its title, or their words."""
    words = _ARTICLE.sub("", " ".join(_NO_NAME.sub(" ", self.text.casefold()).split()))
    return self.item or self.title or words


class Triple(NamedTuple):
  """Two names of a text, their relation, and the sentence in which they have it."""

  head: Name
  relation: str
  tail: Name
  score: float
  sentence: Bounds


class Pair(NamedTuple):
  """Two names of a sentence that may be related, and the number of their text."""

  text: int
  sentence: Bounds
  head: Name
  tail: Name


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


class Extractor(NamedTuple):
  """The models that find triples: of names, of relations and perhaps of what names mean."""

  names: ModelParts
  relations: ModelParts | None = None
  linker: ModelParts | None = None
  labels: Sequence[str] | Mapping[str, str] | None = None  # of names that are looked for
  threshold: float = 0.5  # the least score of a relation
  least: float | None = None  # score of a name
  progress: Callable[[Sequence[slice]], Iterable[slice]] = iter  # over groups of pairs of names

  def triples(self, texts: Sequence[str]) -> list[list[Triple]]:
    """Returns the triples of each text, in order."""
    return self.related(texts, self.names_in(texts))

  def related(self, texts: Sequence[str], names: Sequence[Sequence[Name]]) -> list[list[Triple]]:
    """Returns the triples of names in each text, in order."""
    pairs = [
      pair
      for number, (text, of_text) in enumerate(zip(texts, names, strict=True))
      for pair in _pairs(number, text, of_text)
    ]
    triples: list[list[Triple]] = [[] for _ in texts]
    for pair, relation in zip(pairs, self._relations(texts, pairs), strict=True):
      if relation.label != self._none and relation.score >= self.threshold:
        triples[pair.text].append(
          Triple(pair.head, relation.label, pair.tail, relation.score, pair.sentence)
        )
    return triples

  @property
  def _none(self) -> str | None:
    assert self.relations is not None
    return task_of(self.relations).none_label

  def names_in(self, texts: Sequence[str]) -> list[list[Name]]:
    """Returns the names of each text, with what they mean if there is a linker."""
    found: list[list[Span]] = predict(self.names, texts, labels=self.labels, threshold=self.least)
    names = [
      [Name(x.text, x.start, x.end, x.label, score=x.score) for x in spans] for spans in found
    ]
    if self.linker is None:
      return names
    mentions = [[[x.start, x.end] for x in of_text] for of_text in names]
    linked: list[list[Link]] = predict(self.linker, texts, mentions=mentions)
    return [
      [_meaning(name, links) for name in of_text]
      for of_text, links in zip(names, linked, strict=True)
    ]

  def _relations(self, texts: Sequence[str], pairs: Sequence[Pair]) -> list[Relation]:
    if not pairs:
      return []
    assert self.relations is not None
    sentences = [texts[pair.text][slice(*pair.sentence)] for pair in pairs]
    heads, tails = (
      [[name.start - pair.sentence[0], name.end - pair.sentence[0]] for pair, name in named]
      for named in ([(x, x.head) for x in pairs], [(x, x.tail) for x in pairs])
    )
    edges = [*range(0, len(pairs), GROUP), len(pairs)]
    groups = [slice(*bounds) for bounds in itertools.pairwise(edges)]
    return [
      relation
      for group in self.progress(groups)
      for relation in predict(
        self.relations, sentences[group], head=heads[group], tail=tails[group]
      )
    ]


def _meaning(name: Name, links: Sequence[Link]) -> Name:
  """Returns a name with what its link means; one that a linker has no room for has none."""
  same = (x for x in links if (x.start, x.end) == (name.start, name.end))
  link = next(same, None)
  return name if link is None else name._replace(title=link.title, item=link.item)


def _pairs(number: int, text: str, names: Sequence[Name]) -> Iterator[Pair]:
  """Yields two names of a sentence of a text in both orders."""
  start = 0
  for sentence in split_sentences(text, "en"):
    end = start + len(sentence)
    inside = [x for x in names if start <= x.start and x.end <= end]
    for place, head in enumerate(inside):
      for tail in inside[place + 1 : place + 2 + APART]:
        if head.key != tail.key:
          yield Pair(number, (start, end), head, tail)
          yield Pair(number, (start, end), tail, head)
    start = end


def merged(found: Iterable[tuple[str, Sequence[Triple]]]) -> list[MergedFact]:
  """Returns the facts of texts with their ids, those of the most places first.

  Names mean the same thing if they have one item, else one title, else the same words whatever
  their case, signs and a leading "the".
  """
  places: dict[tuple[str, str, str], list[TripleEvidence]] = {}
  for id, triples in found:
    for triple in triples:
      key = triple.head.key, triple.relation, triple.tail.key
      places.setdefault(key, []).append(TripleEvidence(id, triple))
  facts = []
  for evidence in places.values():
    evidence.sort(key=lambda x: -x.triple.score)
    head, tail = (_usual(getattr(x.triple, of) for x in evidence) for of in ("head", "tail"))
    best = evidence[0].triple
    facts.append(MergedFact(head, best.relation, tail, best.score, tuple(evidence)))
  return sorted(facts, key=lambda fact: (-len(fact.evidence), -fact.score))


def _usual(names: Iterable[Name]) -> Name:
  """Returns the name that is written most often as it is."""
  names = list(names)
  ((text, _),) = collections.Counter(name.text for name in names).most_common(1)
  return next(name for name in names if name.text == text)
