"""Masking of whole units, as ERNIE of Baidu does: every word of a unit or none."""

import numpy as np

from luke_jax.pipeline.instances import NONE
from luke_jax.pipeline.masking import Ids, Masked
from luke_jax.pipeline.units import CONTINUED, FIRST, SPECIAL

SHARE = 0.15  # of the units that are selected
_RANDOM, _KEPT = 0.2, 0.1  # below which a random word replaces a selected one, or it stays


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


def masked_instance(
  ids: np.ndarray,
  units: np.ndarray,
  vocabulary: Ids,
  rng: np.random.Generator,
  *,
  slots: int,
) -> tuple[np.ndarray, np.ndarray]:
  """Returns words masked at random, and the ids to predict, -1 for none.

  Of more than `slots` selected words, the last units stay as they are.
  """
  draws = rng.random(len(ids))
  others = rng.integers(vocabulary.first, vocabulary.stop, len(ids))
  masked, places = mask_units(ids, units, draws, others, vocabulary.mask)
  if len(places) > slots:
    end = slots
    while end and units[places[end]] == CONTINUED:
      end -= 1
    masked = np.where(np.arange(len(ids)) < places[end], masked, ids)
    places = places[:end]
  labels = np.full(len(ids), NONE)
  labels[places] = ids[places]
  return masked, labels
