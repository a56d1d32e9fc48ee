"""Texts and pairs of texts as rows: one for each example, cut to the room that a row has."""

import itertools
import warnings
from collections.abc import Sequence

import numpy as np

from luke_jax.tasks.classification.files import Example
from luke_jax.text import Processor, Row
from luke_jax.text.parts import Part
from luke_jax.text.rows import enclosed
from luke_jax.text.windows import longest_first


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
