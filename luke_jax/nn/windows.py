"""Attention over long texts in memory that grows with their length: no array of T x T anywhere.

Letters beyond those of luke_jax.nn: C, the queries of a chunk, and R, the reach of a window: a word
reads those at most so far from it, on either side.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from luke_jax.nn.block_attention import MASKED

CHUNK = 256  # queries whose scores are in memory at once


def windowed_attention(
  query: Float[Array, "B T N H"],
  key: Float[Array, "B T N H"],
  value: Float[Array, "B T N H"],
  mask: Bool[Array, "B T"],
  reach: int,
) -> Float[Array, "B T N H"]:
  """Returns attention of words to those within reach: a block of R asks itself and both beside."""
  tokens = query.shape[1]
  blocks = -(-tokens // reach)

  def of_blocks(x: jax.Array, around: int) -> jax.Array:
    """Returns x as blocks of R, of zeros at first and last if there are blocks around."""
    room = ((0, 0), (around * reach, (blocks + around) * reach - tokens), *[(0, 0)] * (x.ndim - 2))
    x = jnp.pad(x, room)
    return x.reshape(x.shape[0], blocks + 2 * around, reach, *x.shape[2:])

  def beside(x: jax.Array) -> jax.Array:
    """Returns for each block the tokens of three, (B, blocks, 3 R, ...)."""
    x = of_blocks(x, 1)
    return jnp.concatenate([x[:, i : i + blocks] for i in range(3)], axis=2)

  apart = jnp.arange(3 * reach)[None] - reach - jnp.arange(reach)[:, None]
  near = (jnp.abs(apart) <= reach) & beside(mask)[:, :, None]  # (B, blocks, R, 3 R)
  scale = query.shape[-1] ** -0.5

  @jax.checkpoint
  def attend(query: jax.Array, key: jax.Array, value: jax.Array) -> jax.Array:
    queries, keys = of_blocks(query * scale, 0), beside(key)
    scores = jnp.einsum("bcqnh,bcknh->bcnqk", queries, keys, preferred_element_type=jnp.float32)
    probs = jax.nn.softmax(jnp.where(near[:, :, None], scores, MASKED))
    return jnp.einsum("bcnqk,bcknh->bcqnh", probs.astype(value.dtype), beside(value))

  context = attend(query, key, value)
  return context.reshape(context.shape[0], -1, *context.shape[3:])[:, :tokens]


def chunked_attention(
  query: Float[Array, "B T N H"],
  key: Float[Array, "B T N H"],
  value: Float[Array, "B T N H"],
  mask: Bool[Array, "B T"],
) -> Float[Array, "B T N H"]:
  """Returns attention of all words to all, a chunk of queries after another."""
  batch, tokens, *rest = query.shape
  chunks = -(-tokens // CHUNK)
  padded = jnp.pad(query * rest[-1] ** -0.5, ((0, 0), (0, chunks * CHUNK - tokens), (0, 0), (0, 0)))
  queries = padded.reshape(batch, chunks, CHUNK, *rest).swapaxes(0, 1)

  @jax.checkpoint
  def attend(queries: Float[Array, "B C N H"]) -> Float[Array, "B C N H"]:
    scores = jnp.einsum("bqnh,bknh->bnqk", queries, key, preferred_element_type=jnp.float32)
    probs = jax.nn.softmax(jnp.where(mask[:, None, None], scores, MASKED))
    return jnp.einsum("bnqk,bknh->bqnh", probs.astype(value.dtype), value)

  context = jax.lax.map(attend, queries).swapaxes(0, 1)
  return context.reshape(batch, -1, *rest)[:, :tokens]
