"""From states to logits: the decoders of masked words and entities, and how states are pooled."""

import flax.linen as nn
import jax
import jax.numpy as jnp

from luke_jax.config import LukeConfig
from luke_jax.nn.layers import Dense, LayerNorm, gelu
from luke_jax.nn.vocabulary import token_losses


class Pooler(nn.Module):
  """The first word's state through a linear layer and tanh."""

  config: LukeConfig

  @nn.compact
  def __call__(self, words: jax.Array) -> jax.Array:
    """Maps (B, W, D) to (B, D)."""
    c = self.config
    return nn.tanh(Dense(c, (c.hidden_size,), name="dense")(words[:, 0]))


class MaskedTokens(nn.Module):
  """Logits over a vocabulary: transform to the table's width, then the tied table and a bias.

  Words decode with the word embeddings, entities with B (paper §3.3; the paper writes a D x D
  transform followed by a K x D one, the released weights hold a single K x D).
  """

  config: LukeConfig

  @nn.compact
  def __call__(
    self,
    states: jax.Array,
    table: jax.Array,
    labels: jax.Array | None = None,
    *,
    size: int | None = None,
    axis: str | None = None,
  ) -> jax.Array:
    """Maps states (..., D) and table (V, K) to float32 logits (..., V).

    Given labels (...), to their losses (...) as `token_losses` has them, without all logits.
    """
    c = self.config
    rows, width = table.shape
    x = LayerNorm(c, name="norm")(gelu(Dense(c, (width,), name="transform")(states)))
    bias = self.param("bias", nn.initializers.zeros, (rows,))
    if labels is not None:
      flat = x.reshape(-1, width)
      losses = token_losses(flat, table, bias, labels.reshape(-1), size=size, axis=axis)
      return losses.reshape(labels.shape)
    logits = jnp.einsum(
      "...k,vk->...v", x, table.astype(x.dtype), preferred_element_type=jnp.float32
    )
    return logits + bias


class PageEntity(nn.Module):
  """Predicts the embedding of the page's own entity from the first word's state."""

  config: LukeConfig

  @nn.compact
  def __call__(self, words: jax.Array) -> jax.Array:
    """Maps (B, W, D) to (B, K)."""
    c = self.config
    return Dense(c, (c.entity_emb_size,), name="decoder")(words[:, 0])


def span_features(
  words: jax.Array, entities: jax.Array, starts: jax.Array, ends: jax.Array
) -> jax.Array:
  """First word, last word and entity state of every span: (B, E, 3 D). Ends are inclusive."""
  first, last = (jnp.take_along_axis(words, p[..., None], axis=1) for p in (starts, ends))
  return jnp.concatenate([first, last, entities], axis=-1)
