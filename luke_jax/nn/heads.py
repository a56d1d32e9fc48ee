"""From states to logits: the decoders of masked words and entities, and how states are pooled."""

import flax.linen as nn
import jax
import jax.numpy as jnp

from luke_jax.config import LukeConfig
from luke_jax.nn.layers import Dense, LayerNorm, gelu
from luke_jax.nn.vocabulary import Scores, token_scores


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

  def __call__(self, states: jax.Array, table: jax.Array) -> jax.Array:
    """Maps states (..., D) and table (V, K) to float32 logits (..., V)."""
    x, bias = self._transformed(states, table)
    logits = jnp.einsum(
      "...k,vk->...v", x, table.astype(x.dtype), preferred_element_type=jnp.float32
    )
    return logits + bias

  def scores(
    self,
    states: jax.Array,
    table: jax.Array,
    labels: jax.Array,
    *,
    size: int | None = None,
    axis: str | None = None,
  ) -> Scores:
    """How well labels (...) are predicted, as `token_scores` has it, without all logits."""
    x, bias = self._transformed(states, table)
    flat = x.reshape(-1, x.shape[-1])
    scores = token_scores(flat, table, bias, labels.reshape(-1), size=size, axis=axis)
    return Scores(*(part.reshape(labels.shape) for part in scores))

  @nn.compact
  def _transformed(self, states: jax.Array, table: jax.Array) -> tuple[jax.Array, jax.Array]:
    c = self.config
    rows, width = table.shape
    x = LayerNorm(c, name="norm")(gelu(Dense(c, (width,), name="transform")(states)))
    return x, self.param("bias", nn.initializers.zeros, (rows,))


class PageEntity(nn.Module):
  """Predicts the embedding of the page's own entity from the first word's state."""

  config: LukeConfig

  @nn.compact
  def __call__(self, words: jax.Array) -> jax.Array:
    """Maps (B, W, D) to (B, K)."""
    c = self.config
    return Dense(c, (c.entity_emb_size,), name="decoder")(words[:, 0])


def span_features(
  words: jax.Array, entities: jax.Array | None, starts: jax.Array, ends: jax.Array
) -> jax.Array:
  """First word, last word and, if there is one, entity state of every span: (B, E, 3 D or 2 D).

  Ends are inclusive.
  """
  parts = [jnp.take_along_axis(words, p[..., None], axis=1) for p in (starts, ends)]
  return jnp.concatenate(parts if entities is None else [*parts, entities], axis=-1)
