"""Splitting of texts into words, and joining of words to texts."""

import functools
import re
import string
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

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
