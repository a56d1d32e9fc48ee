"""Texts and pairs of texts as rows: one for each example, cut to the room that a row has."""

import collections
import dataclasses
import itertools
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from luke_jax.errors import InputError
from luke_jax.heads.attributes import UNKNOWN, Attributes
from luke_jax.pipeline.cache import cached
from luke_jax.tasks.classification.files import Example
from luke_jax.tasks.files import Faults
from luke_jax.text import Processor, Row
from luke_jax.text.parts import Part
from luke_jax.text.rows import enclosed
from luke_jax.text.windows import longest_first

if TYPE_CHECKING:
  from luke_jax.tasks.classification.task import TextClassification


IDS = "attribute_ids"  # of a row's `extra`
_SHOWN = 3  # unknown values in a warning


def with_values(task: "TextClassification") -> Attributes:
  """Returns a task's attributes with their values in its training file, the most frequent first."""
  if not task.train:
    raise InputError("task.train: empty; expected the file that attributes have their values from")
  # Without what differs in the course of preparing a run, so that the file is read once.
  plain = dataclasses.replace(task, labels=(), words=512, dev="", test="", text="", positive="")
  return _with_values(plain)


@cached(4)
def _with_values(task: "TextClassification") -> Attributes:
  examples = task.read_examples(task.train, Faults(skip=task.skip_bad))
  columns = zip(*(example.attributes for example in examples), strict=True)
  values = tuple(_by_frequency(column) for column in columns)
  return dataclasses.replace(task.attributes, values=values)


def _by_frequency(column: Sequence[str]) -> tuple[str, ...]:
  counts = collections.Counter(value for value in column if value != UNKNOWN)
  return tuple(sorted(counts, key=lambda value: (-counts[value], value)))


def with_ids(rows: Sequence[Row], examples: Sequence[Example], attributes: Attributes) -> list[Row]:
  """Returns rows with the numbers of their examples' values; warns of values without a vector."""
  ids = np.zeros((len(examples), len(attributes.names)), np.int32)
  for i, (name, values) in enumerate(zip(attributes.names, attributes.known, strict=True)):
    numbers = {value: number for number, value in enumerate((UNKNOWN, *values))}
    ids[:, i] = [numbers.get(example.attributes[i], 0) for example in examples]
    unseen = [x.attributes[i] for x in examples if x.attributes[i] not in numbers]
    if new := list(dict.fromkeys(unseen)):
      shown = ", ".join(new[:_SHOWN]) + (", …" if len(new) > _SHOWN else "")
      warnings.warn(
        f"{name}: {len(new)} not seen in training ({shown}), of {len(unseen)} of {len(examples)}"
        f" texts, which are read as of an unknown {name}",
        stacklevel=4,
      )
  return [dataclasses.replace(row, extra={IDS: ids[row.example]}) for row in rows]


def features(processor: Processor, examples: Sequence[Example], keep: Sequence[int]) -> list[Row]:
  """Returns a row for each example; warns of the word pieces that no row has.

  `keep` are the pieces to read of the beginning and of the end of a text that is too long; by
  default it is read from the beginning. Of a pair the longer text is cut first, each in the
  proportion of the two numbers.
  """
  texts = [[x.text] if x.text_pair is None else [x.text, x.text_pair] for x in examples]
  tokens = iter(processor.tokenizer.encode(list(itertools.chain.from_iterable(texts))))
  special, rows, missing = processor.tokenizer.special, [], []
  for number, pair in enumerate(texts):
    ids = [encoded.ids for encoded in itertools.islice(tokens, len(pair))]
    room = processor.max_length - special.around(len(pair))
    if keep and sum(map(len, ids)) > room:
      room = min(room, sum(keep))
    lengths = longest_first(list(map(len, ids)), room)
    shortened = [_shortened(part, length, keep) for part, length in zip(ids, lengths, strict=True)]
    missing.append(sum(map(len, ids)) - sum(lengths))
    rows.append(enclosed([Part(part, [], []) for part in shortened], special, number))
  if any(missing):
    warnings.warn(
      f"{np.count_nonzero(missing)} of {len(examples)} texts are longer than their rows:"
      f" {sum(missing)} of their word pieces are not read; task.words and task.keep choose which",
      stacklevel=3,
    )
  return rows


def _shortened(ids: list[int], length: int, keep: Sequence[int]) -> list[int]:
  """Returns as many pieces of a text, of its beginning or, by `keep`, of its two ends."""
  if len(ids) <= length:
    return ids
  last = length * keep[1] // sum(keep) if keep else 0
  return ids[: length - last] + ids[len(ids) - last :]
