"""Attention with direction and distance (Yan et al. 2019, §3.2.2).

The score of a query at place t and a key at place j has the sines and cosines of t - j, R. Since
sin(a - b) and cos(a - b) are sums of products of a function of a and one of b, that part of the
score is a product of what is known of the query and what is known of the key: no array has an axis
of distances, and no table limits them.
"""

import dataclasses
import math
from typing import Literal, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp

from luke_jax.nn.layers import Dense, Dropout, Numerics

Frequencies = Literal["paper", "tener"]
_MASKED = float(jnp.finfo(jnp.float32).min)  # finite, so that a row of padding alone is


@dataclasses.dataclass(frozen=True)
class Distances:
  """Form of R: which way distances count, its sines and cosines, and a term of keys with it."""

  rel_sign: Literal[1, -1] = 1  # 1: from the key to the query, t - j
  # Sine and cosine of 10000^(-2i/H) in turn; or, as in the released code, sines before cosines.
  freq: Frequencies = "paper"
  e_term: bool = False  # scores also have the product of the key and the R of t - j

  def frequencies(self, width: int) -> jax.Array:
    """Returns the frequencies of a head's H / 2 sines."""
    steps = width / 2 if self.freq == "paper" else max(width / 2 - 1, 1)
    return jnp.exp(-math.log(10000) / steps * jnp.arange(width // 2, dtype=jnp.float32))

  def angles(self, places: int, width: int) -> jax.Array:
    """Returns the frequencies times each place (L, 1, H / 2), with the sign of distances."""
    numbers = self.rel_sign * jnp.arange(places, dtype=jnp.float32)
    return numbers[:, None, None] * self.frequencies(width)

  def halves(self, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns the values of x (..., H) that meet sines, and those that meet cosines."""
    if self.freq == "paper":
      return x[..., 0::2], x[..., 1::2]
    half = x.shape[-1] // 2
    return x[..., :half], x[..., half:]


class Biases(NamedTuple):
  """Learned vectors that stand in for the query in its product with keys, and with distances."""

  keys: jax.Array  # u (N, H)
  distances: jax.Array  # v (N, H)


def relative_scores(
  queries: jax.Array, keys: jax.Array, biases: Biases, distances: Distances
) -> jax.Array:
  """Returns the scores (B, N, L, L) of queries and keys (B, L, N, H), in float32."""
  angles = distances.angles(queries.shape[1], queries.shape[3])
  sin, cos = jnp.sin(angles), jnp.cos(angles)  # (L, 1, H / 2)
  at_key = jnp.broadcast_to(jnp.concatenate([sin, cos], -1), keys.shape)
  a, b = distances.halves(queries + biases.distances)
  asking = [queries + biases.keys, b * sin - a * cos, a * sin + b * cos]
  asked = [keys, at_key]
  if distances.e_term:
    a, b = distances.halves(keys)
    sin = distances.rel_sign * sin  # this term counts from the key, whichever way the others do
    asking.append(jnp.broadcast_to(jnp.concatenate([sin, cos], -1), keys.shape))
    asked += [a * cos + b * sin, b * cos - a * sin]
  left, right = (jnp.concatenate(parts, -1).astype(queries.dtype) for parts in (asking, asked))
  return jnp.einsum("bqnh,bknh->bnqk", left, right, preferred_element_type=jnp.float32)


def attended(scores: jax.Array, mask: jax.Array) -> jax.Array:
  """Returns the softmax over the keys where mask (B, L) is true."""
  return nn.softmax(jnp.where(mask[:, None, None, :], scores, _MASKED))


@dataclasses.dataclass(frozen=True)
class RelativeSizes:
  """Sizes and options of attention by distance."""

  heads: int  # N
  dropout: float  # share of the probabilities that are dropped
  scale: bool = False  # scores are divided by the root of H
  key_projection: bool = False
  distances: Distances = Distances()


class RelativeAttention(nn.Module):
  """Self-attention by content, direction and distance, without an output projection."""

  numerics: Numerics
  sizes: RelativeSizes

  @nn.compact
  def __call__(self, x: jax.Array, mask: jax.Array) -> jax.Array:
    """Maps (B, L, D) to the same shape; sows the probabilities (B, N, L, L)."""
    n, sizes = self.numerics, self.sizes
    heads = sizes.heads, x.shape[-1] // sizes.heads
    query, value = (Dense(n, heads, use_bias=False, name=name)(x) for name in ("queries", "value"))
    if sizes.key_projection:
      key = Dense(n, heads, use_bias=False, name="key")(x)
    else:
      key = x.reshape(*x.shape[:-1], *heads)
    normal = nn.initializers.xavier_normal()
    biases = Biases(*(self.param(name, normal, heads) for name in ("for_keys", "for_distances")))
    scores = relative_scores(query, key, biases, sizes.distances)
    if sizes.scale:
      scores = scores * heads[1] ** -0.5
    probs = attended(scores, mask)
    self.sow("intermediates", "probs", probs)
    probs = Dropout(sizes.dropout)(probs).astype(x.dtype)
    return jnp.einsum("bnqk,bknh->bqnh", probs, value).reshape(x.shape)
