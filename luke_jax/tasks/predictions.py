"""What models say of texts: typed results with the characters they are about."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class Span(NamedTuple):
  """A stretch of a text, `text[start:end]` of it, with a label and how sure the model is."""

  text: str
  start: int
  end: int
  label: str
  score: float


@dataclasses.dataclass(frozen=True)
class Types(Sequence[Span]):
  """The types that a mention has, the most probable first; and of all labels the logits."""

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
