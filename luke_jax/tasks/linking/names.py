"""Names and the entities that they may mean, as arrays: millions take tens of bytes each."""

import hashlib
import itertools
from array import array
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

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
