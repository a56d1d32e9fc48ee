"""Finds the names in a text that are known, in any script."""

import itertools
from collections.abc import Callable, Collection, Iterator

from luke_jax.text.tokenizer import Bounds
from luke_jax.wiki.stages.tokens import LINE_END, SPACELESS, TOKEN

LONGEST, MOST_TOKENS = 8, 16  # words of a name; words, marks and characters without spaces
AT_ONCE = 4096  # tokens whose names are looked up together
JOINTS = ".&'’-"  # make one word of two: U.S, AT&T, O'Brien, Jean-Paul
HANGUL = range(0xAC00, 0xD7A4)


def names_in(text: str, known: Callable[[set[str]], Collection[str]]) -> Iterator[Bounds]:
  """Yields the bounds of names in a text from left to right, of those that overlap the longest.

  `known` returns those of many texts that are names.
  """
  words = _Words(text)
  first = 0
  for block in range(0, len(words), AT_ONCE):
    stop = min(block + AT_ONCE, len(words))
    names = known({text[x:y] for i in range(block, stop) for _, x, y in words.names_from(i)})
    first = max(first, block)
    while first < stop:
      found = (x for x in words.names_from(first) if text[x[1] : x[2]] in names)
      after, start, end = next(found, (first + 1, 0, 0))
      if end:
        yield start, end
      first = after


def _tokens(text: str) -> Iterator[Bounds]:
  """Yields the bounds of words, of Korean syllables, and of characters that are no words."""
  for start, end in (match.span() for match in TOKEN.finditer(text)):
    if ord(text[start]) in HANGUL:
      yield from ((i, i + 1) for i in range(start, end))
    else:
      yield start, end


class _Words:
  """A text's tokens, and where names may begin and end: not inside of a word such as AT&T.

  A name may end before the ending of Warsaw's and Warsaw-based, and begin after the beginning of
  l'Assemblée and pro-Warsaw. Korean words end in particles, so that it may end after any of their
  syllables.
  """

  def __init__(self, text: str):
    self.bounds = list(_tokens(text))
    marks = [text[start] for start, _ in self.bounds]  # the first character of each
    self._is_word = [x.isalnum() and not SPACELESS.match(x) for x in marks]
    self._begins, self._ends = ([x != LINE_END for x in marks] for _ in range(2))
    for i, (start, end) in enumerate(self.bounds[1:-1], start=1):
      if self.bounds[i - 1][1] != start:
        continue
      if ord(marks[i]) in HANGUL and ord(marks[i - 1]) in HANGUL:
        self._begins[i] = self._is_word[i] = False
      elif marks[i] in JOINTS and end == self.bounds[i + 1][0]:
        self._join(i, *marks[i - 1 : i + 2])
    # No name goes over two ends of lines.
    self._stops = {i for i, pair in enumerate(itertools.pairwise(marks)) if pair == (LINE_END,) * 2}

  def _join(self, i: int, before: str, mark: str, after: str) -> None:
    if before.isalnum() and after.isalnum():
      parts = mark not in ".&"
      self._begins[i] = self._ends[i] = False
      self._ends[i - 1] = parts and after.islower()
      self._begins[i + 1] = parts and before.islower() and after.isupper()

  def __len__(self) -> int:
    return len(self.bounds)

  def names_from(self, first: int) -> list[tuple[int, int, int]]:
    """Returns what may be a name from a token on, the longest first: the token after it, bounds."""
    found: list[tuple[int, int, int]] = []
    if not self._begins[first]:
      return found
    start, words = self.bounds[first][0], 0
    for last in range(first, min(first + MOST_TOKENS, len(self))):
      words += self._is_word[last]
      if words > LONGEST or last in self._stops:
        break
      if self._ends[last]:
        found.append((last + 1, start, self.bounds[last][1]))
    return found[::-1]
