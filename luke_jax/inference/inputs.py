"""Shapes of a model's inputs, of any batch and any length."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import export

from luke_jax.convert.parts import ModelParts
from luke_jax.convert.programs import DIMENSIONS
from luke_jax.errors import InputError
from luke_jax.inference.settings import task_of
from luke_jax.tasks.contract import TextTask
from luke_jax.text.rows import ENTITY_INPUTS, WORD_INPUTS, Sizes, padded_shapes


def symbolic_inputs(model: ModelParts) -> dict[str, jax.ShapeDtypeStruct]:
  """Returns the shapes of the inputs that a model reads, whose dimensions are names.

  The number of entities is that of the task where those have candidates.
  """
  network, backbone = model.network, model.backbone
  task = _task(model)
  fixed = task is not None and task.fixed_entities
  # A head may read the entities after the first: it has to be known that those are not < 0.
  some = ["batch*entities >= batch"] if network.places and not fixed else []
  dimensions: Any = export.symbolic_shape(", ".join(DIMENSIONS), constraints=some)
  batch, words, entities, mention, choices, labels, _ = dimensions
  if task and fixed:
    entities = task.sizes.entities
  names = (*WORD_INPUTS, *(ENTITY_INPUTS if backbone.entities else ()))
  if backbone.config.token_types:
    names += ("token_type_ids",)
  if len(network.places) > 1 or not backbone.entities:
    names += network.places
  shapes = padded_shapes(Sizes(words, entities, mention), names=names)
  rows = {name: jax.ShapeDtypeStruct(x, jnp.int32) for name, x in shapes.items()}
  rows |= {name: jax.ShapeDtypeStruct(x, jnp.int32) for name, x in network.own_inputs.items()}
  for name, room in backbone.config.beside(words).items():
    rows[name] = jax.ShapeDtypeStruct(room.shape, room.dtype)
  for inputs in task.extra_inputs if task else ():
    rows |= inputs.shapes(backbone, words)
  before = (batch, choices) if network.choices else (batch,)
  specs = {name: jax.ShapeDtypeStruct((*before, *x.shape), x.dtype) for name, x in rows.items()}
  for name in network.head.once if network.head else ():
    _, *width = network.own_inputs[name]
    specs[name] = jax.ShapeDtypeStruct((1, labels, *width), jnp.float32)
  return specs


def _task(model: ModelParts) -> TextTask | None:
  """Returns the task of a model, None if it is pretrained, or without a head."""
  try:
    return task_of(model)
  except InputError:
    return None
