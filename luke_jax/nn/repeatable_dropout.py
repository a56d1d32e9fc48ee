"""Dropout masks as functions of a seed and of positions: of query and key, token and feature.

They need only integer arithmetic, so that a kernel, XLA and a test make the same mask on every
platform. Hashes are uint32.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, UInt32


def dropout_mask(
  seeds: UInt32[Array, "B N"], num_tokens: int, rate: float
) -> Bool[Array, "B N T T"]:
  """Returns True where a probability is kept, as [query, key].

  As by `kept_where`, but each key has its own product: CPUs compute that many keys at a time, where
  two halves that are joined and turned would be read one by one.
  """
  # Hashes that are there, or they would be computed for every pair.
  keys, shifts, queries = lax.optimization_barrier(_hashes(seeds, num_tokens))
  return _kept(_spread(keys * queries[..., None]) << shifts, rate)


def own_dropout_mask(
  seeds: UInt32[Array, "B N"], num_tokens: int, rate: float
) -> Bool[Array, "B N T"]:
  """Returns the diagonal of `dropout_mask`, of tokens that ask themselves."""
  keys, shifts, queries = _hashes(seeds, num_tokens)
  return _kept(_spread(keys * queries) << shifts, rate)


def _hashes(
  seeds: UInt32[Array, "B N"], num_tokens: int
) -> tuple[UInt32[Array, " T"], UInt32[Array, " T"], UInt32[Array, "B N T"]]:
  """Returns hashes of keys, the shifts of their bits and hashes of queries."""
  keys = key_hash(num_tokens)[:, 0]
  first = jnp.arange(num_tokens) < len(keys)
  keys, shifts = jnp.concatenate([keys, keys])[:num_tokens], jnp.where(first, 16, 0)
  whole = slice(0, num_tokens)
  queries = jax.vmap(jax.vmap(lambda seed: query_hash(seed, whole)[0]))(seeds)
  return keys, shifts.astype(jnp.uint32), queries


def key_hash(num_tokens: int) -> UInt32[Array, "half 1"]:
  """Returns an odd random number for each of the first half of the keys, ⌈T / 2⌉."""
  return _mixed(lax.broadcasted_iota(jnp.uint32, (-(-num_tokens // 2), 1), 0) + 1) | 1


def query_hash(seed: UInt32[Array, "*one"], tokens: slice) -> UInt32[Array, "1 queries"]:
  """Returns an odd random number for each query in a slice of a head's."""
  index = lax.broadcasted_iota(jnp.uint32, (1, tokens.stop - tokens.start), 1) + (tokens.start + 1)
  return _mixed(_mixed(index) ^ _mixed(seed + jnp.zeros_like(index))) | 1


def kept_features(seed: jax.Array, shape: tuple[int, ...], rate: float) -> jax.Array:
  """Returns True where a value of an array (..., D) is kept.

  This takes a tenth of the time of random bits. A token's position counts over the leading axes, so
  no device needs another device's.
  """
  position = jnp.zeros((*shape[:-1], 1), jnp.uint32)
  for axis, size in enumerate(shape[:-1]):
    position = position * jnp.uint32(size) + lax.broadcasted_iota(jnp.uint32, position.shape, axis)
  # Hashes (..., 1) and (1, ..., ceil(D / 2)).
  tokens = _mixed(_mixed(position + 1) ^ _mixed(seed)) | 1
  features = key_hash(shape[-1]).reshape((1,) * (len(shape) - 1) + (-1,))
  return kept_where(features, tokens, rate, axis=-1)[..., : shape[-1]]


def kept_where(keys: jax.Array, queries: jax.Array, rate: float, axis: int = 0) -> jax.Array:
  """Returns True where a probability is kept, (keys, queries), from hashes of keys and queries.

  `axis` is that of the keys, of which the hashes are the first half. 32 bits serve two keys: the
  lower 16 decide for a key of the first half, the upper 16 for one of the second. A product of odd
  random numbers has good upper bits only; folding and multiplying again spreads them, and is as
  cheap as the TPU's own generator, whose numbers nothing else could repeat.
  """
  # (ceil(keys / 2), queries), uint32; after joining the halves (keys, queries), compared as int32.
  bits = _spread(keys * queries)
  return _kept(jnp.concatenate([bits << 16, bits], axis), rate)


def _spread(product: jax.Array) -> jax.Array:
  return (product ^ (product >> 15)) * jnp.uint32(0x846CA68B)


def _kept(bits: jax.Array, rate: float) -> jax.Array:
  """Returns True where a value is kept, by the upper 16 of its bits."""
  return lax.bitcast_convert_type(bits, jnp.int32) >= (round(rate * 2**16) - 2**15) * 2**16


def _mixed(x: jax.Array) -> jax.Array:
  """Returns a bijection of 32-bit numbers; every bit affects all others (lowbias32, C. Wellons)."""
  x = (x ^ (x >> 16)) * jnp.uint32(0x7FEB352D)
  x = (x ^ (x >> 15)) * jnp.uint32(0x846CA68B)
  return x ^ (x >> 16)
