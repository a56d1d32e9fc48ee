"""A word's vector from its characters (Yan et al. 2019, §3.1)."""

import flax.linen as nn
import jax
import jax.numpy as jnp

from luke_jax.nn.layers import Dense, Dropout, Numerics, embedding
from luke_jax.systems.tener.attention import RelativeSizes
from luke_jax.systems.tener.layers import Attending, TenerLayer, absolute_positions

KERNEL = 3  # characters that the convolution sees at once


class Convolution(nn.Module):
  """Convolution over neighbouring characters."""

  numerics: Numerics

  @nn.compact
  def __call__(self, x: jax.Array) -> jax.Array:
    """Maps (B, L, D) to the same shape; beyond the ends all is zero."""
    side = KERNEL // 2
    around = jnp.pad(x, ((0, 0), (side, side), (0, 0)))
    seen = [around[:, i : i + x.shape[1]] for i in range(KERNEL)]
    return Dense(self.numerics, x.shape[-1:], name="kernel_of_3")(jnp.concatenate(seen, -1))


class CharacterEncoder(nn.Module):
  """Vector of a word: the largest values over its characters, encoded in context."""

  numerics: Numerics
  characters: int  # in the vocabulary, padding at 0
  width: int
  attention: Attending | None  # None: a convolution
  dropout: float

  @nn.compact
  def __call__(self, ids: jax.Array) -> jax.Array:
    """Maps the characters of words (B, L) to (B, D); the largest value of none is 0."""
    n, mask = self.numerics, ids != 0
    x = embedding(n, self.characters, self.width, name="character")(ids)
    x = jnp.where(mask[..., None], Dropout(self.dropout)(x), 0)
    if self.attention is None:
      x = Convolution(n, name="convolution")(x)
    else:
      if not isinstance(self.attention, RelativeSizes):
        x = x + absolute_positions(mask, self.width)
      x = TenerLayer(n, self.attention, 2 * self.width, name="layer")(x, mask)
    # What relu leaves is 0 at least, so that padding is never the largest.
    largest = _largest(jnp.where(mask[..., None], nn.relu(x), 0))
    return Dense(n, (self.width,), name="output")(largest)


def _largest(x: jax.Array) -> jax.Array:
  """Returns the largest of (B, L, D) over L.

  The gradient of `max` goes to the values that equal it. XLA may compute them again, rounded
  otherwise, so that none does and the gradient is lost, or not a number.
  """
  chosen = jnp.arange(x.shape[1])[:, None] == x.argmax(1)[:, None]
  return jnp.where(chosen, x, 0).sum(1)
