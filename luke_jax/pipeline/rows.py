"""Pretraining records as rows of fixed shapes: padded, with some of them masked."""

import dataclasses
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from luke_jax.errors import InputError, check_whole
from luke_jax.files import Path
from luke_jax.nn.losses import IGNORED
from luke_jax.pipeline.reads import cached
from luke_jax.pipeline.stored import Record
from luke_jax.text import SpecialTokens, load_entity_vocab, load_tokenizer
from luke_jax.text.rows import ENTITY_INPUTS, WORD_INPUTS, Room, Row, Sizes, padded, padded_shapes
from luke_jax.text.tokenizer import MASK, SPECIAL

_SPECIAL_LINE = re.compile(r'\s*"(\[[A-Z2]+\])": (\d+),?\s*')


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
  # Shares in training, each for stage_steps steps and the last for good; dev keeps those above.
  word_stages: tuple[float, ...] = ()
  entity_stages: tuple[float, ...] = ()
  stage_steps: int | None = None

  def __post_init__(self) -> None:
    for field in dataclasses.fields(self):
      value = getattr(self, field.name)
      if isinstance(field.default, bool):
        if not isinstance(value, bool):
          raise InputError(f"{field.name}: {value!r}; expected true or false")
      elif field.name != "stage_steps":
        for x in value if isinstance(value, tuple) else (value,):
          if isinstance(x, bool) or not isinstance(x, int | float) or not 0 <= x <= 1:
            raise InputError(f"{field.name}: {value!r}; expected a share from 0 to 1")
    if self.word_stages or self.entity_stages or self.stage_steps is not None:
      check_whole(1, stage_steps=self.stage_steps)
    for kind in ("words", "entities"):
      changed = getattr(self, f"random_{kind}") + getattr(self, f"unmasked_{kind}")
      if changed > 1:
        names = f"random_{kind} and unmasked_{kind}"
        raise InputError(f"{names}: {changed:g} together; expected at most 1")

  def slots(self, words: int, entities: int) -> tuple[int, int]:
    """Returns the most words and entities that are masked in a row of these lengths."""
    most = max((self.words, *self.word_stages)), max((self.entities, *self.entity_stages))
    return _budget(most[0], words), _budget(most[1], entities)

  def at_step(self, step: int) -> "Masking":
    """Returns the masking of a training step: with the shares of its stage."""
    begun = step // self.stage_steps + 1 if self.stage_steps else 0
    words = (self.words, *self.word_stages[:begun])[-1]
    entities = (self.entities, *self.entity_stages[:begun])[-1]
    return dataclasses.replace(self, words=words, entities=entities)


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


@dataclasses.dataclass(frozen=True)
class Words:
  """Facts of the word ids of a folder's records."""

  special: SpecialTokens
  ids: MaskIds


@dataclasses.dataclass(frozen=True)
class RowSizes:
  """The room that a row has."""

  words: int  # special ones included
  entities: int  # 0: rows are of words only
  mention: int
  masked_words: int
  masked_entities: int
  page: bool = False  # whether a row tells whose page it is

  @property
  def sizes(self) -> Sizes:
    """The room for what a row has, masked or not."""
    return Sizes(self.words, self.entities, self.mention)

  @property
  def names(self) -> tuple[str, ...]:
    """The names of a row's inputs."""
    return WORD_INPUTS + (ENTITY_INPUTS if self.entities else ())

  @property
  def extra(self) -> dict[str, Room]:
    """The room for what is masked, and for the page."""
    slots = (self.masked_words,)
    rooms = {"masked_positions": Room(slots), "labels": Room(slots, IGNORED)}
    if self.entities:
      slots = (self.masked_entities,)
      rooms |= {"masked_entity_positions": Room(slots), "entity_labels": Room(slots, IGNORED)}
    if self.page:
      rooms["page_ids"] = Room((), -1)
    return rooms

  @property
  def shapes(self) -> dict[str, tuple[int, ...]]:
    """The shape of each array of a row, named as the models name their inputs."""
    return padded_shapes(self.sizes, names=self.names, extra=self.extra)


@dataclasses.dataclass(frozen=True, eq=False)
class RowMaker:
  """Makes rows of records: `<s>`, the words, `</s>`, and the entities beside them."""

  sizes: RowSizes
  masking: Masking
  words: Words
  entities: MaskIds | None

  def __call__(
    self, records: Sequence[Record], rngs: Sequence[np.random.Generator]
  ) -> dict[str, np.ndarray]:
    """Arrays (rows, ...), int32; what is masked depends on each row's generator."""
    rows = [self._row(record, rng) for record, rng in zip(records, rngs, strict=True)]
    room, pads = self.sizes, (self.words.special.pad, 0)
    return padded(rows, room.sizes, *pads, names=room.names, extra=room.extra)

  def _check(self, record: Record) -> None:
    words, entities = len(record.word_ids), len(record.entity_ids)
    if not 0 < words <= self.sizes.words - 2:
      expected = f"1 to {self.sizes.words - 2}"
      raise InputError(f"a record of {words} words; expected {expected}, as task.words has it")
    if self.sizes.entities < entities and self.sizes.entities:
      expected = f"{self.sizes.entities}, as task.entities has it"
      raise InputError(f"a record of {entities} entities; expected at most {expected}")

  def _row(self, record: Record, rng: np.random.Generator) -> Row:
    self._check(record)
    extra: dict[str, object] = {"page_ids": record.page_id}
    entity_ids, covered = record.entity_ids, None
    if self.entities is not None and len(entity_ids):
      masked = mask_entities(entity_ids, self.masking, self.entities, rng)
      extra["masked_entity_positions"] = masked.places
      extra["entity_labels"] = entity_ids[masked.places]
      entity_ids = masked.ids
      if self.masking.mask_words_in_entity_span:
        places = np.arange(len(record.word_ids))
        starts, ends = (
          x[masked.places, None] for x in (record.mention_starts, record.mention_ends)
        )
        covered = np.any((starts <= places) & (places < ends), axis=0)
    slots = min(self.sizes.masked_words, _budget(self.masking.words, self.sizes.words))
    masked = mask_words(
      record.word_ids, self.masking, self.words.ids, rng, slots=slots, covered=covered
    )
    extra["masked_positions"] = masked.places + 1  # after <s>
    ids = np.empty(len(masked.ids) + 2, np.int32)
    ids[0], ids[1:-1], ids[-1] = self.words.special.start, masked.ids, self.words.special.end
    tokens = np.array([record.mention_starts, record.mention_ends], np.int32).T + 1
    return Row(0, ids, entity_ids, tokens, record.word_ids[masked.places], extra=extra)


@cached(8)
def read_words(folder: str, authors: bool = False) -> Words:
  """Returns the words of a folder's tokenizer, read once in a process.

  Words begin where the tokenizer says or, with `authors`, where the code of LUKE's authors says.
  """
  tokenizer = load_tokenizer(folder)
  special = tokenizer.special
  stop = min([tokenizer.vocab_size, *special.marker_ids])  # no text holds markers
  return Words(
    special, MaskIds(special.mask, special.pad + 1, stop, tokenizer.word_starts(as_spelt=authors))
  )


@cached(8)
def read_entities(folder: str, size: int) -> MaskIds:
  """Returns the entities of a folder, `size` in number, read once in a process."""
  special = _special_entities(Path(folder))
  first = 1 + max(special.values())
  if first >= size:
    raise InputError(f"{folder}: {size} entities; expected some beside {', '.join(special)}")
  return MaskIds(special[MASK], first, size)


def _special_entities(folder: Path) -> dict[str, int]:
  """Returns the ids of the special entities, which come before all titles in our files."""
  path = folder / "entity_vocab.json"
  if path.is_file():
    with path.open(encoding="utf-8") as lines:
      ids = {}
      for line in lines:
        match = _SPECIAL_LINE.fullmatch(line)
        if match and match[1] in SPECIAL:
          ids[match[1]] = int(match[2])
        elif ids:
          break
    if MASK in ids:
      return ids
  vocab = load_entity_vocab(folder)
  return {name: vocab.ids[name] for name in SPECIAL if name in vocab.ids}
