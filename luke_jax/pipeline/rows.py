"""Pretraining records as rows of fixed shapes: padded, with some of them masked."""

import dataclasses
import re
from collections.abc import Sequence

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.nn.losses import IGNORED
from luke_jax.pipeline.masking import MaskIds, Masking, mask_entities, mask_words
from luke_jax.pipeline.reads import cached
from luke_jax.pipeline.records import Record
from luke_jax.text import SpecialTokens, load_entity_vocab, load_tokenizer
from luke_jax.text.entity_vocab import MASK, SPECIAL
from luke_jax.text.rows import (
  ENTITY_INPUTS,
  WORD_INPUTS,
  Room,
  Row,
  Sizes,
  padded,
  padded_shapes,
)

_SPECIAL_LINE = re.compile(r'\s*"(\[[A-Z2]+\])": (\d+),?\s*')


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
        covered = _covered(record, masked.places)
    slots = self.sizes.masked_words
    masked = mask_words(
      record.word_ids, self.masking, self.words.ids, rng, slots=slots, covered=covered
    )
    extra["masked_positions"] = masked.places + 1  # after <s>
    ids = np.empty(len(masked.ids) + 2, np.int32)
    ids[0], ids[1:-1], ids[-1] = self.words.special.start, masked.ids, self.words.special.end
    tokens = np.array([record.mention_starts, record.mention_ends], np.int32).T + 1
    return Row(0, ids, entity_ids, tokens, record.word_ids[masked.places], extra=extra)


def _covered(record: Record, entities: np.ndarray) -> np.ndarray:
  """Returns whether each word belongs to one of the entities, (words,) bool."""
  places = np.arange(len(record.word_ids))
  starts, ends = (x[entities, None] for x in (record.mention_starts, record.mention_ends))
  return np.any((starts <= places) & (places < ends), axis=0)


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
