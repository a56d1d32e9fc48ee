"""Which words and entities of a record are hidden, and behind what."""

import dataclasses
from typing import NamedTuple

import numpy as np

from luke_jax.errors import InputError


@dataclasses.dataclass(frozen=True)
class Masking:
  """What is masked; the defaults are LUKE's (paper §3.3, appendix A)."""

  words: float = 0.15
  entities: float = 0.15
  whole_words: bool = True  # where the tokenizer tells words from pieces; mLUKE masks pieces
  random_words: float = 0.1  # of the masked ones: another stands in the place of each
  unmasked_words: float = 0.1  # of the masked ones: they stay as they are
  random_entities: float = 0.0
  unmasked_entities: float = 0.0
  mask_words_in_entity_span: bool = False  # the words of masked entities go before others

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
    """The most words and entities that are masked in a row with room for so many."""
    return _budget(self.words, words), _budget(self.entities, entities)


@dataclasses.dataclass(frozen=True, eq=False)
class Ids:
  """What masking has to know of a vocabulary."""

  mask: int
  first: int  # of those that may stand in another's place
  stop: int
  starts: np.ndarray | None = None  # (ids,), whether a piece starts a word; None: they all do


class Masked(NamedTuple):
  """A sequence with some of it hidden, and the places of that, in ascending order."""

  ids: np.ndarray
  places: np.ndarray


def mask_words(
  ids: np.ndarray,
  masking: Masking,
  vocabulary: Ids,
  rng: np.random.Generator,
  *,
  slots: int,
  covered: np.ndarray | None = None,
) -> Masked:
  """Hides a share of the words, but no more pieces than there are slots.

  Words, or pieces, come in random order, and each is taken that fits into what is left of the
  share. Those with a `covered` piece come first and have all slots; what they take counts.
  """
  group = _groups(ids, masking, vocabulary)
  sizes = np.bincount(group)
  order = rng.permutation(len(sizes))
  room, taken = min(slots, _budget(masking.words, len(ids))), np.zeros(len(sizes), bool)
  if covered is not None:
    under = np.bincount(group, weights=covered) > 0
    taken[_fitting(order[under[order]], sizes, slots)] = True
    order, room = order[~under[order]], room - int(sizes[taken].sum())
  taken[_fitting(order, sizes, room)] = True
  if not taken.any():  # every word is longer than the share
    group = np.arange(len(ids))
    taken = group == rng.integers(len(ids))
  places = np.flatnonzero(taken[group])
  draws = rng.random(len(taken))[group[places]]
  shares = (masking.random_words, masking.unmasked_words)
  return _hidden(ids, places, vocabulary, rng, draws=draws, shares=shares)


def mask_entities(
  ids: np.ndarray, masking: Masking, vocabulary: Ids, rng: np.random.Generator
) -> Masked:
  """Hides a share of the entities: of any at all, one or more."""
  places = np.sort(rng.permutation(len(ids))[: _budget(masking.entities, len(ids))])
  shares = (masking.random_entities, masking.unmasked_entities)
  return _hidden(ids, places, vocabulary, rng, draws=rng.random(len(places)), shares=shares)


def _budget(share: float, number: int) -> int:
  return max(1, round(share * number))


def _groups(ids: np.ndarray, masking: Masking, vocabulary: Ids) -> np.ndarray:
  """The number of each piece's word; a first piece opens one, whatever it is."""
  if not masking.whole_words or vocabulary.starts is None:
    return np.arange(len(ids))
  numbers = np.cumsum(vocabulary.starts[ids])
  return numbers - numbers[0]


def _fitting(order: np.ndarray, sizes: np.ndarray, room: int) -> list[int]:
  """The groups, of those in order, that each fit into what the ones before leave of the room."""
  chosen = []
  for group, size in zip(order.tolist(), sizes[order].tolist(), strict=True):
    if room <= 0:
      break
    if size <= room:
      chosen.append(group)
      room -= size
  return chosen


def _hidden(
  ids: np.ndarray,
  places: np.ndarray,
  vocabulary: Ids,
  rng: np.random.Generator,
  *,
  draws: np.ndarray,
  shares: tuple[float, float],
) -> Masked:
  """The ids with the mask, another id or their own at the places, as draws from 0 to 1 decide."""
  random, unmasked = shares
  others = rng.integers(vocabulary.first, vocabulary.stop, len(places))
  hidden = ids.copy()
  changed = np.where(draws < 1 - random - unmasked, vocabulary.mask, others)
  hidden[places] = np.where(draws < 1 - unmasked, changed, ids[places])
  return Masked(hidden, places)
