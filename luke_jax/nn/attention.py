"""Entity-aware self-attention (paper §3.2): what a token asks depends on both tokens' kinds.

`einsum_scores` is the definition. `block_scores` is the same for words followed by entities,
without masking by kind. The TPU kernel of `pallas_attention` is the same without scores in memory.
"""

import functools
import warnings

import flax.linen as nn
import jax
import jax.numpy as jnp

from luke_jax.config import LukeConfig
from luke_jax.nn import pallas_attention as kernel
from luke_jax.nn.layers import Dropout, dense

Blocks = tuple[tuple[jax.Array, ...], ...]


class QueryProjections(nn.Module):
  """Parameters of the queries: kernel (a, c, D, N, H), bias (a, c, N, H).

  a is the kind of the asking token, c of the asked one: word 0, entity 1. Original attention has
  one query for all four pairs: a = c = 1.
  """

  config: LukeConfig

  @nn.compact
  def __call__(self) -> tuple[jax.Array, jax.Array]:
    """Returns kernel and bias in the arithmetic's type."""
    c = self.config
    kinds = 2 if c.use_entity_aware_attention else 1
    pair, head = (kinds, kinds), (c.num_attention_heads, c.head_size)
    init = nn.initializers.normal(c.initializer_range)
    kernel = self.param("kernel", init, (*pair, c.hidden_size, *head))
    bias = self.param("bias", nn.initializers.zeros, (*pair, *head))
    return kernel.astype(c.dtype), bias.astype(c.dtype)


def einsum_scores(
  x: jax.Array, key: jax.Array, kind: jax.Array, projections: tuple[jax.Array, jax.Array]
) -> jax.Array:
  """Scores (B, N, T, T) of x (B, T, D) against key (B, T, N, H), for any order of kinds.

  kind (B, T, 2) is one-hot; with one shared query it is (B, T, 1).
  """
  kernel, bias = projections
  queries = jnp.einsum("btd,acdnh,bta->btcnh", x, kernel, kind)
  queries = queries + jnp.einsum("acnh,bta->btcnh", bias, kind)
  return jnp.einsum("bqcnh,bknh,bkc->bnqk", queries, key, kind)


def query_blocks(x: jax.Array, num_words: int, projections: tuple[jax.Array, jax.Array]) -> Blocks:
  """Queries [asking kind][asked kind] of x (B, T, D); rows have W and E tokens.

  One row and one column where a single query serves: original attention, or no entities.
  """
  kernel, bias = projections
  only_words = num_words == x.shape[1]
  parts = [x] if only_words or kernel.shape[0] == 1 else jnp.split(x, [num_words], axis=1)
  return tuple(
    tuple(jnp.einsum("btd,dnh->btnh", part, kernel[a, c]) + bias[a, c] for c in range(len(parts)))
    for a, part in enumerate(parts)
  )


def pairs(queries: Blocks, num_words: int) -> Blocks:
  """The four blocks of queries; one that is shared fills both columns."""
  if len(queries) == 2:
    return queries
  words, entities = jnp.split(queries[0][0], [num_words], axis=1)
  return (words, words), (entities, entities)


def block_scores(queries: Blocks, key: jax.Array) -> jax.Array:
  """Scores (B, N, T, T) of words followed by entities: one product for each pair of kinds."""
  num_words = queries[0][0].shape[1]
  keys = [key] if len(queries) == 1 else jnp.split(key, [num_words], axis=1)
  rows = [
    jnp.concatenate(
      [jnp.einsum("bqnh,bknh->bnqk", q, k) for q, k in zip(row, keys, strict=True)], 3
    )
    for row in queries
  ]
  return jnp.concatenate(rows, axis=2)


def probabilities(scores: jax.Array, mask: jax.Array, head_size: int) -> jax.Array:
  """Softmax in float32 over the keys that mask (B, T) keeps."""
  scores = scores.astype(jnp.float32) * head_size**-0.5
  return nn.softmax(jnp.where(mask[:, None, None, :], scores, jnp.finfo(jnp.float32).min))


def weigh(probs: jax.Array, value: jax.Array) -> jax.Array:
  """Averages the values (B, T, N, H) by the probabilities (B, N, T, T)."""
  return jnp.einsum("bnqk,bknh->bqnh", probs, value)


def kinds(word_mask: jax.Array, entity_mask: jax.Array, number: int) -> jax.Array:
  """One-hot kinds (B, T, number) of words followed by entities; one kind where one query serves."""
  num_words, total = word_mask.shape[1], word_mask.shape[1] + entity_mask.shape[1]
  kind = jnp.where(jnp.arange(total) < num_words, 0, number - 1)
  return jnp.broadcast_to(jax.nn.one_hot(kind, number), (word_mask.shape[0], total, number))


@functools.cache
def _say_once(reason: str) -> None:
  warnings.warn(f"attention 'pallas' runs as 'blocks': {reason}", stacklevel=2)


class Attention(nn.Module):
  """Self-attention over words followed by entities, in the form the config names."""

  config: LukeConfig

  @nn.compact
  def __call__(self, x: jax.Array, word_mask: jax.Array, entity_mask: jax.Array) -> jax.Array:
    """Returns (B, T, D). Masks are (B, W) and (B, E), true where a token is real."""
    c = self.config
    heads = (c.num_attention_heads, c.head_size)
    projections = QueryProjections(c, name="query")()
    key, value = dense(c, heads, "key")(x), dense(c, heads, "value")(x)
    mask = jnp.concatenate([word_mask, entity_mask], axis=1)
    num_words = word_mask.shape[1]
    if c.attention == "pallas" and self._fits_kernel(num_words, entity_mask.shape[1]):
      queries = pairs(query_blocks(x, num_words, projections), num_words)
      context = self._fused(queries, key, value, mask)
    else:
      if c.attention == "einsum":
        kind = kinds(word_mask, entity_mask, projections[0].shape[0]).astype(x.dtype)
        scores = einsum_scores(x, key, kind, projections)
      else:
        scores = block_scores(query_blocks(x, num_words, projections), key)
      probs = probabilities(scores, mask, c.head_size).astype(x.dtype)
      self.sow("intermediates", "probs", probs)
      context = weigh(Dropout(c.attention_probs_dropout_prob)(probs), value)
    return dense(c, c.hidden_size, "output", axis=(-2, -1))(context)

  def _fits_kernel(self, num_words: int, num_entities: int) -> bool:
    """Whether the fused kernel can run; says once why not. Asked for probabilities, it cannot."""
    c = self.config
    if self.is_initializing() or self.is_mutable_collection("intermediates"):
      return False
    reason = kernel.unsupported(
      num_words, num_entities, c.num_attention_heads, c.head_size, jnp.dtype(c.dtype)
    )
    if reason:
      _say_once(reason)
    return reason is None

  def _fused(self, queries: Blocks, key: jax.Array, value: jax.Array, mask: jax.Array) -> jax.Array:
    """The kernel where the program is lowered for a TPU; elsewhere blocks with the same dropout."""
    c = self.config
    rate = c.attention_probs_dropout_prob if self.has_rng("dropout") else 0.0
    seeds = jnp.zeros((key.shape[0], c.num_attention_heads), jnp.uint32)
    if rate:
      seeds = jax.random.bits(self.make_rng("dropout"), seeds.shape, jnp.uint32)

    def blocks(queries, key, value, mask, seeds):
      probs = probabilities(block_scores(queries, key), mask, c.head_size).astype(key.dtype)
      if rate:
        kept = kernel.dropout_mask(seeds, key.shape[1], rate)
        probs = jnp.where(kept, probs / (1 - rate), 0).astype(key.dtype)
      return weigh(probs, value)

    fused = functools.partial(kernel.pallas_attention, dropout_rate=rate)
    return jax.lax.platform_dependent(queries, key, value, mask, seeds, tpu=fused, default=blocks)
