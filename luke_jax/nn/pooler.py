"""Pooling: the first word's state stands for the whole text."""

import flax.linen as nn
import jax

from luke_jax.nn.activations import Activation, activate
from luke_jax.nn.layers import Dense, Numerics


class Pooler(nn.Module):
  """Linear layer and tanh, or another activation, over the first word's state."""

  numerics: Numerics
  activation: Activation | None = None  # None: tanh in the type of products

  @nn.compact
  def __call__(self, words: jax.Array) -> jax.Array:
    """Maps (B, W, D) to (B, D)."""
    x = Dense(self.numerics, words.shape[-1:], name="dense")(words[:, 0])
    return nn.tanh(x) if self.activation is None else activate(x, self.activation)
