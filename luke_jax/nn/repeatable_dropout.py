"""What is dropped, as a function of a seed and of places: of query and key, token and feature.

Plain integer arithmetic, so that a kernel, XLA and a test make the same mask on every platform.
"""

import jax
import jax.numpy as jnp
from jax import lax


def dropout_mask(seeds: jax.Array, num_tokens: int, rate: float) -> jax.Array:
  """True where a probability is kept, (B, N, T, T) as [query, key], for `seeds` (B, N)."""

  def of_head(seed: jax.Array) -> jax.Array:
    kept = kept_where(key_hash(num_tokens), query_hash(seed, slice(0, num_tokens)), rate)
    return kept[:num_tokens].T

  return jax.vmap(jax.vmap(of_head))(seeds)


def key_hash(num_tokens: int) -> jax.Array:
  """An odd random number for each of the first half of the keys, (⌈T / 2⌉, 1)."""
  return _mixed(lax.broadcasted_iota(jnp.uint32, (-(-num_tokens // 2), 1), 0) + 1) | 1


def query_hash(seed: jax.Array, tokens: slice) -> jax.Array:
  """An odd random number for each of some queries of a head, (1, queries)."""
  index = lax.broadcasted_iota(jnp.uint32, (1, tokens.stop - tokens.start), 1) + (tokens.start + 1)
  return _mixed(_mixed(index) ^ _mixed(seed + jnp.zeros_like(index))) | 1


def kept_features(seed: jax.Array, shape: tuple[int, ...], rate: float) -> jax.Array:
  """True where a value of an array (..., D) stays: a tenth of the time that random bits take.

  A token's place counts over the leading axes, so no device needs another's.
  """
  place = jnp.zeros((*shape[:-1], 1), jnp.uint32)
  for axis, size in enumerate(shape[:-1]):
    place = place * jnp.uint32(size) + lax.broadcasted_iota(jnp.uint32, place.shape, axis)
  tokens = _mixed(_mixed(place + 1) ^ _mixed(seed)) | 1
  features = key_hash(shape[-1]).reshape((1,) * (len(shape) - 1) + (-1,))
  return kept_where(features, tokens, rate, axis=-1)[..., : shape[-1]]


def kept_where(keys: jax.Array, queries: jax.Array, rate: float, axis: int = 0) -> jax.Array:
  """True where a probability stays, (keys, queries), from their hashes: 32 bits for two keys.

  `axis` is that of the keys, of which the hashes are the first half.

  The lower 16 bits decide for a key of the first half, the upper 16 for one of the second. A
  product of odd random numbers has good upper bits only; folding and multiplying again spreads
  them, and is as cheap as the TPU's own generator, which nothing else could repeat.
  """
  product = keys * queries
  bits = (product ^ (product >> 15)) * jnp.uint32(0x846CA68B)
  bits = lax.bitcast_convert_type(jnp.concatenate([bits << 16, bits], axis), jnp.int32)
  return bits >= (round(rate * 2**16) - 2**15) * 2**16


def _mixed(x: jax.Array) -> jax.Array:
  """A bijection of 32-bit numbers in which every bit moves all others (lowbias32, C. Wellons)."""
  x = (x ^ (x >> 16)) * jnp.uint32(0x7FEB352D)
  x = (x ^ (x >> 15)) * jnp.uint32(0x846CA68B)
  return x ^ (x >> 16)
