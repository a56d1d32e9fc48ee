"""Pretraining records as rows of fixed shapes: padded, with some of them masked."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from luke_jax.errors import InputError
from luke_jax.nn.losses import IGNORED
from luke_jax.pipeline.masking import Ids, Masked, Masking, mask_entities, mask_words
from luke_jax.pipeline.records import Record
from luke_jax.pipeline.vocabularies import Words

Rows = dict[str, np.ndarray]


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
  def shapes(self) -> dict[str, tuple[int, ...]]:
    """The shape of each array of a row, named as the models name their inputs."""
    words, slots = (self.words,), (self.masked_words,)
    shapes: dict[str, tuple[int, ...]] = {"input_ids": words, "attention_mask": words}
    shapes |= {"masked_positions": slots, "labels": slots}
    if self.entities:
      entities, slots = (self.entities,), (self.masked_entities,)
      shapes |= {"entity_ids": entities, "entity_attention_mask": entities}
      shapes |= {"entity_position_ids": (self.entities, self.mention)}
      shapes |= {"masked_entity_positions": slots, "entity_labels": slots}
    if self.page:
      shapes["page_ids"] = ()
    return shapes


@dataclasses.dataclass(frozen=True, eq=False)
class RowMaker:
  """Makes rows of records: `<s>`, the words, `</s>`, and the entities beside them."""

  sizes: RowSizes
  masking: Masking
  words: Words
  entities: Ids | None

  def __call__(
    self, records: Sequence[Record], rngs: Sequence[np.random.Generator]
  ) -> dict[str, np.ndarray]:
    """Arrays (rows, ...), int32; what is masked depends on each row's generator."""
    padding = {"input_ids": self.words.special.pad, "entity_position_ids": -1, "page_ids": -1}
    padding |= {"labels": IGNORED, "entity_labels": IGNORED}
    rows = {
      name: np.full((len(records), *shape), padding.get(name, 0), np.int32)
      for name, shape in self.sizes.shapes.items()
    }
    for number, (record, rng) in enumerate(zip(records, rngs, strict=True)):
      self._check(record)
      row = {name: array[number : number + 1] for name, array in rows.items()}
      covered = self._write_entities(row, record, rng)
      self._write_words(row, record, rng, covered)
      if self.sizes.page:
        row["page_ids"][:] = record.page_id
    return rows

  def _check(self, record: Record) -> None:
    words, entities = len(record.word_ids), len(record.entity_ids)
    if not 0 < words <= self.sizes.words - 2:
      expected = f"1 to {self.sizes.words - 2}"
      raise InputError(f"a record of {words} words; expected {expected}, as task.words has it")
    if self.sizes.entities < entities and self.sizes.entities:
      expected = f"{self.sizes.entities}, as task.entities has it"
      raise InputError(f"a record of {entities} entities; expected at most {expected}")

  def _write_words(
    self, row: Rows, record: Record, rng: np.random.Generator, covered: np.ndarray | None
  ) -> None:
    special, words = self.words.special, len(record.word_ids)
    slots = self.sizes.masked_words
    masked = mask_words(
      record.word_ids, self.masking, self.words.ids, rng, slots=slots, covered=covered
    )
    ids = row["input_ids"][0]
    ids[0], ids[words + 1], ids[1 : words + 1] = special.start, special.end, masked.ids
    row["attention_mask"][0, : words + 2] = 1
    _write_slots(row["masked_positions"][0], row["labels"][0], masked, record.word_ids)
    row["masked_positions"][0, : len(masked.places)] += 1  # after <s>

  def _write_entities(
    self, row: Rows, record: Record, rng: np.random.Generator
  ) -> np.ndarray | None:
    """Writes them, and says which words belong to masked ones if those are to go first."""
    count = len(record.entity_ids)
    if self.entities is None or not count:
      return None
    masked = mask_entities(record.entity_ids, self.masking, self.entities, rng)
    row["entity_ids"][0, :count] = masked.ids
    row["entity_attention_mask"][0, :count] = 1
    starts, ends = record.mention_starts[:, None], record.mention_ends[:, None]
    positions = starts + np.arange(self.sizes.mention, dtype=np.int32)
    row["entity_position_ids"][0, :count] = np.where(positions < ends, positions + 1, -1)
    slots = row["masked_entity_positions"][0], row["entity_labels"][0]
    _write_slots(*slots, masked, record.entity_ids)
    if not self.masking.mask_words_in_entity_span:
      return None
    places = np.arange(len(record.word_ids))
    inside = (starts[masked.places] <= places) & (places < ends[masked.places])
    return np.any(inside, axis=0)


def _write_slots(
  positions: np.ndarray, labels: np.ndarray, masked: Masked, originals: np.ndarray
) -> None:
  positions[: len(masked.places)] = masked.places
  labels[: len(masked.places)] = originals[masked.places]
