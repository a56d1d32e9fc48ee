"""Predictions of models for texts: typed results with the characters that they are about."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class Span(NamedTuple):
  """A stretch of a text, `text[start:end]` of it, with a label and the model's confidence."""

  text: str
  start: int
  end: int
  label: str
  score: float


class Labelled(NamedTuple):
  """A half-open stretch of words, or of the characters of a text, and its label."""

  start: int
  end: int
  label: str


class Missed(NamedTuple):
  """An entity of an example that no model can find, its place, and the reason."""

  place: str
  text: str
  why: str


@dataclasses.dataclass(frozen=True)
class Types(Sequence[Span]):
  """Types of a mention, the most probable first, and the logits of all labels."""

  spans: tuple[Span, ...]
  logits: Mapping[str, float]

  def __getitem__(self, index: Any) -> Any:
    return self.spans[index]

  def __len__(self) -> int:
    return len(self.spans)


class Mention(NamedTuple):
  """A stretch of a text, `text[start:end]` of it."""

  text: str
  start: int
  end: int


class Relation(NamedTuple):
  """Relation of two mentions, and the model's confidence."""

  head: Mention
  tail: Mention
  label: str
  score: float


class Fact(NamedTuple):
  """A relation between two names of a text, where these are nearest, and the model's confidence."""

  head: Mention
  tail: Mention
  label: str
  score: float
  names: tuple[int, int]  # their numbers among those of the text


class Answer(NamedTuple):
  """An answer, `text[start:end]` of its passage; for "no answer" the text is empty."""

  text: str
  start: int
  end: int
  score: float


class Entity(NamedTuple):
  """An entity that a name may mean, and the model's confidence."""

  title: str
  item: str | None  # of Wikidata
  score: float


class Evidence(NamedTuple):
  """A place of a wiki that says so: page, number of the sentence in it, first character there."""

  title: str
  sentence: int
  start: int


class Link(NamedTuple):
  """A name in a text, `text[start:end]`, the entity that it means, and what else it may mean.

  Without a title it means none that the model knows of.
  """

  text: str
  start: int
  end: int
  title: str | None
  item: str | None
  score: float
  others: tuple[Entity, ...] = ()
  evidence: tuple[Evidence, ...] = ()  # links by which the name means that entity

  @property
  def label(self) -> str:
    """Returns the text that a picture writes beside the name."""
    return self.title or "none"


class Label(NamedTuple):
  """A label of a text, and the model's confidence."""

  label: str
  score: float


@dataclasses.dataclass(frozen=True)
class Labels(Sequence[Label]):
  """Labels of a text, the most probable first, and the probabilities of all labels."""

  labels: tuple[Label, ...]
  scores: Mapping[str, float]

  @property
  def label(self) -> str:
    """Returns the most probable label, "" if there is none."""
    return self.labels[0].label if self.labels else ""

  def __getitem__(self, index: Any) -> Any:
    return self.labels[index]

  def __len__(self) -> int:
    return len(self.labels)


class Number(NamedTuple):
  """A number that a text is given."""

  value: float


@dataclasses.dataclass(frozen=True)
class TaggedSpans(Sequence[Span]):
  """Entities of a document in order, and the tags of its words that they were read from."""

  spans: tuple[Span, ...]
  tags: tuple[str, ...]  # of each word
  scores: tuple[float, ...]  # the model's confidence in each tag

  def __getitem__(self, index: Any) -> Any:
    return self.spans[index]

  def __len__(self) -> int:
    return len(self.spans)
