"""Vectors of texts: means of an encoder's states."""

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from luke_jax.convert.parts import ModelParts
from luke_jax.heads.bare import without_head
from luke_jax.inference.settings import any_processor
from luke_jax.models.network import Network
from luke_jax.text import TextInput

PIECES = 64  # of a text that are read
BATCH = 64


def encode(model: ModelParts, texts: Sequence[str]) -> np.ndarray:
  """Returns the means of the texts' states, (N, D), each of length 1."""
  processor = any_processor(model)
  network, params = without_head(Network(model.backbone), model.params)
  vectors = np.zeros((len(texts), model.config.hidden_size), np.float32)
  order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
  for first in range(0, len(order), BATCH):
    chosen = order[first : first + BATCH]
    inputs = [TextInput(" ".join(texts[i].split()) or "?") for i in chosen]
    rows = processor.encode(inputs, truncation=True)
    width = -(-max(min(len(row.input_ids), PIECES) for row in rows) // 16) * 16
    words = np.full((BATCH, width), model.config.pad_token_id, np.int32)
    mask = np.zeros((BATCH, width), np.int32)
    for place, row in enumerate(rows):
      pieces = row.input_ids[:width]
      words[place, : len(pieces)], mask[place, : len(pieces)] = pieces, 1
    vectors[chosen] = np.asarray(_means(network, params, words, mask))[: len(chosen)]
  return vectors


@functools.partial(jax.jit, static_argnames="network")
def _means(network: Network, params: Any, words: jax.Array, mask: jax.Array) -> jax.Array:
  found: Any = network.apply({"params": params}, input_ids=words, attention_mask=mask)
  states = found["last_hidden_state"].astype(jnp.float32)
  total = jnp.einsum("bwd,bw->bd", states, mask.astype(jnp.float32))
  return total / jnp.maximum(jnp.linalg.norm(total, axis=-1, keepdims=True), 1e-9)
