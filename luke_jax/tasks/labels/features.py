"""Rows of documents for labels: with all spans, or with some of them and labels to learn."""

import collections
import dataclasses
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from luke_jax.formats.files import Faults
from luke_jax.nn.losses import IGNORED
from luke_jax.tasks.labels.files import Example
from luke_jax.tasks.labels.wordings import NONE, Wordings
from luke_jax.tasks.ner import features as ner_features
from luke_jax.tasks.ner.documents import to_words
from luke_jax.tasks.ner.features import CandidateLimits
from luke_jax.text import Processor, Row

IDS = "label_ids"  # of a row's `extra`
CHUNK = 512  # documents whose spans are all in memory
ALIKE = 0.6  # product of the vectors of two labels, from which one says nothing against the other
ABOVE = 0.9  # share of a label's spans that have the other too, which is then more general
DESCRIBED = 0.3  # share of labels that are read with their description, where they have one


class LearningRoom(NamedTuple):
  """The spans and the labels that a row to learn from has."""

  spans: int
  labels: int


def all_spans(
  processor: Processor, examples: Sequence[Example], limits: CandidateLimits, faults: Faults
) -> Iterator[Row]:
  """Yields rows with all spans of words that may have a label, or with an example's mentions."""
  for first in range(0, len(examples), CHUNK):
    chunk = [dataclasses.replace(x, spans=None, also=()) for x in examples[first : first + CHUNK]]
    given = [None if x.mentions is None else sorted({*map(x.words_of, x.mentions)}) for x in chunk]
    rows = ner_features.features(processor, chunk, limits, labels=(), faults=faults, given=given)
    for row in rows:
      yield dataclasses.replace(row, example=first + row.example)


class Lessons:
  """The labels of a training file, and what its spans say for and against each of them."""

  def __init__(
    self, examples: Sequence[Example], table: Wordings | None, described: Mapping[str, str]
  ):
    counts: collections.Counter[str] = collections.Counter()
    both: collections.Counter[tuple[str, str]] = collections.Counter()
    for example in examples:
      for labels in example.labels:
        counts.update(labels)
        both.update((x, y) for x in labels for y in labels if x != y)
    self.labels = sorted(counts)
    self.numbers = {label: number for number, label in enumerate(self.labels)}
    self.general: dict[str, set[str]] = {}
    for (label, other), count in both.items():
      if count >= ABOVE * counts[label] and counts[other] > counts[label]:
        self.general.setdefault(label, set()).add(other)
    shares = np.sqrt([counts[label] for label in self.labels])
    self.shares = (shares / shares.sum()).cumsum()
    self.plain, self.described = self._places(table, described)
    self.vectors = None if table is None else table.vectors(self.plain)

  def _places(
    self, table: Wordings | None, described: Mapping[str, str]
  ) -> tuple[np.ndarray, np.ndarray]:
    """Returns where the table has each label, and where it has it with its description."""
    numbers = table.numbers if table else {}
    plain = [numbers.get(label, NONE) for label in self.labels]
    more = [numbers.get(f"{x}: {described.get(x, '')}", NONE) for x in self.labels]
    return np.array(plain), np.where(np.array(more) == NONE, plain, more)

  def row(self, row: Row, example: Example, room: LearningRoom) -> Row:
    """Returns a row with some of its spans and some labels, each of which is right, wrong or open.

    Of spans it keeps those with labels, and as many again that share words with them or are others;
    of labels those of its spans, and others by how frequent they are.
    """
    digest = hashlib.sha256(f"{example.text} {row.source[:1].tolist()}".encode()).digest()
    rng = np.random.default_rng(int.from_bytes(digest[:8], "little"))
    owners, chosen = self._spans(row.source, example, room.spans, rng)
    labels = self._labels([example.labels[x] for x in owners if x >= 0], room.labels, rng)
    targets = np.zeros((len(chosen), len(labels)), np.int8)
    for place, owner in enumerate(owners):
      if owner >= 0:
        targets[place] = self._targets(example.labels[owner], labels)
    numbers = np.where(
      rng.random(len(labels)) < DESCRIBED, self.described[labels], self.plain[labels]
    )
    return Row(
      row.example,
      row.input_ids,
      row.entity_ids[chosen],
      row.entity_tokens[chosen],
      targets,
      row.source[chosen],
      extra={IDS: numbers.astype(np.int32)},
    )

  def _spans(
    self, spans: np.ndarray, example: Example, room: int, rng: np.random.Generator
  ) -> tuple[np.ndarray, np.ndarray]:
    """Returns which of the example's names each chosen span is, or -1, and the chosen spans."""
    words = len(example.words)
    named, open_words = np.zeros(words + 1, int), np.zeros(words + 1, int)
    exact = {}
    for number, span in enumerate(to_words(example, example.spans or ())):
      if span is not None:
        named[span.start + 1 : span.end + 1] += 1
        exact[span.start, span.end] = number
    starts = np.array([start for start, _ in example.words])
    for start, end in example.unknown:
      first, last = np.searchsorted(starts, (start, end))
      open_words[first + 1 : last + 1] += 1
    named, open_words = (np.minimum(x, 1).cumsum() for x in (named, open_words))
    owner = np.array([exact.get((start, end), -1) for start, end in spans.tolist()])
    first, last = spans[:, 0], spans[:, 1]
    usable = open_words[last] == open_words[first]
    beside = (named[last] > named[first]) & (owner < 0)
    gold = rng.permutation(np.flatnonzero(owner >= 0))[:room]
    near = rng.permutation(np.flatnonzero(usable & beside))[: max(2, (room - len(gold)) // 2)]
    far = rng.permutation(np.flatnonzero(usable & ~beside & (owner < 0)))
    chosen = np.concatenate([gold, near, far])[:room]
    return owner[chosen], chosen

  def _labels(
    self, known: Sequence[Sequence[str]], room: int, rng: np.random.Generator
  ) -> np.ndarray:
    """Returns the numbers of the labels of names, half of the room at most, and of others."""
    wanted = list(dict.fromkeys(self.numbers[label] for labels in known for label in labels))
    if len(self.labels) <= room:
      return np.arange(len(self.labels))
    if len(wanted) > room // 2:
      wanted = rng.permutation(wanted)[: room // 2].tolist()
    drawn = np.searchsorted(self.shares, rng.random(4 * room)).tolist()
    others = dict.fromkeys(x for x in drawn if x < len(self.labels) and x not in wanted)
    return np.array([*wanted, *others][:room])

  def _targets(self, own: Sequence[str], labels: np.ndarray) -> np.ndarray:
    """Returns 1 for the labels of a name, 0 for others, and IGNORED for what may be right too.

    That are labels like its own, and kinds of all of its own: who is a person may be a poet.
    """
    numbers = [self.numbers[label] for label in own]
    right = np.isin(labels, numbers)
    names = (self.labels[x] for x in labels.tolist())
    maybe = np.array(
      [self.general[name].issuperset(own) if name in self.general else False for name in names]
    )
    if self.vectors is not None:
      maybe |= (self.vectors[labels] @ self.vectors[numbers].T).max(-1) > ALIKE
    return np.where(right, 1, np.where(maybe, IGNORED, 0))
