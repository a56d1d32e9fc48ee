"""Masking of words and entities of a record."""

import dataclasses
from typing import NamedTuple

import numpy as np

from luke_jax.errors import InputError


@dataclasses.dataclass(frozen=True)
class Masking:
  """Shares of words and entities to mask; the defaults are LUKE's (paper §3.3, appendix A)."""

  words: float = 0.15
  entities: float = 0.15
  whole_words: bool = True  # if the tokenizer marks starts of words; mLUKE masks pieces
  random_words: float = 0.1  # share of the masked ones that a random word replaces
  unmasked_words: float = 0.1  # share of the masked ones that stay as they are
  random_entities: float = 0.0
  unmasked_entities: float = 0.0
  mask_words_in_entity_span: bool = False  # mask the words of masked entities before others

  def __post_init__(self) -> None:
    for field in dataclasses.fields(self):
      value = getattr(self, field.name)
      if isinstance(field.default, bool):
        if not isinstance(value, bool):
          raise InputError(f"{field.name}: {value!r}; expected true or false")
      elif isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InputError(f"{field.name}: {value!r}; expected a share from 0 to 1")
    for kind in ("words", "entities"):
      changed = getattr(self, f"random_{kind}") + getattr(self, f"unmasked_{kind}")
      if changed > 1:
        names = f"random_{kind} and unmasked_{kind}"
        raise InputError(f"{names}: {changed:g} together; expected at most 1")

  def slots(self, words: int, entities: int) -> tuple[int, int]:
    """Returns the most words and entities that are masked in a row of these lengths."""
    return _budget(self.words, words), _budget(self.entities, entities)


@dataclasses.dataclass(frozen=True, eq=False)
class MaskIds:
  """Ids of a vocabulary that masking needs."""

  mask: int
  first: int  # of the ids that may replace a masked one
  stop: int
  starts: np.ndarray | None = None  # (V,) bool, whether a piece starts a word; None if all do


class Masked(NamedTuple):
  """Ids of a sequence after masking, and the masked positions in ascending order."""

  ids: np.ndarray
  places: np.ndarray


def mask_words(
  ids: np.ndarray,
  masking: Masking,
  vocabulary: MaskIds,
  rng: np.random.Generator,
  *,
  slots: int,
  covered: np.ndarray | None = None,
) -> Masked:
  """Masks a share of the words, at most `slots` pieces.

  Words, or pieces, come in random order, and each is masked that fits into the rest of the share.
  Words with a `covered` piece come first and may use all slots; they count towards the share. One
  piece at least is masked, but of a share of 0 none.
  """
  if not masking.words:
    return Masked(ids.copy(), np.zeros(0, np.int64))
  group = words_of_pieces(ids, masking, vocabulary)
  sizes = np.bincount(group)
  order = rng.permutation(len(sizes))
  room, selected = min(slots, _budget(masking.words, len(ids))), np.zeros(len(sizes), bool)
  if covered is not None:
    is_covered = np.bincount(group, weights=covered) > 0
    selected[_fitting(order[is_covered[order]], sizes, slots)] = True
    order, room = order[~is_covered[order]], room - int(sizes[selected].sum())
  selected[_fitting(order, sizes, room)] = True
  if not selected.any():  # every word is longer than the share
    group = np.arange(len(ids))
    selected = group == rng.integers(len(ids))
  places = np.flatnonzero(selected[group])
  draws = rng.random(len(selected))[group[places]]
  shares = (masking.random_words, masking.unmasked_words)
  return _replaced(ids, places, vocabulary, rng, draws=draws, shares=shares)


def mask_entities(
  ids: np.ndarray, masking: Masking, vocabulary: MaskIds, rng: np.random.Generator
) -> Masked:
  """Masks a share of the entities, one at least, but of a share of 0 none."""
  if not masking.entities:
    return Masked(ids.copy(), np.zeros(0, np.int64))
  places = np.sort(rng.permutation(len(ids))[: _budget(masking.entities, len(ids))])
  shares = (masking.random_entities, masking.unmasked_entities)
  return _replaced(ids, places, vocabulary, rng, draws=rng.random(len(places)), shares=shares)


def _budget(share: float, number: int) -> int:
  return max(1, round(share * number))


def words_of_pieces(ids: np.ndarray, masking: Masking, vocabulary: MaskIds) -> np.ndarray:
  """Returns the index of each piece's word; the first piece always starts a word."""
  if not masking.whole_words or vocabulary.starts is None:
    return np.arange(len(ids))
  numbers = np.cumsum(vocabulary.starts[ids])
  return numbers - numbers[0]


def _fitting(order: np.ndarray, sizes: np.ndarray, room: int) -> list[int]:
  """Selects groups in order, each if it fits into the room that those before it leave."""
  chosen = []
  for group, size in zip(order.tolist(), sizes[order].tolist(), strict=True):
    if room <= 0:
      break
    if size <= room:
      chosen.append(group)
      room -= size
  return chosen


def _replaced(
  ids: np.ndarray,
  places: np.ndarray,
  vocabulary: MaskIds,
  rng: np.random.Generator,
  *,
  draws: np.ndarray,
  shares: tuple[float, float],
) -> Masked:
  """Returns ids masked, replaced or left at the places, as draws from 0 to 1 decide."""
  random, unmasked = shares
  others = rng.integers(vocabulary.first, vocabulary.stop, len(places))
  masked = ids.copy()
  changed = np.where(draws < 1 - random - unmasked, vocabulary.mask, others)
  masked[places] = np.where(draws < 1 - unmasked, changed, ids[places])
  return Masked(masked, places)
