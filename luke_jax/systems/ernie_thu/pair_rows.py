"""Pairs of sentences as arrays: padded words, their targets, and the entities beside them."""

from collections.abc import Sequence

import numpy as np

from luke_jax.nn.losses import IGNORED
from luke_jax.pipeline.instances import NONE, Instance

Arrays = dict[str, np.ndarray]


def word_arrays(records: Sequence[Instance], words: int, masked: int, pad: int) -> Arrays:
  """Returns the words (B, W), the masked ones (B, P), and the labels (B,) of second sentences."""
  shape, slots = (len(records), words), (len(records), masked)
  ids, types = np.full(shape, pad, np.int32), np.zeros(shape, np.int32)
  mask, positions = np.zeros(shape, np.int32), np.zeros(slots, np.int32)
  labels = np.full(slots, IGNORED, np.int32)
  for i, record in enumerate(records):
    length, places = len(record.input_ids), np.flatnonzero(record.labels != NONE)[:masked]
    ids[i, :length], mask[i, :length] = record.input_ids, 1
    types[i, :length] = record.token_type_ids
    positions[i, : len(places)], labels[i, : len(places)] = places, record.labels[places]
  return {
    "input_ids": ids,
    "attention_mask": mask,
    "token_type_ids": types,
    "masked_positions": positions,
    "labels": labels,
    "next_sentence_labels": np.array([record.random_next for record in records], np.int32),
  }


def aligned_entities(records: Sequence[Instance], words: int) -> np.ndarray:
  """Returns the entities beside the words (B, W), -1 for none."""
  entities = np.full((len(records), words), NONE, np.int32)
  for line, record in zip(entities, records, strict=True):
    line[: len(record.entities)] = record.entities
  return entities


def target_arrays(entities: np.ndarray, slots: int) -> Arrays:
  """Returns the first aligned words, each with its own entity as the candidate of its number."""
  shape = (len(entities), slots)
  places, ids = np.zeros(shape, np.int32), np.full(shape, NONE, np.int32)
  labels = np.full(shape, IGNORED, np.int32)
  for i, line in enumerate(entities):
    aligned = np.flatnonzero(line != NONE)[:slots]
    places[i, : len(aligned)], ids[i, : len(aligned)] = aligned, line[aligned]
    labels[i, : len(aligned)] = np.arange(len(aligned))
  return {"aligned_positions": places, "entity_labels": labels, "candidate_ids": ids}


def corrupted(
  entities: np.ndarray,
  rngs: Sequence[np.random.Generator],
  other: float,
  none: float,
) -> np.ndarray:
  """Returns entities (B, W) of which a share `other` is another of them, and a share `none` is -1.

  The other one is any of the distinct entities, perhaps the same again.
  """
  distinct = np.unique(entities[entities != NONE])
  changed = entities.copy()
  for line, rng in zip(changed, rngs, strict=True):
    places = np.flatnonzero(line != NONE)
    draws = rng.random(len(places))
    others = places[draws < other]
    line[others] = rng.choice(distinct, len(others)) if len(others) else ()
    line[places[(other <= draws) & (draws < other + none)]] = NONE
  return changed
