"""The first word's state as that of the whole text."""

import flax.linen as nn
import jax

from luke_jax.nn.layers import Dense, Numerics


class Pooler(nn.Module):
  """The first word's state through a linear layer and tanh."""

  numerics: Numerics

  @nn.compact
  def __call__(self, words: jax.Array) -> jax.Array:
    """Maps (B, W, D) to (B, D)."""
    return nn.tanh(Dense(self.numerics, words.shape[-1:], name="dense")(words[:, 0]))
