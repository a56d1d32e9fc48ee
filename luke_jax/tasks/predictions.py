"""What models say of texts: typed results with the characters they are about."""

from typing import NamedTuple


class Span(NamedTuple):
  """A stretch of a text, `text[start:end]` of it, with a label and how sure the model is."""

  text: str
  start: int
  end: int
  label: str
  score: float


class Mention(NamedTuple):
  """A stretch of a text, `text[start:end]` of it."""

  text: str
  start: int
  end: int


class Relation(NamedTuple):
  """How two mentions are related, and how sure the model is."""

  head: Mention
  tail: Mention
  label: str
  score: float


class Answer(NamedTuple):
  """An answer, `text[start:end]` of its passage; of "no answer" all of it is empty."""

  text: str
  start: int
  end: int
  score: float
