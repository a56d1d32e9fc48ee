"""What words a text has, and which text words make."""

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
  """Choices in reading files: how texts are split, words joined, columns and tags understood."""

  language: str = "en"  # whose rules end sentences
  # Whether a space stands before every word of a list, or as in the paper's code before all but
  # single punctuation characters and those that begin with an apostrophe.
  every_word_spaced: bool = False
  columns: tuple[str, ...] = ()  # what each column holds: word, tag or _ (not read)
  repair_tags: bool = False  # read tags that no scheme has where they stand as conlleval does
  tag_names: tuple[str, ...] = ()  # of tags that are numbers, from 0


PAPER = Reading()


def joined(words: Sequence[str], reading: Reading) -> JoinedWords:
  """Words as a text, which shows by its spaces how each is read, the first one too."""
  return join_words(words, spaces=[reading.every_word_spaced or not _attached(x) for x in words])


def _attached(word: str) -> bool:
  one = len(word) == 1 and (word in string.punctuation or unicodedata.category(word)[0] == "P")
  return one or word.startswith("'")


def sentences_of(text: str, language: str) -> Iterator[Bounds]:
  """Where the sentences of a text begin and end; together they are the text."""
  end = 0
  for sentence in split_sentences(text, language):
    start, end = end, end + len(sentence)
    yield start, end


def words_of(text: str, start: int, end: int) -> tuple[Bounds, ...]:
  """The words of a stretch of a text.

  They are runs of letters and digits, of one punctuation character, and English clitics as 's.
  """
  return tuple(match.span() for match in _pattern().finditer(text, start, end))


@functools.lru_cache
def _pattern() -> re.Pattern[str]:
  # To `re` the marks that follow letters, as vowels of Hindi do, are no part of a word.
  points = map(chr, range(0x300, 0x20000))
  marks = "".join(mark for mark in points if unicodedata.category(mark)[0] == "M")
  most = LONGEST - 1
  return re.compile(rf"'(?:s|t|re|ve|m|ll|d)\b|[\w{marks}]{{1,{LONGEST}}}|([^\w\s])\1{{0,{most}}}")
