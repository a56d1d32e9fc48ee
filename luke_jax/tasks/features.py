"""Examples as the numbers a model reads, and as padded rows of a batch."""

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from luke_jax.nn.losses import IGNORED
from luke_jax.text import Row
from luke_jax.text.rows import token_types


class Sizes(NamedTuple):
  """How much a row has room for: word pieces, entities, and positions of a mention."""

  words: int
  entities: int
  mention: int


@dataclasses.dataclass(frozen=True)
class Features:
  """One row for the model, not padded yet. A long text takes several.

  `source` is what the task needs to know to make predictions of the row's outputs.
  """

  example: int  # its number among the examples
  input_ids: np.ndarray  # (words,)
  entity_ids: np.ndarray  # (entities,)
  entity_tokens: np.ndarray  # (entities, 2), half-open places in input_ids
  labels: np.ndarray | None = None  # of the shape of the task, or smaller along any axis
  source: Any = None
  token_type_ids: np.ndarray | None = None  # (words,); None: one text, all of type 0


def from_row(row: Row, labels: np.ndarray | None = None, source: Any = None) -> Features:
  """What a processor made of a text, in little memory."""
  entities = row.entities or ()
  return Features(
    row.example,
    np.array(row.input_ids, np.int32),
    np.array([entity.id for entity in entities], np.int32),
    np.array([entity.tokens for entity in entities], np.int32).reshape(-1, 2),
    labels,
    source,
    np.array(token_types(row), np.int32) if len(row.text_starts) > 1 else None,
  )


def padded(
  features: Sequence[Features], sizes: Sizes, pad_word: int, pad_entity: int
) -> dict[str, np.ndarray]:
  """Returns every array that a network may read, (rows, ...), under Hugging Face's names."""
  rows = len(features)
  words, mask, types = (np.full((rows, sizes.words), x, np.int32) for x in (pad_word, 0, 0))
  ids, entity_mask = (np.full((rows, sizes.entities), x, np.int32) for x in (pad_entity, 0))
  tokens = np.zeros((rows, sizes.entities, 2), np.int32)
  for i, row in enumerate(features):
    words[i, : len(row.input_ids)], mask[i, : len(row.input_ids)] = row.input_ids, 1
    if row.token_type_ids is not None:
      types[i, : len(row.input_ids)] = row.token_type_ids
    number = len(row.entity_ids)
    ids[i, :number], entity_mask[i, :number] = row.entity_ids, 1
    tokens[i, :number] = row.entity_tokens
  starts, ends = tokens[..., 0], tokens[..., 1]
  positions = starts[..., None] + np.arange(sizes.mention, dtype=np.int32)
  return {
    "input_ids": words,
    "attention_mask": mask,
    "token_type_ids": types,
    "entity_ids": ids,
    "entity_attention_mask": entity_mask,
    "entity_position_ids": np.where(positions < ends[..., None], positions, np.int32(-1)),
    "entity_start_positions": starts,
    "entity_end_positions": np.maximum(ends - 1, 0),
  }


def padded_labels(features: Sequence[Features], shape: Sequence[int]) -> np.ndarray:
  """The labels of the rows, (rows, *shape); what they do not fill asks for no prediction."""
  labels = np.full((len(features), *shape), IGNORED, np.int32)
  for i, given in enumerate(features):
    if given.labels is not None:
      labels[(i, *map(slice, np.shape(given.labels)))] = given.labels
  return labels
