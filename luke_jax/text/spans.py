"""Entity spans in a text: their checks, and cuts of the text at their edges."""

import itertools
import operator
from collections.abc import Iterable, Sequence, Sized
from typing import NamedTuple

from luke_jax.errors import InputError
from luke_jax.text.special_tokens import Bounds


class JoinedWords(NamedTuple):
  """Words joined to a text, with the character spans of words (`offsets`) and entities."""

  text: str
  offsets: list[Bounds]
  spans: list[Bounds]


def join_words(
  words: Sequence[str], spans: Iterable[Bounds] = (), spaces: Sequence[bool] | None = None
) -> JoinedWords:
  """Joins words to a text and turns half-open spans of words into spans of its characters.

  `spaces` says for each word whether a space precedes it; by default all but the first have one.
  """
  _check_words(words)
  if spaces is None:
    spaces = [number > 0 for number in range(len(words))]
  if not isinstance(spaces, Sized) or len(spaces) != len(words):
    count = len(spaces) if isinstance(spaces, Sized) else repr(spaces)
    raise InputError(f"spaces: {count} given; expected {len(words)}, one for each word")
  before = [" " if space else "" for space in spaces]
  ends = list(itertools.accumulate(len(s) + len(w) for s, w in zip(before, words, strict=True)))
  offsets = [(end - len(word), end) for end, word in zip(ends, words, strict=True)]
  checked = checked_spans(spans, len(words), "words")
  return JoinedWords(
    "".join(itertools.chain.from_iterable(zip(before, words, strict=True))),
    offsets,
    [(offsets[first][0], offsets[last - 1][1]) for first, last in checked],
  )


def _check_words(words: Sequence[str]) -> None:
  if isinstance(words, str) or not isinstance(words, Sized):
    raise InputError(f"words: a {type(words).__name__}; expected a list of strings")
  for number, word in enumerate(words):
    if not isinstance(word, str) or not word:
      raise InputError(f"word {number}: {word!r}; expected a string that is not empty")


def checked_spans(spans: Iterable[Bounds], length: int, where: str) -> list[Bounds]:
  """Returns the spans as pairs of ints; raises InputError for one that is empty or out of range."""
  try:
    listed = list(spans)
  except TypeError:
    raise InputError(f"{where}: spans are {spans!r}; expected a list of (start, end)") from None
  return [_checked(span, length, f"{where}: span {i}") for i, span in enumerate(listed)]


def _checked(span: Bounds, length: int, where: str) -> Bounds:
  try:
    start, end = map(operator.index, span)
  except (TypeError, ValueError):
    raise InputError(f"{where} is {span!r}; expected two whole numbers (start, end)") from None
  if not 0 <= start < end <= length:
    raise InputError(f"{where} is ({start}, {end}); expected 0 <= start < end <= {length}")
  return start, end


def cuts(text: str, spans: Iterable[Bounds]) -> dict[int, int]:
  """Returns the cut of the text for each edge of a span; a space before it joins the next piece."""
  return {
    boundary: boundary - 1 if boundary and text[boundary - 1] == " " else boundary
    for boundary in itertools.chain.from_iterable(spans)
  }
