"""Rows for the model: texts between special tokens, and rows padded to arrays."""

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from luke_jax.errors import InputError
from luke_jax.text.parts import NOT_TEXT, Part, RowEntity, moved
from luke_jax.text.tokenizer import Bounds, SpecialTokens

Lengths = int | Sequence[int] | None
# Entities are tokens that words attend to; tokens that they do not attend to, so that a text is
# read once for all of them; or places among the words' states.
EntityReading = Literal["attended", "independent", "none"]

WORD_INPUTS = ("input_ids", "attention_mask")
ENTITY_INPUTS = ("entity_ids", "entity_attention_mask", "entity_position_ids")
BOUNDARY_INPUTS = ("entity_start_positions", "entity_end_positions")
INPUTS = (*WORD_INPUTS, "token_type_ids", *ENTITY_INPUTS, *BOUNDARY_INPUTS)
# Far beyond any model, and small enough that no array of such a length is made by mistake.
MOST_TOKENS = 10**6


class Widths(NamedTuple):
  """Numbers of words and of entities that rows may be padded to, the smallest first."""

  words: Sequence[int]
  entities: Sequence[int]


class Origin(NamedTuple):
  """The places in an example that the tokens and entities of a row come from.

  `entities` is None for an example that has no say on entities. `dropped` numbers the entities
  that have no place: in this row, or in any window of their text. `offsets`, empty unless asked
  for, are each token's characters in its text; special tokens have (-1, -1).
  """

  entities: Sequence[RowEntity] | None = None
  dropped: Sequence[int] = ()
  offsets: Sequence[Bounds] = ()


UNKNOWN = Origin()


@dataclass(frozen=True, slots=True, eq=False)
class Row:
  """One row for the model, not padded yet. A long text takes several.

  `text_starts` is where the first token of each text stands. `source` is what a task needs to know
  to make predictions of the row's outputs. `extra` has arrays beside those that every model may
  read, by name. Only a processor fills `origin`.
  """

  example: int  # its number among the examples
  input_ids: np.ndarray  # (W,)
  entity_ids: np.ndarray  # (E,)
  entity_tokens: np.ndarray  # (E, 2), half-open places in input_ids
  labels: np.ndarray | None = None  # of the shape of the task, or smaller along any axis
  source: Any = None
  text_starts: tuple[int, ...] = (1,)
  extra: Mapping[str, Any] | None = None
  origin: Origin = UNKNOWN

  @property
  def entities(self) -> Sequence[RowEntity] | None:
    """Returns the entities with their characters in the example."""
    return self.origin.entities

  @property
  def dropped(self) -> Sequence[int]:
    """Returns the numbers of the entities that have no place."""
    return self.origin.dropped

  @property
  def offsets(self) -> Sequence[Bounds]:
    """Returns the characters of each token."""
    return self.origin.offsets

  def labelled(self, labels: Any, source: object = None) -> "Row":
    """Returns the row with labels, which may be None, and without its origin, to save memory."""
    return replace(self, labels=labels, source=source, origin=UNKNOWN)


class Sizes(NamedTuple):
  """The room that a row has for word pieces, entities and positions of a mention."""

  words: int
  entities: int
  mention: int


class Room(NamedTuple):
  """The room that a row has in an array, and the number that fills what a row leaves of it."""

  shape: tuple[int, ...]
  fill: int = 0
  dtype: type[np.number] = np.int32


Rooms = Mapping[str, Room]  # of labels and of what rows have as `extra`, by name


def enclosed(parts: Sequence[Part], special: SpecialTokens, example: int = 0) -> Row:
  """Returns texts between special tokens as one row.

  That is `<s> A </s>` or `<s> A </s></s> B </s>`; in BERT a pair is `[CLS] A [SEP] B [SEP]`.
  """
  ids: list[int] = []
  offsets: list[Bounds] = []
  entities: list[RowEntity] = []
  starts: list[int] = []
  for part in parts:
    opening = [special.start] if not ids else [special.end] * special.doubled
    starts.append(len(ids) + len(opening))
    ids += [*opening, *part.ids, special.end]
    offsets += [*[NOT_TEXT] * len(opening), *part.offsets, NOT_TEXT]
    entities += [moved(entity, starts[-1]) for entity in part.entities]
  if len(offsets) < len(ids):  # the parts have none, for nobody asked
    offsets = []
  return Row(
    example,
    np.array(ids, np.int32),
    np.array([entity.id for entity in entities], np.int32),
    np.array([entity.tokens for entity in entities], np.int32).reshape(-1, 2),
    text_starts=tuple(starts),
    origin=Origin(entities, offsets=offsets),
  )


def padded(
  rows: Sequence[Row],
  sizes: Sizes,
  pad_word: int,
  pad_entity: int,
  *,
  names: Sequence[str] = INPUTS,
  extra: Rooms | None = None,
) -> dict[str, np.ndarray]:
  """Returns arrays that a network may read, (B, ...), int32, under Hugging Face's names.

  They are those of `names`, and those that `extra` has room for, of its types.
  """
  arrays = _word_arrays(rows, sizes.words, pad_word)
  if "token_type_ids" in names:
    arrays["token_type_ids"] = _types(rows, sizes.words)
  if any(name.startswith("entity") for name in names):
    arrays |= _entity_arrays(rows, sizes, pad_entity, positions="entity_position_ids" in names)
  arrays = {name: arrays[name] for name in names}
  for name, room in (extra or {}).items():
    values = [row.labels if name == "labels" else (row.extra or {}).get(name) for row in rows]
    arrays[name] = _filled(values, room)
  return arrays


def padded_shapes(
  sizes: Sizes, *, names: Sequence[str] = INPUTS, extra: Rooms | None = None
) -> dict[str, tuple[int, ...]]:
  """Returns the shape of a row in each array that `padded` returns."""
  rooms: dict[str, tuple[int, ...]] = dict.fromkeys(INPUTS, (sizes.words,))
  rooms |= dict.fromkeys((*ENTITY_INPUTS, *BOUNDARY_INPUTS), (sizes.entities,))
  rooms["entity_position_ids"] = (sizes.entities, sizes.mention)
  shapes: dict[str, tuple[int, ...]] = {name: rooms[name] for name in names}
  return shapes | {name: room.shape for name, room in (extra or {}).items()}


def padded_length(sizes: Sequence[int], lengths: Lengths, what: str) -> int:
  """The smallest of the lengths that holds the largest size; that size if there are none."""
  longest = max(sizes, default=0)
  if lengths is None:
    return longest
  listed = lengths if isinstance(lengths, Sequence | np.ndarray) else [lengths]
  allowed = [whole_number(f"length of {what} to pad to", length, 0) for length in listed]
  if longest > max(allowed, default=0):
    raise InputError(
      f"row {sizes.index(longest)}: {longest} {what}; expected at most"
      f" {max(allowed, default=0)}, the largest length to pad to"
    )
  return min(length for length in allowed if length >= longest)


def _word_arrays(rows: Sequence[Row], width: int, pad: int) -> dict[str, np.ndarray]:
  ids, mask = np.full((len(rows), width), pad, np.int32), np.zeros((len(rows), width), np.int32)
  for i, row in enumerate(rows):
    length = len(row.input_ids)
    ids[i, :length], mask[i, :length] = row.input_ids, 1
  return {"input_ids": ids, "attention_mask": mask}


def _types(rows: Sequence[Row], width: int) -> np.ndarray:
  """Returns 0 for the tokens of the first text and 1 for those of the second, ends included."""
  types = np.zeros((len(rows), width), np.int32)
  for line, row in zip(types, rows, strict=True):
    for start in row.text_starts[1:]:
      line[start : len(row.input_ids)] = 1
  return types


def _entity_arrays(
  rows: Sequence[Row], sizes: Sizes, pad: int, *, positions: bool
) -> dict[str, np.ndarray]:
  shape = (len(rows), sizes.entities)
  ids, mask = np.full(shape, pad, np.int32), np.zeros(shape, np.int32)
  tokens = np.zeros((*shape, 2), np.int32)
  for i, row in enumerate(rows):
    number = len(row.entity_ids)
    ids[i, :number], mask[i, :number], tokens[i, :number] = row.entity_ids, 1, row.entity_tokens
  starts, ends = tokens[..., 0], tokens[..., 1]
  arrays = {
    "entity_ids": ids,
    "entity_attention_mask": mask,
    "entity_start_positions": starts,
    "entity_end_positions": np.maximum(ends - 1, 0),
  }
  if positions:  # which take the most memory
    arrays["entity_position_ids"] = _positions(starts, ends, sizes.mention)
  return arrays


def _positions(starts: np.ndarray, ends: np.ndarray, room: int) -> np.ndarray:
  """Returns the tokens of each mention, (B, E, M), -1 after its last."""
  positions = np.full((*starts.shape, room), -1, np.int32)
  longest = min(room, int((ends - starts).max(initial=0)))  # most mentions are short
  tokens = starts[..., None] + np.arange(longest, dtype=np.int32)
  np.copyto(positions[..., :longest], tokens, where=tokens < ends[..., None])
  return positions


def _filled(values: Sequence[Any], room: Room) -> np.ndarray:
  array = np.full((len(values), *room.shape), room.fill, room.dtype)
  for i, value in enumerate(values):
    if value is not None:
      array[(i, *map(slice, np.shape(value)))] = value
  return array


def whole_number(where: str, value: Any, least: int) -> int:
  """Returns a whole number from `least` to a million; raises InputError for another value."""
  try:
    number = least - 1 if isinstance(value, bool) else operator.index(value)
  except TypeError:
    number = least - 1
  if not least <= number <= MOST_TOKENS:
    raise InputError(f"{where}: {value!r}; expected a whole number from {least} to {MOST_TOKENS}")
  return number
