"""Names in texts of any script, and the entities that they may mean.

The latter are arrays: millions take tens of bytes each.
"""

import hashlib
import itertools
from array import array
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

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


KEPT_PLACES = 2  # places where a name means an entity
NONE = -1  # as an id: no entity
LEAST_PAIRS_TO_SUM = 2**20  # pairs that are added before they are summed


def key_of(name: str) -> np.uint64:
  """Returns the number of a name, whatever white space it has."""
  return np.uint64(_number(name))


def _number(name: str) -> int:
  digest = hashlib.blake2b(" ".join(name.split()).encode(), digest_size=8).digest()
  return int.from_bytes(digest, "little")


class Meanings(NamedTuple):
  """Names by their keys and what each means, with a weight: an entry for each pair.

  Of each name there is how often it is a link, or another name of an entity, where it stands. Of
  each pair there are some places where it is: a page, the sentence's number, the first character.
  """

  keys: np.ndarray  # (M,)
  ids: np.ndarray  # (M,)
  weights: np.ndarray  # (M,)
  linked: np.ndarray  # (M,), from 0 to 1
  evidence: np.ndarray  # (M, KEPT_PLACES, 3), NONE where there is none

  @classmethod
  def of(cls, names: Mapping[str, Mapping[int, float]]) -> "Meanings":
    """Returns the entries of names with the weights of the entities that they may mean.

    A name is one wherever it stands, and no place says so.
    """
    pairs = [(name, id, x) for name, of_one in names.items() for id, x in of_one.items()]
    return cls(
      np.array([key_of(name) for name, *_ in pairs], np.uint64),
      np.array([id for _, id, _ in pairs], np.int32),
      np.array([weight for *_, weight in pairs], np.float32),
      np.ones(len(pairs), np.float32),
      np.full((len(pairs), KEPT_PLACES, 3), NONE, np.int32),
    )

  def __add__(self, other: Any) -> "Meanings":
    return Meanings(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))

  def summed(self) -> "Meanings":
    """Returns one entry for each pair, sorted by keys: the first places, and the sum of weights."""
    order = np.lexsort((self.ids, self.keys))  # which keeps the order of what is alike
    rows = Meanings(*(x[order] for x in self))
    first = np.ones(len(order), bool)
    first[1:] = (np.diff(rows.keys) != 0) | (np.diff(rows.ids) != 0)
    starts = np.flatnonzero(first)
    if len(starts) == len(order):
      return rows
    return Meanings(
      rows.keys[starts],
      rows.ids[starts],
      np.add.reduceat(rows.weights, starts),
      np.maximum.reduceat(rows.linked, starts),
      _first_places(rows.evidence, np.cumsum(first) - 1, len(starts)),
    )


def _first_places(evidence: np.ndarray, pairs: np.ndarray, count: int) -> np.ndarray:
  """Returns the first places of each pair; `pairs` are the numbers of the rows' pairs, sorted."""
  rows, slots = np.nonzero(evidence[:, :, 0] != NONE)
  of = pairs[rows]
  rank = np.arange(len(of)) - np.searchsorted(of, of)
  kept = rank < evidence.shape[1]
  places = np.full((count, *evidence.shape[1:]), NONE, np.int32)
  places[of[kept], rank[kept]] = evidence[rows[kept], slots[kept]]
  return places


class NameSums:
  """Numbers of times that names mean entities, added one by one."""

  def __init__(self) -> None:
    self._sums = Meanings.of({})._replace(weights=np.zeros(0))
    self._keys, self._ids, self._places = array("Q"), array("i"), array("i")

  def add(self, name: str, id: int, place: tuple[int, int, int] = (NONE, NONE, NONE)) -> None:
    """Adds that a name means an entity, and the place where it does."""
    self._keys.append(_number(name))
    self._ids.append(id)
    self._places.extend(place)
    if len(self._keys) > max(LEAST_PAIRS_TO_SUM, len(self._sums.keys) // 2):
      self._sum()

  def _sum(self) -> None:
    count = len(self._keys)
    evidence = np.full((count, KEPT_PLACES, 3), NONE, np.int32)
    evidence[:, 0] = np.frombuffer(self._places, np.int32).reshape(-1, 3)
    keys, ids = np.frombuffer(self._keys, np.uint64), np.frombuffer(self._ids, np.int32)
    added = Meanings(keys, ids, np.ones(count), np.ones(count, np.float32), evidence)
    self._sums = (self._sums + added).summed()
    self._keys, self._ids, self._places = array("Q"), array("i"), array("i")

  def summed(self) -> Meanings:
    """Returns an entry for each pair that was added, with its number as weight."""
    self._sum()
    nameless = self._sums.keys == key_of("")
    return Meanings(*(x[~nameless] for x in self._sums))


class NameTable(NamedTuple):
  """Sorted names and what they may mean: name i the `ids` from `starts[i]` to `starts[i + 1]`."""

  keys: np.ndarray
  starts: np.ndarray
  ids: np.ndarray

  @classmethod
  def of(cls, meanings: Meanings) -> "NameTable":
    """Returns the names of sorted entries."""
    keys, starts = np.unique(meanings.keys, return_index=True)
    return cls(keys, np.append(starts, len(meanings.ids)), meanings.ids)

  def place(self, name: str) -> int:
    """Returns the place of a name, `NONE` for an unknown one."""
    place = int(np.searchsorted(self.keys, key := key_of(name)))
    return place if place < len(self.keys) and self.keys[place] == key else NONE

  def part(self, name: str) -> slice:
    """Returns where a name's entities are among all; nowhere for an unknown name."""
    place = self.place(name)
    return slice(0) if place == NONE else slice(*self.starts[place : place + 2].tolist())

  def ids_of(self, name: str) -> np.ndarray:
    """Returns the entities that a name may mean."""
    return np.asarray(self.ids[self.part(name)])

  def known(self, names: Collection[str]) -> set[str]:
    """Returns those of some names that are known, looked up all at once."""
    keys = np.fromiter(map(_number, names), np.uint64, len(names))
    places = np.searchsorted(self.keys, keys)
    found = places < len(self.keys)
    found[found] = self.keys[places[found]] == keys[found]
    return set(itertools.compress(names, found))
