"""Documents: sentences of words, with the entities in them."""

import dataclasses
import itertools
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from luke_jax.tasks.ner.tags import Labelled
from luke_jax.tasks.ner.words import PAPER, Reading, joined
from luke_jax.tasks.predictions import Span
from luke_jax.text.special_tokens import Bounds

Sentences = tuple[tuple[Bounds, ...], ...]


@dataclasses.dataclass(frozen=True)
class Example:
  """A document: the words of its sentences and, if known, its entities."""

  id: str
  place: str  # file and line
  text: str
  sentences: Sentences  # their words, as characters of the text
  spans: tuple[Labelled, ...] | None = None  # characters
  as_words: bool = False  # files have words instead of a text, and spans of words
  lines: tuple[int, ...] = ()  # in a file of columns: the first line of each sentence

  @property
  def words(self) -> list[Bounds]:
    """Returns the words of all sentences."""
    return [word for sentence in self.sentences for word in sentence]

  def place_of(self, character: int) -> str:
    """Returns the line of a character's word in a file of columns, or else the document's."""
    for first, sentence in zip(self.lines, self.sentences, strict=False):
      for line, (_, end) in enumerate(sentence, start=first):
        if character < end:
          return f"{self.place.rpartition(': line ')[0]}: line {line}"
    return self.place


def of_words(
  id: str, place: str, sentences: Sequence[Sequence[str]], reading: Reading = PAPER
) -> Example:
  """Returns a document whose text is made from its words."""
  text, words, _ = joined([word for sentence in sentences for word in sentence], reading)
  remaining = iter(words)
  split = tuple(tuple(next(remaining) for _ in sentence) for sentence in sentences)
  return Example(id, place, text, tuple(filter(None, split)), as_words=True)


def by_characters(example: Example) -> Example:
  """Returns the document with every character of its words as a word.

  A mark that combines with the character before it, such as an accent, belongs to that one.
  """

  def characters(start: int, end: int) -> Iterator[Bounds]:
    inside = range(start + 1, end)
    firsts = [i for i in inside if not unicodedata.category(example.text[i]).startswith("M")]
    return itertools.pairwise([start, *firsts, end])

  sentences = tuple(
    tuple(place for word in words for place in characters(*word)) for words in example.sentences
  )
  return dataclasses.replace(example, sentences=sentences, lines=())


def labelled(spans: Iterable[Span]) -> list[Labelled]:
  """Returns predicted spans without their texts and scores."""
  return [Labelled(span.start, span.end, span.label) for span in spans]


def to_characters(example: Example, spans: Iterable[Labelled]) -> tuple[Labelled, ...]:
  """Returns spans of words as spans of characters."""
  words = example.words
  return tuple(Labelled(words[first][0], words[last - 1][1], label) for first, last, label in spans)


def to_words(example: Example, spans: Iterable[Labelled]) -> list[Labelled | None]:
  """Returns spans of characters as spans of words; None for one with an edge inside a word."""
  words = example.words
  first = {start: word for word, (start, _) in enumerate(words)}
  last = {end: word for word, (_, end) in enumerate(words, start=1)}
  return [
    Labelled(first[start], last[end], label) if start in first and end in last else None
    for start, end, label in spans
  ]
