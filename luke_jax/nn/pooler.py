"""Pooling: the first word's state stands for the whole text."""

import flax.linen as nn
import jax

from luke_jax.nn.layers import Dense, Numerics


class Pooler(nn.Module):
  """Linear layer and tanh over the first word's state."""

  numerics: Numerics

  @nn.compact
  def __call__(self, words: jax.Array) -> jax.Array:
    """Maps (B, W, D) to (B, D)."""
    return nn.tanh(Dense(self.numerics, words.shape[-1:], name="dense")(words[:, 0]))
