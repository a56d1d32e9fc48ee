"""A stack of post-norm transformer layers, scanned over stacked parameters."""

import flax.linen as nn
import jax

from luke_jax.config import LukeConfig
from luke_jax.nn.attention import Attention
from luke_jax.nn.layers import KEPT, Dense, Dropout, LayerNorm, constrain, gelu

# What a layer keeps from the forward pass for the backward one.
POLICIES = {
  "dots": jax.checkpoint_policies.save_only_these_names(KEPT),
  "full": jax.checkpoint_policies.nothing_saveable,
}


class Mlp(nn.Module):
  """Two linear layers with a gelu between."""

  config: LukeConfig

  @nn.compact
  def __call__(self, x: jax.Array) -> jax.Array:
    """Maps (..., D) to (..., D)."""
    c = self.config
    # As rows of one matrix: told of B and T, XLA on TPUs reads what is kept of `up` twice, widened.
    rows = x.reshape(-1, x.shape[-1])
    hidden = gelu(Dense(c, (c.intermediate_size,), name="up")(rows))
    return Dense(c, (c.hidden_size,), name="down")(hidden).reshape(x.shape)


class Layer(nn.Module):
  """Attention and a feed-forward network, each added to its input and then normalised."""

  config: LukeConfig

  @nn.compact
  def __call__(self, x: jax.Array, word_mask: jax.Array, entity_mask: jax.Array) -> jax.Array:
    """Maps (B, T, D) to (B, T, D)."""
    c = self.config
    y = Attention(c, name="attention")(constrain(x), word_mask, entity_mask)
    x = LayerNorm(c, name="attention_norm")(x + Dropout(c.hidden_dropout_prob)(y))
    x = LayerNorm(c, name="mlp_norm")(x + Dropout(c.hidden_dropout_prob)(Mlp(c, name="mlp")(x)))
    self.sow("intermediates", "output", x)
    return x


class Encoder(nn.Module):
  """Scans one layer over parameters with a leading layer axis; dropout is keyed per layer."""

  config: LukeConfig

  @nn.compact
  def __call__(self, x: jax.Array, word_mask: jax.Array, entity_mask: jax.Array) -> jax.Array:
    """Maps (B, T, D) to (B, T, D); sows what goes in and what comes out of each layer."""
    c = self.config
    self.sow("intermediates", "input", x)
    layer = Layer
    if c.remat != "none":
      layer = nn.remat(Layer, policy=POLICIES[c.remat], prevent_cse=False)
    scan = nn.scan(
      lambda layer, x: (layer(x, word_mask, entity_mask), None),
      variable_axes={"params": 0, "intermediates": 0},
      split_rngs={"params": True, "dropout": True},
      length=c.num_hidden_layers,
    )
    return scan(layer(c, name="layers"), x)[0]
