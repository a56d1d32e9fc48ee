"""Documents to pairs of sentences with masked words, as BERT's authors and ERNIE's make them."""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.pipeline.rows import MaskIds, Masking, mask_words
from luke_jax.pipeline.stored import NONE, Instance
from luke_jax.text.tokenizer import SpecialTokens

_TRIES = 10  # to find another document


class Pieces(NamedTuple):
  """Word pieces (W,), and beside each the number of its entity, -1 for none."""

  ids: np.ndarray
  entities: np.ndarray


Document = Sequence[Pieces]  # its sentences


@dataclasses.dataclass(frozen=True)
class PairSettings:
  """Settings of the making of pairs; the defaults are those of ERNIE's authors."""

  words: int = 256  # the longest pair, special tokens included
  short: float = 0.1  # share of the pairs that are to be shorter, of any length
  least_entities: int = 5  # a pair with fewer aligned words is dropped
  masked: float = 0.15  # share of the words that are predicted
  most_masked: int = 40
  together: int = 1000  # documents among which a random next sentence is found
  seed: int = 0

  def __post_init__(self) -> None:
    for name, least in (("words", 8), ("least_entities", 0), ("most_masked", 1), ("together", 2)):
      if getattr(self, name) < least:
        raise InputError(f"{name}: {getattr(self, name)}; expected {least} or more")
    for name in ("short", "masked"):
      if not 0 <= getattr(self, name) <= 1:
        raise InputError(f"{name}: {getattr(self, name)}; expected a share from 0 to 1")


@dataclasses.dataclass
class PairMaker:
  """Makes pairs of documents; `dropped` counts those with too few entities."""

  settings: PairSettings
  special: SpecialTokens
  vocabulary: MaskIds
  dropped: int = 0

  def pairs(self, documents: Iterable[Document]) -> Iterator[Instance]:
    """Yields the pairs of all documents with some words masked, group after group."""
    for first, second, random_next, rng in self.parts(documents):
      instance = self._instance(first, second, random_next, rng)
      if (instance.entities != NONE).sum() >= self.settings.least_entities:
        yield instance
      else:
        self.dropped += 1

  def parts(
    self, documents: Iterable[Document]
  ) -> Iterator[tuple[Pieces, Pieces, bool, np.random.Generator]]:
    """Yields both parts of each pair, and whether the second is a random one."""
    remaining = (document for document in documents if document)
    for number in itertools.count():
      group = list(itertools.islice(remaining, self.settings.together))
      if not group:
        return
      rng = np.random.default_rng((self.settings.seed, number))
      for place in range(len(group)):
        for pair in self._of_document(group, place, rng):
          yield *pair, rng

  def _of_document(
    self, group: Sequence[Document], place: int, rng: np.random.Generator
  ) -> Iterator[tuple[Pieces, Pieces, bool]]:
    """Yields both parts of each pair, and whether the second is a random one.

    Sentences after those of a first part whose second part is random begin the next pair.
    """
    document, room = group[place], self.settings.words - 3
    target, chunk, length, i = self._target(room, rng), [], 0, 0
    while i < len(document):
      chunk.append(document[i])
      length += len(document[i].ids)
      if length >= target or i == len(document) - 1:
        end = int(rng.integers(1, len(chunk))) if len(chunk) > 1 else 1
        first = _joined(chunk[:end])
        random_next = len(group) > 1 and (len(chunk) == 1 or rng.random() < 0.5)
        if random_next:
          second = self._random(group, place, target - len(first.ids), rng)
          i -= len(chunk) - end
        else:
          second = _joined(chunk[end:])
        if len(second.ids):
          yield *_truncated(first, second, room, rng), random_next
        target, chunk, length = self._target(room, rng), [], 0
      i += 1

  def _target(self, room: int, rng: np.random.Generator) -> int:
    return int(rng.integers(2, room + 1)) if rng.random() < self.settings.short else room

  def _random(
    self, group: Sequence[Document], place: int, room: int, rng: np.random.Generator
  ) -> Pieces:
    """Returns sentences of another document from a random one on, at least `room` pieces."""
    others = (int(rng.integers(len(group))) for _ in range(_TRIES))
    other = group[next((x for x in others if x != place), (place + 1) % len(group))]
    chosen, length = [], 0
    for sentence in other[int(rng.integers(len(other))) :]:
      chosen.append(sentence)
      length += len(sentence.ids)
      if length >= room:
        break
    return _joined(chosen)

  def _instance(
    self, first: Pieces, second: Pieces, random_next: bool, rng: np.random.Generator
  ) -> Instance:
    settings, special = self.settings, self.special
    pieces = _joined([first, second])
    masking = Masking(words=settings.masked, whole_words=False)
    masked = mask_words(pieces.ids, masking, self.vocabulary, rng, slots=settings.most_masked)
    labels = np.full(len(pieces.ids), NONE)
    labels[masked.places] = pieces.ids[masked.places]
    around = (special.start, special.end, special.end)
    types = np.zeros(len(pieces.ids) + 3, np.int32)
    types[len(first.ids) + 2 :] = 1
    return Instance(
      _enclosed(masked.ids, len(first.ids), around),
      types,
      _enclosed(labels, len(first.ids), (NONE,) * 3),
      _enclosed(pieces.entities, len(first.ids), (NONE,) * 3),
      random_next,
    )


def _enclosed(values: np.ndarray, end: int, around: tuple[int, int, int]) -> np.ndarray:
  """Returns values with one before them, one after the first part, and one after the second."""
  first, middle, last = around
  return np.concatenate([[first], values[:end], [middle], values[end:], [last]]).astype(np.int32)


def _joined(sentences: Sequence[Pieces]) -> Pieces:
  none = np.empty(0, np.int32)
  return Pieces(*(np.concatenate([none, *arrays]) for arrays in zip(*sentences, strict=True)))


def _truncated(
  first: Pieces, second: Pieces, room: int, rng: np.random.Generator
) -> tuple[Pieces, Pieces]:
  """Returns both parts with `room` pieces in all; the longer loses pieces at random ends."""
  cuts = [[0, len(first.ids)], [0, len(second.ids)]]
  while sum(stop - start for start, stop in cuts) > room:
    longer = cuts[0] if cuts[0][1] - cuts[0][0] > cuts[1][1] - cuts[1][0] else cuts[1]
    if rng.random() < 0.5:
      longer[0] += 1
    else:
      longer[1] -= 1
  parts = zip((first, second), cuts, strict=True)
  return tuple(Pieces(*(x[start:stop] for x in part)) for part, (start, stop) in parts)  # type: ignore[return-value]


def first_pieces(entities: np.ndarray, how: str = "first") -> np.ndarray:
  """Returns entities beside the first piece of each mention, of those beside all its pieces.

  `alternate` keeps every second one, as the authors' program does by a mistake; `all` keeps all.
  """
  if how == "all" or not len(entities):
    return entities
  starts = np.append(True, entities[1:] != entities[:-1])
  places = np.arange(len(entities))
  inside = places - np.maximum.accumulate(np.where(starts, places, 0))
  first = starts if how == "first" else inside % 2 == 0
  return np.where(first, entities, NONE)


def read_documents(
  words: Path, entities: Path, numbers: Mapping[str, int], how: str = "first"
) -> Iterator[Document]:
  """Yields the documents of both files; entities without a number are none."""
  with _opened(words) as first, _opened(entities) as second:
    for number, pair in enumerate(itertools.zip_longest(first, second), start=1):
      if None in pair:
        raise InputError(f"{entities}: other lines than {words}; expected line {number} in both")
      ids, names = (
        list(_sentences(line, f"{path}: line {number}"))
        for line, path in zip(pair, (words, entities), strict=True)
      )
      if list(map(len, ids)) != list(map(len, names)):
        raise InputError(f"{entities}: line {number}: other sentences than {words}; expected alike")
      yield [
        Pieces(
          _ids(of_words, f"{words}: line {number}"), first_pieces(_numbers(beside, numbers), how)
        )
        for of_words, beside in zip(ids, names, strict=True)
      ]


def _opened(path: Path):
  try:
    return path.open(encoding="utf-8")
  except OSError as fault:
    raise InputError(f"{path}: {fault.strerror}; expected documents as text") from None


def _sentences(line: str, place: str) -> Iterator[list[str]]:
  fields = line.split()
  if not fields or not fields[0].isdecimal():
    raise InputError(f"{place}: {line[:20]!r}; expected the number of sentences")
  at = 1
  while at < len(fields):
    if not fields[at].isdecimal() or at + int(fields[at]) >= len(fields):
      raise InputError(f"{place}: field {at + 1}: {fields[at]!r}; expected a sentence's length")
    end = at + 1 + int(fields[at])
    if end > at + 1:  # the count leaves empty ones out
      yield fields[at + 1 : end]
    at = end


def _ids(fields: list[str], place: str) -> np.ndarray:
  try:
    return np.array(fields, np.int32)
  except (ValueError, OverflowError):
    raise InputError(f"{place}: {' '.join(fields)[:40]!r}; expected ids of words") from None


def _numbers(names: list[str], numbers: Mapping[str, int]) -> np.ndarray:
  return np.array([numbers.get(name, NONE) for name in names], np.int32)
