"""Documents: sentences of words, with the entities in them; splitting and joining of words."""

import dataclasses
import functools
import itertools
import re
import string
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from luke_jax.tasks.ner.tags import Labelled
from luke_jax.tasks.predictions import Span
from luke_jax.text import JoinedWords, join_words
from luke_jax.text.sentences import split_sentences
from luke_jax.text.special_tokens import Bounds

LONGEST = 64  # characters of a word in a text; as word pieces they fit any window of use


class Reading(NamedTuple):
  """Choices for reading files: how to split texts, join words and understand columns and tags."""

  language: str = "en"  # its rules split a text into sentences
  # Puts a space before every word of a list; otherwise, as in the paper's code, before all but
  # single punctuation characters and words that begin with an apostrophe.
  every_word_spaced: bool = False
  columns: tuple[str, ...] = ()  # word, tag or _ (not read) for each column
  repair_tags: bool = False  # read tags that are not legal where they stand as conlleval does
  tag_names: tuple[str, ...] = ()  # of tags that are numbers, from 0


PAPER = Reading()


def joined(words: Sequence[str], reading: Reading) -> JoinedWords:
  """Returns words as a text, whose spaces show how each word is read, the first one too."""
  return join_words(words, spaces=[reading.every_word_spaced or not _attached(x) for x in words])


def _attached(word: str) -> bool:
  one = len(word) == 1 and (word in string.punctuation or unicodedata.category(word)[0] == "P")
  return one or word.startswith("'")


def sentences_of(text: str, language: str) -> Iterator[Bounds]:
  """Yields the edges of the sentences of a text, which together are the text."""
  end = 0
  for sentence in split_sentences(text, language):
    start, end = end, end + len(sentence)
    yield start, end


def words_of(text: str, start: int, end: int) -> tuple[Bounds, ...]:
  """Returns the words of a stretch of a text.

  They are runs of letters and digits, of one punctuation character, and English clitics as 's.
  """
  return tuple(match.span() for match in _pattern().finditer(text, start, end))


@functools.lru_cache
def _pattern() -> re.Pattern[str]:
  # `re` excludes marks that follow letters, such as vowels of Hindi, from words.
  points = map(chr, range(0x300, 0x20000))
  marks = "".join(mark for mark in points if unicodedata.category(mark)[0] == "M")
  most = LONGEST - 1
  return re.compile(rf"'(?:s|t|re|ve|m|ll|d)\b|[\w{marks}]{{1,{LONGEST}}}|([^\w\s])\1{{0,{most}}}")


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
