"""Masking of whole units, as ERNIE of Baidu does: every word of a unit or none."""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from luke_jax.nn.losses import IGNORED
from luke_jax.pipeline.masking import Masked, MaskIds
from luke_jax.systems.ernie_baidu.units import CONTINUED, FIRST, SPECIAL

SHARE = 0.15  # of the units that are selected
_RANDOM, _KEPT = 0.2, 0.1  # below which a random word replaces a selected one, or it stays


class Texts(NamedTuple):
  """Texts one after the other: ids, types and unit labels of all words, and the texts' lengths."""

  ids: np.ndarray  # (all words,)
  types: np.ndarray
  units: np.ndarray  # the first word of a text begins one, or is a special token
  lengths: np.ndarray  # (texts,)


def single(units: np.ndarray) -> np.ndarray:
  """Returns labels of units by which every word is one."""
  return np.where(units == SPECIAL, SPECIAL, FIRST)


def mask_units(
  ids: np.ndarray, units: np.ndarray, draws: np.ndarray, others: np.ndarray, mask: int
) -> Masked:
  """Returns words masked by draws (W,) from 0 to 1, and the places that are to be predicted.

  A unit is selected if the draw of its first word is at most 0.15. Then the same draw decides what
  replaces that word, and each other word's own draw what replaces that one: `mask`, the random word
  of `others`, or itself.
  """
  starts = np.where(units != CONTINUED, np.arange(len(ids)), 0)
  first = np.maximum.accumulate(starts)
  selected = (draws[first] <= SHARE) & (units != SPECIAL)
  # A selected first word's draw is no more than the share, another's anything.
  room = np.where(units == FIRST, SHARE, 1.0)
  changed = np.where(draws > _RANDOM * room, mask, others)
  changed = np.where(draws <= _KEPT * room, ids, changed)
  return Masked(np.where(selected, changed, ids), np.flatnonzero(selected))


def masked_texts(
  texts: Texts, vocabulary: MaskIds, rngs: Sequence[np.random.Generator], slots: int
) -> Masked:
  """Returns the words of texts, each masked by a generator of its own, and the places to predict.

  Of more than `slots` selected words of a text, the last units stay as they are.
  """
  ids, units, lengths = texts.ids, texts.units, texts.lengths.tolist()
  draws, others = [], []
  for rng, length in zip(rngs, lengths, strict=True):
    draws.append(rng.random(length))
    others.append(rng.integers(vocabulary.first, vocabulary.stop, length))
  masked = mask_units(ids, units, np.concatenate(draws), np.concatenate(others), vocabulary.mask)
  bounds = np.searchsorted(masked.places, np.cumsum([0, *lengths])).tolist()
  predicted = np.ones(len(masked.places), bool)
  for start, stop in itertools.pairwise(bounds):
    if stop - start > slots:
      end = start + slots
      while end > start and units[masked.places[end]] == CONTINUED:
        end -= 1
      predicted[end:stop] = False
  if not predicted.all():
    spared = masked.places[~predicted]
    masked.ids[spared] = ids[spared]
  return Masked(masked.ids, masked.places[predicted])


def unit_arrays(
  texts: Texts, masked: Masked, pad: int, *, words: int, slots: int
) -> dict[str, np.ndarray]:
  """Returns the words (B, W), padded, and the masked ones (B, P), of which each text has a few."""
  shape, targets = (len(texts.lengths), words), (len(texts.lengths), slots)
  ids, types = np.full(shape, pad, np.int32), np.zeros(shape, np.int32)
  positions, labels = np.zeros(targets, np.int32), np.full(targets, IGNORED, np.int32)
  inside = np.arange(words) < texts.lengths[:, None]
  ids[inside], types[inside] = masked.ids, texts.types
  ends = np.cumsum(texts.lengths)
  text = np.searchsorted(ends, masked.places, side="right")
  used = np.arange(slots) < np.bincount(text, minlength=len(ends))[:, None]
  positions[used] = masked.places - (ends - texts.lengths)[text]
  labels[used] = texts.ids[masked.places]
  return {
    "input_ids": ids,
    "attention_mask": inside.astype(np.int32),
    "token_type_ids": types,
    "masked_positions": positions,
    "labels": labels,
  }
