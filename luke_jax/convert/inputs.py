"""Checks of a network's inputs, since JAX itself would not report their faults.

JAX reads past the end of a table as NaN, clamps other indices, and broadcasts masks.
"""

from collections.abc import Mapping

import numpy as np

from luke_jax.errors import InputError
from luke_jax.models.config_files import check_range
from luke_jax.models.network import Network

WORDS = ("attention_mask", "token_type_ids", "position_ids")
ENTITIES = (
  "entity_attention_mask",
  "entity_token_type_ids",
  "entity_start_positions",
  "entity_end_positions",
)


def check_inputs(network: Network, inputs: Mapping[str, np.ndarray]) -> None:
  """Raises InputError for ids without a row, shapes that do not match, and too few entities."""
  config = network.backbone.config
  words = inputs.get("input_ids")
  axes = ("batch", "choices", "words") if network.choices else ("batch", "words")
  if words is None or words.ndim != len(axes) or not words.shape[-1]:
    actual = "missing" if words is None else f"shape {words.shape}"
    raise InputError(f"input_ids: {actual}; expected ({', '.join(axes)})")
  _check_shapes(inputs, words.shape, WORDS)
  room = config.room_for_words
  if words.shape[-1] > room:
    raise InputError(f"input_ids: {words.shape[-1]} words; expected at most {room}")
  check_range("input_ids", words, config.vocab_size)
  for name, field in (
    ("token_type_ids", "type_vocab_size"),
    ("entity_token_type_ids", "type_vocab_size"),
    ("position_ids", "max_position_embeddings"),
  ):
    if name in inputs:
      check_range(name, inputs[name], getattr(config, field))
  _check_own(network, inputs)
  _check_slots(network, inputs)
  _check_entities(network, inputs)


def _check_own(network: Network, inputs: Mapping[str, np.ndarray]) -> None:
  """Raises InputError for inputs of the head alone that are missing, or have no row."""
  for name, shape in network.own_inputs.items():
    expected = (*inputs["input_ids"].shape[:-1], *shape)
    if name not in inputs or inputs[name].shape != expected:
      actual = f"shape {inputs[name].shape}" if name in inputs else "missing"
      raise InputError(f"{name}: {actual}; expected {expected}")
  if network.head is not None:
    network.head.check_inputs(inputs)


def _check_slots(network: Network, inputs: Mapping[str, np.ndarray]) -> None:
  """Raises InputError for vectors of entities that do not fit the words they are aligned to."""
  width = network.backbone.decoders.vectors
  for name, shape in (("entity_vectors", (width,)), ("entity_mask", ())):
    if name not in inputs:
      continue
    if not width:
      raise InputError(f"{name}: given; expected none, for the model reads no vectors of entities")
    expected = (*inputs["input_ids"].shape, *shape)
    if inputs[name].shape != expected:
      raise InputError(f"{name}: shape {inputs[name].shape}; expected {expected}")


def _check_entities(network: Network, inputs: Mapping[str, np.ndarray]) -> None:
  rows = network.backbone.entities
  needed = 0 if network.head is None else network.head.entities
  entities, words = inputs.get("entity_ids"), inputs["input_ids"]
  if entities is None:
    if needed and rows:
      raise InputError(f"entity_ids: missing; expected {needed} entities or more for each text")
    if needed:
      _check_places(inputs, words.shape[-1], needed)
    return
  if not rows:
    raise InputError("entity_ids: given; expected none, for the model has no entities")
  if entities.ndim != words.ndim or entities.shape[:-1] != words.shape[:-1]:
    raise InputError(
      f"entity_ids: shape {entities.shape}; expected {(*words.shape[:-1], 'entities')}"
    )
  if entities.shape[-1] < needed:
    raise InputError(f"entity_ids: {entities.shape[-1]} for each text; expected {needed} or more")
  positions = inputs.get("entity_position_ids")
  if positions is None or positions.shape[:-1] != entities.shape:
    actual = "missing" if positions is None else f"shape {positions.shape}"
    raise InputError(f"entity_position_ids: {actual}; expected {(*entities.shape, 'positions')}")
  _check_shapes(inputs, entities.shape, ENTITIES)
  check_range("entity_ids", entities, rows)
  check_range("entity_position_ids", positions, words.shape[-1], least=-1)
  for name in ENTITIES[2:]:
    if name in inputs:
      check_range(name, inputs[name], words.shape[-1])


def _check_places(inputs: Mapping[str, np.ndarray], words: int, needed: int) -> None:
  """Raises InputError unless a model of words only has the places of the entities it needs."""
  starts = inputs.get("entity_start_positions")
  batch = len(inputs["input_ids"])
  if starts is None or starts.ndim != 2 or len(starts) != batch or starts.shape[1] < needed:
    actual = "missing" if starts is None else f"shape {starts.shape}"
    raise InputError(
      f"entity_start_positions: {actual}; expected ({batch}, {needed} or more), for the model has"
      " no entities"
    )
  _check_shapes(inputs, starts.shape, ENTITIES[3:])
  for name in ENTITIES[2:]:
    if name in inputs:
      check_range(name, inputs[name], words)


def _check_shapes(
  inputs: Mapping[str, np.ndarray], shape: tuple[int, ...], names: tuple[str, ...]
) -> None:
  for name in names:
    if name in inputs and inputs[name].shape != shape:
      raise InputError(f"{name}: shape {inputs[name].shape}; expected {shape}")
