"""Examples of a split and their rows, read once for all evaluations."""

import collections
import dataclasses
import hashlib
import itertools
from collections.abc import Collection, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from luke_jax.files import Path
from luke_jax.pipeline.reads import cached
from luke_jax.text import Processor, Row, load_entity_vocab, load_tokenizer
from luke_jax.text.entity_vocab import SPECIAL_ENTITIES
from luke_jax.text.processor import has_entity_vocab
from luke_jax.text.tokenizer import MASK2

Example = TypeVar("Example")
SAMPLE = "sample"  # the split of those examples of dev that are scored while training


@dataclasses.dataclass(frozen=True)
class TaskRows(Generic[Example]):
  """The rows of a split, and the examples they are of."""

  examples: Sequence[Example]
  rows: Sequence[Row]

  def __len__(self) -> int:
    return len(self.rows)

  def __getitem__(self, index: int) -> Row:
    return self.rows[index]


@cached(4)
def processor_of_words(
  directory: str, new_words: tuple[str, ...], table: str, markers: bool
) -> Processor:
  """Returns the processor of a directory, with words added to its tokenizer."""
  tokenizer = load_tokenizer(directory, markers=markers)
  # A language model that LUKE is compared with has no entities.
  with_titles = table == "whole" and has_entity_vocab(Path(directory))
  vocab = load_entity_vocab(directory) if with_titles else SPECIAL_ENTITIES
  if vocab.mask2_id is None:  # models are given one as they are loaded
    vocab = vocab.add([MASK2])
  return Processor(tokenizer.with_words(new_words) if new_words else tokenizer, vocab)


class Share(NamedTuple):
  """Share of the examples of a file that is dev, and which of those of its size."""

  size: float
  number: int = 0


def numbers_of_dev(told: Sequence[tuple[object, Collection[str]]], share: Share) -> set[int]:
  """Returns the numbers of the examples of a training file that are dev.

  Of each example it is told what must not stand on both sides, such as its text, and its labels:
  those of few examples are spread over both sides. Which examples are dev goes by hashes of the
  former, so that a file that grows keeps most.
  """
  together: dict[str, list[int]] = {}
  for number, (key, _) in enumerate(told):
    together.setdefault(str(number) if key is None else f"text {key}", []).append(number)
  if len(together) * share.size < 1:  # one text of many questions
    together = {str(number): [number] for number in range(len(told))}
  labels = {key: {x for i in own for x in told[i][1]} for key, own in together.items()}
  order = _spread(labels, share.size)
  first, last = (round((share.number + x) * share.size * len(told)) for x in (0, 1))
  ends = itertools.accumulate(len(together[key]) for key in order)
  middles = [end - len(together[key]) / 2 for end, key in zip(ends, order, strict=True)]
  chosen = [key for key, middle in zip(order, middles, strict=True) if first <= middle < last]
  if len(chosen) == len(order):
    chosen.pop()  # one at least is for training
  return {number for key in chosen for number in together[key]}


def _spread(labels: Mapping[str, Collection[str]], size: float) -> list[str]:
  """Returns the names of groups in an order of which each part has all labels, as far as it can.

  Of each label the groups stand at equal distances, by the rarest label that they have. The first
  of those that have too few for every part stands in the first, a sole one in the last.
  """
  counts = collections.Counter(label for of_group in labels.values() for label in of_group)
  by_label: dict[str, list[tuple[bytes, str]]] = {}
  for name, of_group in labels.items():
    rarest = min(of_group, key=lambda x: (counts[x], x), default="")
    by_label.setdefault(rarest, []).append((hashlib.sha256(name.encode()).digest(), name))
  places = []
  for own in by_label.values():
    begin = 0.5 if len(own) * size >= 1 else 0.0 if len(own) > 1 else 1.0
    for rank, (key, name) in enumerate(sorted(own)):
      places.append(((rank + begin) / len(own), key, name))
  return [name for *_, name in sorted(places)]


def used_share(examples: list[Example], share: float) -> list[Example]:
  """Returns a share of the examples, one at least; a smaller share is a part of a larger one."""
  return [examples[number] for number in _share_of(len(examples), share)]


def sample_of(rows: TaskRows[Example], share: float) -> TaskRows[Example]:
  """Returns a share of the examples, one at least, with their rows."""
  numbers = {old: new for new, old in enumerate(_share_of(len(rows.examples), share))}
  of_sample = [
    dataclasses.replace(row, example=numbers[row.example])
    for row in rows.rows
    if row.example in numbers
  ]
  return TaskRows([rows.examples[number] for number in numbers], of_sample)


def _share_of(count: int, share: float) -> list[int]:
  """Returns the numbers of a share of so many examples, by their hashes."""
  hashes = [hashlib.sha256(str(number).encode()).digest() for number in range(count)]
  used = set(sorted(hashes)[: max(1, round(share * count))])
  return [number for number, key in enumerate(hashes) if key in used]
