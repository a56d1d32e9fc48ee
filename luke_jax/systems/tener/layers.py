"""Layers of a TENER, and of the plain transformer that it is compared with."""

import flax.linen as nn
import jax
import jax.numpy as jnp

from luke_jax.nn.activations import activate
from luke_jax.nn.attention import Attention
from luke_jax.nn.encoder import POLICIES
from luke_jax.nn.layers import Dense, Dropout, LayerNorm, Numerics, Remat, constrain
from luke_jax.nn.queries import AttentionSizes
from luke_jax.systems.tener.attention import Distances, RelativeAttention, RelativeSizes

Attending = RelativeSizes | AttentionSizes


class FeedForward(nn.Module):
  """Two linear layers, each followed by dropout, the first by an activation too."""

  numerics: Numerics
  hidden: int  # F

  @nn.compact
  def __call__(self, x: jax.Array) -> jax.Array:
    """Maps (B, L, D) to the same shape."""
    n, dropped = self.numerics, Dropout(self.numerics.dropout)
    hidden = dropped(activate(Dense(n, (self.hidden,), name="up")(x), n.activation))
    return Dropout(n.dropout)(Dense(n, x.shape[-1:], name="down")(hidden))


class TenerLayer(nn.Module):
  """Attention and a feed-forward network, each added to its input; there is no dropout between."""

  numerics: Numerics
  attention: Attending
  hidden: int  # F
  after_norm: bool = True

  @nn.compact
  def __call__(self, x: jax.Array, mask: jax.Array) -> jax.Array:
    """Maps (B, L, D) to the same shape."""
    n, x = self.numerics, constrain(x)
    for name in ("attention", "mlp"):
      norm = LayerNorm(n, name=f"{name}_norm")
      y = x if self.after_norm else norm(x)
      y = (
        self._attended(y, mask)
        if name == "attention"
        else FeedForward(n, self.hidden, name=name)(y)
      )
      x = norm(x + y) if self.after_norm else x + y
    self.sow("intermediates", "output", x)
    return x

  def _attended(self, x: jax.Array, mask: jax.Array) -> jax.Array:
    if isinstance(self.attention, RelativeSizes):
      return RelativeAttention(self.numerics, self.attention, name="attention")(x, mask)
    no_entities = jnp.zeros((len(x), 0), bool)
    return Attention(self.numerics, self.attention, name="attention")(x, mask, no_entities)


class LayerStack(nn.Module):
  """All layers, scanned over parameters with a leading layer axis."""

  numerics: Numerics
  attention: Attending
  hidden: int  # F
  layers: int
  after_norm: bool = True
  remat: Remat = "none"

  @nn.compact
  def __call__(self, x: jax.Array, mask: jax.Array) -> jax.Array:
    """Maps (B, L, D) to the same shape; sows the input and the output of each layer."""
    self.sow("intermediates", "input", x)
    layer = TenerLayer
    if self.remat != "none":
      layer = nn.remat(TenerLayer, policy=POLICIES[self.remat], prevent_cse=False)
    scan = nn.scan(
      lambda layer, x: (layer(x, mask), None),
      variable_axes={"params": 0, "intermediates": 0},
      split_rngs={"params": True, "dropout": True},
      length=self.layers,
      unroll=self.layers if self.numerics.on_cpu else 1,
    )
    arguments = self.numerics, self.attention, self.hidden, self.after_norm
    return scan(layer(*arguments, name="layers"), x)[0]


def absolute_positions(mask: jax.Array, width: int) -> jax.Array:
  """Returns sines before cosines of each real place from 1 (B, L, D), and 0 at padding."""
  numbers = jnp.cumsum(mask, axis=1) * mask
  angles = numbers[..., None] * Distances(freq="tener").frequencies(width)
  return jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], -1) * mask[..., None]
