"""Entity-aware self-attention in XLA: a block of scores for every pair of kinds, on every platform.

The blocks of a row share one softmax without ever being joined, and the probabilities are divided
by their sum after they weighed the values. The backward pass makes them again from the log sums,
so that nothing of size T x T outlives the layer.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from luke_jax.nn.layers import keep
from luke_jax.nn.repeatable_dropout import dropout_mask

MASKED = -1e30

# [asking kind][asked kind]: words and entities, or one kind for all where one query serves.
Blocks = tuple[tuple[jax.Array, ...], ...]


def block_attention(
  queries: Blocks,
  key: jax.Array,
  value: jax.Array,
  mask: jax.Array,
  seeds: jax.Array | None = None,
  *,
  dropout_rate: float = 0.0,
) -> jax.Array:
  """Attention among words and entities (LUKE, section 3.2), (B, T, N, H) in the type of `value`.

  Queries are (B, W, N, H) and (B, E, N, H); `key` and `value` (B, T, N, H), words first; `mask`
  (B, T) is true on real tokens. `seeds` (B, N) choose what is dropped, as `dropout_mask` shows.
  """
  heads_first = jax.tree.map(lambda x: x.swapaxes(1, 2), (queries, key, value))
  return _attention(dropout_rate, *heads_first, mask, seeds).swapaxes(1, 2)


class _Row(NamedTuple):
  """What one kind asks: the queries of each block, and where they and the keys lie."""

  queries: tuple[jax.Array, ...]  # (B, N, Q, H)
  asking: slice
  asked: tuple[slice, ...]


def _rows(queries: Blocks) -> list[_Row]:
  lengths = [row[0].shape[2] for row in queries]
  ends = [sum(lengths[: i + 1]) for i in range(len(lengths))]
  parts = tuple(slice(end - n, end) for end, n in zip(ends, lengths, strict=True))
  return [_Row(row, part, parts) for row, part in zip(queries, parts, strict=True)]


def _scores(row: _Row, key: jax.Array, mask: jax.Array) -> list[jax.Array]:
  """Masked scores (B, N, Q, keys of the block), float32."""
  scale = key.shape[-1] ** -0.5
  blocks = []
  for query, part in zip(row.queries, row.asked, strict=True):
    scores = _product("bnqh,bnkh->bnqk", query * scale, key[:, :, part])
    blocks.append(jnp.where(mask[:, None, None, part], scores, MASKED))
  return blocks


def _product(form: str, left: jax.Array, right: jax.Array) -> jax.Array:
  return jnp.einsum(form, left, right, preferred_element_type=jnp.float32)


def _dropped(
  row: _Row, blocks: list[jax.Array], rate: float, seeds: jax.Array | None
) -> list[jax.Array]:
  """The blocks with zeros where `dropout_mask` drops, not scaled."""
  if not rate:
    return blocks
  assert seeds is not None
  kept = dropout_mask(seeds, row.asked[-1].stop, rate)[:, :, row.asking]
  return [jnp.where(kept[..., part], x, 0.0) for x, part in zip(blocks, row.asked, strict=True)]


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _attention(rate, queries, key, value, mask, seeds):
  return _forward(rate, queries, key, value, mask, seeds)[0]


def _forward(rate, queries, key, value, mask, seeds):
  outputs, log_sums = [], []
  for row in _rows(queries):
    blocks = _scores(row, key, mask)
    highest = functools.reduce(jnp.maximum, (x.max(-1, keepdims=True) for x in blocks))
    weights = [jnp.exp(x - highest) for x in blocks]
    total = sum(x.sum(-1, keepdims=True) for x in weights)
    context = sum(
      _product("bnqk,bnkh->bnqh", x.astype(value.dtype), value[:, :, part])
      for x, part in zip(_dropped(row, weights, rate, seeds), row.asked, strict=True)
    )
    outputs.append((context / (total * (1 - rate))).astype(value.dtype))
    log_sums.append(highest + jnp.log(total))
  output, log_sum = keep(tuple(jnp.concatenate(x, axis=2) for x in (outputs, log_sums)))
  return output, (queries, key, value, mask, seeds, output, log_sum)


def _backward(rate, residuals, d_output):
  queries, key, value, mask, seeds, output, log_sum = residuals
  scale, rows = key.shape[-1] ** -0.5, _rows(queries)
  # The sum over keys of probability times its gradient, which the output already contains.
  mean = (d_output.astype(jnp.float32) * output).sum(-1, keepdims=True)
  d_output = d_output / (1 - rate)
  zeros: list[Any] = [0.0] * len(rows)
  d_queries, d_keys, d_values = [], zeros.copy(), zeros.copy()
  for row in rows:
    gradient = d_output[:, :, row.asking]
    weights = [jnp.exp(x - log_sum[:, :, row.asking]) for x in _scores(row, key, mask)]
    d_weights = [_product("bnqh,bnkh->bnqk", gradient, value[:, :, part]) for part in row.asked]
    d_weights = _dropped(row, d_weights, rate, seeds)
    d_row = []
    for i, kept in enumerate(_dropped(row, weights, rate, seeds)):
      d_scores = (weights[i] * (d_weights[i] - mean[:, :, row.asking]) * scale).astype(key.dtype)
      d_row.append(_product("bnqk,bnkh->bnqh", d_scores, key[:, :, row.asked[i]]))
      d_keys[i] += _product("bnqk,bnqh->bnkh", d_scores, row.queries[i])
      d_values[i] += _product("bnqk,bnqh->bnkh", kept.astype(key.dtype), gradient)
    d_queries.append(tuple(x.astype(key.dtype) for x in d_row))
  d_key, d_value = (jnp.concatenate(x, axis=2).astype(key.dtype) for x in (d_keys, d_values))
  return tuple(d_queries), d_key, d_value, None, None


_attention.defvjp(_forward, _backward)
