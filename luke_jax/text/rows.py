"""Rows for the model: texts between special tokens, and rows padded to arrays."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from luke_jax.errors import InputError
from luke_jax.text.checks import whole_number
from luke_jax.text.parts import NOT_TEXT, Entity, Part, moved
from luke_jax.text.special_tokens import Bounds, SpecialTokens

Lengths = int | Sequence[int] | None


@dataclass(frozen=True)
class Row:
  """One row for the model, not padded yet, and where its tokens and entities come from.

  `entities` is None for an example that has no say on entities. `dropped` numbers the entities
  that found no place: in this row, or in any window of their text. `text_starts` is where the
  first token of each text stands. `offsets`, empty unless asked for, are each token's characters
  in its text; special tokens have (-1, -1).
  """

  example: int
  input_ids: list[int]
  entities: list[Entity] | None
  dropped: list[int]
  text_starts: list[int]
  offsets: list[Bounds]


def enclosed(parts: Sequence[Part], special: SpecialTokens) -> tuple[Part, list[int]]:
  """Returns texts between special tokens as one part, and where each text starts in it.

  That is `<s> A </s>` or `<s> A </s></s> B </s>`; in BERT a pair is `[CLS] A [SEP] B [SEP]`.
  """
  ids: list[int] = []
  offsets: list[Bounds] = []
  entities: list[Entity] = []
  starts: list[int] = []
  for part in parts:
    opening = [special.start] if not ids else [special.end] * special.doubled
    starts.append(len(ids) + len(opening))
    ids += [*opening, *part.ids, special.end]
    offsets += [*[NOT_TEXT] * len(opening), *part.offsets, NOT_TEXT]
    entities += [moved(entity, starts[-1]) for entity in part.entities]
  if len(offsets) < len(ids):  # the parts have none, for nobody asked
    offsets = []
  return Part(ids, offsets, entities), starts


def token_types(row: Row) -> list[int]:
  """Returns 0 for the tokens of the first text and 1 for those of the second, ends included."""
  second = row.text_starts[1] if len(row.text_starts) > 1 else len(row.input_ids)
  return [int(place >= second) for place in range(len(row.input_ids))]


def type_array(rows: Sequence[Row], width: int) -> np.ndarray:
  """Returns `token_type_ids`, (B, W)."""
  return _array([token_types(row) for row in rows], width, 0)


def word_arrays(rows: Sequence[Row], pad_id: int, lengths: Lengths) -> dict[str, np.ndarray]:
  """`input_ids` and `attention_mask`, (B, W)."""
  width = padded_length([len(row.input_ids) for row in rows], lengths, "tokens")
  return {
    "input_ids": _array([row.input_ids for row in rows], width, pad_id),
    "attention_mask": _array([[1] * len(row.input_ids) for row in rows], width, 0),
  }


def entity_arrays(
  rows: Sequence[Row], pad_id: int, width: int, max_mention_length: int
) -> dict[str, np.ndarray]:
  """`entity_ids`, `entity_attention_mask`, (B, E), and `entity_position_ids`, (B, E, M)."""
  starts, ends = _entity_tokens(rows, width)
  positions = starts[:, :, None] + np.arange(max_mention_length, dtype=np.int32)
  ids = [[entity.id for entity in row.entities or ()] for row in rows]
  return {
    "entity_ids": _array(ids, width, pad_id),
    "entity_attention_mask": (ends > 0).astype(np.int32),
    "entity_position_ids": np.where(positions < ends[:, :, None], positions, np.int32(-1)),
  }


def boundary_arrays(rows: Sequence[Row], width: int) -> dict[str, np.ndarray]:
  """`entity_start_positions`, `entity_end_positions`, (B, E): a mention's first and last token."""
  starts, ends = _entity_tokens(rows, width)
  return {
    "entity_start_positions": starts,
    "entity_end_positions": np.maximum(ends - 1, 0),
  }


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


def _entity_tokens(rows: Sequence[Row], width: int) -> tuple[np.ndarray, np.ndarray]:
  tokens = [[entity.tokens for entity in row.entities or ()] for row in rows]
  starts = [[start for start, _ in row] for row in tokens]
  ends = [[end for _, end in row] for row in tokens]
  return _array(starts, width, 0), _array(ends, width, 0)


def _array(rows: Sequence[Sequence[int]], width: int, fill: int) -> np.ndarray:
  array = np.full((len(rows), width), fill, np.int32)
  for line, row in zip(array, rows, strict=True):
    line[: len(row)] = row
  return array
