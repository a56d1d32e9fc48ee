"""Traces a LUKE with each head on shapes alone, where every array is compared with its type.

python tests/shapes.py, as a process of its own: the hook sees what is imported after it.
"""

import jax
import jax.numpy as jnp
import pytest
from jaxtyping import TypeCheckError, install_import_hook

with install_import_hook(["luke_jax.nn", "luke_jax.heads"], "array_types.checked"):
  from networks import network, tiny

  from luke_jax.heads.kinds import class_names
  from luke_jax.heads.labels import span_features
  from luke_jax.models.network import abstract_params, apply
  from luke_jax.systems.luke import LukeConfig

OF_LOGITS = ("entity", "pair", "span", "crf", "masked")  # a label for each row of logits
KINDS = (*OF_LOGITS, "cloze", "answer")
B, W, E, M = 3, 7, 5, 2
INPUTS = {
  **dict.fromkeys(("input_ids", "attention_mask"), (B, W)),
  **dict.fromkeys(("entity_ids", "entity_attention_mask"), (B, E)),
  "entity_position_ids": (B, E, M),
}


def labels_of(kind: str, outputs: dict) -> dict:
  """Labels of zeros for the outputs of a head."""
  if kind == "answer":
    places = jnp.zeros(B, int)
    return {"start_positions": places, "end_positions": places}
  shape = outputs["logits"].shape
  return {"labels": jnp.zeros(shape[:-1] if kind in OF_LOGITS else shape, int)}


def check(kind: str, *, gradient: bool = False, attention: str = "blocks", **sizes) -> None:
  """Traces the loss of a network in training, and its gradient if that is asked for."""
  config = tiny(**sizes)
  made = network(class_names(LukeConfig)[kind], config, labels=3, attention=attention)
  shapes = INPUTS | (dict.fromkeys(made.places, (B, E)) if len(made.places) > 1 else {})
  inputs = {name: jax.ShapeDtypeStruct(shape, int) for name, shape in shapes.items()}

  def loss(params: dict, inputs: dict, key: jax.Array) -> jax.Array:
    outputs = apply(made, params, inputs, key)
    return made.loss(outputs, **labels_of(kind, outputs))

  run = jax.grad(loss) if gradient else loss
  jax.eval_shape(run, abstract_params(made), inputs, jax.random.key(0))


if __name__ == "__main__":
  for kind in KINDS:
    check(kind)
  check("span", gradient=True, attention="einsum")
  check("span", gradient=True, independent_entities=True)
  with pytest.raises(TypeCheckError):
    span_features(*(jnp.zeros((B, x, 4)) for x in (W, E)), *[jnp.zeros((B, E + 1), int)] * 2)
