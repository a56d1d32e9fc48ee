"""Entity-aware self-attention in XLA: one block of scores for every pair of kinds.

The blocks of one kind of query share a softmax without being concatenated, and are divided by its
sum after the product with the values. The backward pass recomputes the probabilities from the log
sums, so that no array of size T x T outlives the layer.

Letters beyond those of luke_jax.nn: Q, the queries of one kind, and S, the keys of one kind: W or E
each, T if one kind is all, or 1 where a token asks itself. Arrays are (B, N, ...) inside, with
heads first.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, UInt32

from luke_jax.nn.layers import keep
from luke_jax.nn.repeatable_dropout import dropout_mask, own_dropout_mask

MASKED = -1e30

# By kind of query and kind of key: words and entities, or one kind for all tokens. Of independent
# entities the words have one block, and that of an entity for entities asks itself alone.
Blocks = tuple[tuple[Float[Array, "B _ N H"], ...], ...]
_HeadsFirst = tuple[tuple[Float[Array, "B N _ H"], ...], ...]


def block_attention(
  queries: Blocks,
  key: Float[Array, "B T N H"],
  value: Float[Array, "B T N H"],
  mask: Bool[Array, "B T"],
  seeds: UInt32[Array, "B N"] | None = None,
  bias: Float[Array, "#N T T"] | None = None,
  *,
  dropout_rate: float = 0.0,
) -> Float[Array, "B T N H"]:
  """Returns attention of words and entities (LUKE, section 3.2), as `value.dtype`.

  Words come first; `mask` is true on real tokens. `seeds` choose what is dropped, as in
  `dropout_mask`. `bias` is added to the scores of tokens of one kind.
  """
  heads_first = jax.tree.map(lambda x: x.swapaxes(1, 2), (queries, key, value))
  return _attention(dropout_rate, *heads_first, mask, seeds, bias).swapaxes(1, 2)


class _Kind(NamedTuple):
  """Queries of one kind, an array for each kind of key, and the tokens of queries and keys."""

  queries: tuple[Float[Array, "B N Q H"], ...]
  query_tokens: slice
  key_tokens: tuple[slice, ...]
  itself: tuple[bool, ...]  # by kind of key: a query asks its own token alone


def _kinds(queries: _HeadsFirst) -> list[_Kind]:
  lengths = [blocks[0].shape[2] for blocks in queries]
  ends = [sum(lengths[: i + 1]) for i in range(len(lengths))]
  parts = tuple(slice(end - n, end) for end, n in zip(ends, lengths, strict=True))
  itself = (False, len(queries[0]) < len(queries))
  return [
    _Kind(blocks, part, parts[: len(blocks)], itself[: len(blocks)])
    for blocks, part in zip(queries, parts, strict=True)
  ]


def _scores(
  kind: _Kind,
  key: Float[Array, "B N T H"],
  mask: Bool[Array, "B T"],
  bias: Float[Array, "#N T T"] | None,
) -> list[Float[Array, "B N Q _"]]:
  """Returns masked scores for each kind of key, float32."""
  scale = key.shape[-1] ** -0.5
  blocks = []
  for query, part, itself in zip(kind.queries, kind.key_tokens, kind.itself, strict=True):
    scores = _scored(query * scale, key[:, :, part], itself)
    scores = scores if bias is None else scores + bias
    real = mask[:, None, part, None] if itself else mask[:, None, None, part]
    blocks.append(jnp.where(real, scores, MASKED))
  return blocks


def _product(form: str, left: jax.Array, right: jax.Array) -> jax.Array:
  return jnp.einsum(form, left, right, preferred_element_type=jnp.float32)


def _scored(
  x: Float[Array, "B N Q H"], y: Float[Array, "B N S H"], itself: bool
) -> Float[Array, "B N Q #S"]:
  """Returns products of x with y, or with its own of y."""
  if itself:
    return (x.astype(jnp.float32) * y).sum(-1, keepdims=True)
  return _product("bnqh,bnkh->bnqk", x, y)


def _weighted(
  weights: Float[Array, "B N Q #S"], y: Float[Array, "B N S H"], itself: bool
) -> Float[Array, "B N Q H"]:
  """Returns the sums of y by weights."""
  return weights.astype(jnp.float32) * y if itself else _product("bnqk,bnkh->bnqh", weights, y)


def _of_keys(
  weights: Float[Array, "B N Q #S"], x: Float[Array, "B N Q H"], itself: bool
) -> Float[Array, "B N S H"]:
  """Returns the sums of x by weights."""
  return weights.astype(jnp.float32) * x if itself else _product("bnqk,bnqh->bnkh", weights, x)


def _dropped(
  kind: _Kind,
  blocks: list[Float[Array, "B N Q _"]],
  rate: float,
  seeds: UInt32[Array, "B N"] | None,
  num_tokens: int,
) -> list[Float[Array, "B N Q _"]]:
  """Returns blocks with zeros where `dropout_mask` drops, without scaling the rest."""
  if not rate:
    return blocks
  assert seeds is not None
  tokens = kind.query_tokens
  keep_mask = dropout_mask(seeds, num_tokens, rate)[:, :, tokens]
  kept = [
    own_dropout_mask(seeds, num_tokens, rate)[:, :, tokens, None]
    if itself
    else keep_mask[..., part]
    for part, itself in zip(kind.key_tokens, kind.itself, strict=True)
  ]
  return [jnp.where(keep_it, x, 0.0) for x, keep_it in zip(blocks, kept, strict=True)]


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _attention(rate, queries, key, value, mask, seeds, bias):
  return _forward(rate, queries, key, value, mask, seeds, bias)[0]


def _forward(rate, queries, key, value, mask, seeds, bias):
  outputs, log_sums = [], []
  for kind in _kinds(queries):
    # One softmax over the blocks (B, N, Q, S), float32; maxima and sums are (B, N, Q, 1).
    blocks = _scores(kind, key, mask, bias)
    highest = functools.reduce(jnp.maximum, (x.max(-1, keepdims=True) for x in blocks))
    weights = [jnp.exp(x - highest) for x in blocks]
    total = sum(x.sum(-1, keepdims=True) for x in weights)
    # (B, N, Q, H): operands in the dtype of `value`, sums in float32.
    dropped = _dropped(kind, weights, rate, seeds, key.shape[2])
    context = sum(
      _weighted(x.astype(value.dtype), value[:, :, part], itself)
      for x, part, itself in zip(dropped, kind.key_tokens, kind.itself, strict=True)
    )
    outputs.append((context / (total * (1 - rate))).astype(value.dtype))
    log_sums.append(highest + jnp.log(total))
  # (B, N, T, H) as `value.dtype`, and (B, N, T, 1), float32.
  output, log_sum = keep(tuple(jnp.concatenate(x, axis=2) for x in (outputs, log_sums)))
  return output, (queries, key, value, mask, seeds, bias, output, log_sum)


def _backward(rate, residuals, d_output):
  queries, key, value, mask, seeds, bias, output, log_sum = residuals
  scale, kinds = key.shape[-1] ** -0.5, _kinds(queries)
  # (B, N, T, 1), float32: the sum over keys of probability times its gradient is the sum over H of
  # output times gradient.
  mean = (d_output.astype(jnp.float32) * output).sum(-1, keepdims=True)
  d_output = d_output / (1 - rate)
  # By kind of key, sums over the kinds of query: (B, N, S, H), float32.
  zeros: list[Any] = [0.0] * len(kinds)
  d_queries, d_keys, d_values, d_bias = [], zeros.copy(), zeros.copy(), None
  for kind in kinds:
    # Probabilities and their gradients by kind of key, (B, N, Q, S), float32.
    tokens, parts = kind.query_tokens, tuple(zip(kind.key_tokens, kind.itself, strict=True))
    drop = functools.partial(_dropped, kind, rate=rate, seeds=seeds, num_tokens=key.shape[2])
    gradient = d_output[:, :, tokens]
    weights = [jnp.exp(x - log_sum[:, :, tokens]) for x in _scores(kind, key, mask, bias)]
    d_weights = drop([_scored(gradient, value[:, :, part], itself) for part, itself in parts])
    d_blocks = []  # (B, N, Q, H)
    for i, (dropped, (part, itself)) in enumerate(zip(drop(weights), parts, strict=True)):
      d_logits = weights[i] * (d_weights[i] - mean[:, :, tokens])
      if bias is not None:
        d_bias = d_logits.sum(0 if len(bias) > 1 else (0, 1)).reshape(bias.shape)
        d_bias = d_bias.astype(bias.dtype)
      d_scores = (d_logits * scale).astype(key.dtype)
      d_blocks.append(_weighted(d_scores, key[:, :, part], itself))
      d_keys[i] += _of_keys(d_scores, kind.queries[i], itself)
      d_values[i] += _of_keys(dropped.astype(key.dtype), gradient, itself)
    d_queries.append(tuple(x.astype(key.dtype) for x in d_blocks))
  d_key, d_value = (jnp.concatenate(x, axis=2).astype(key.dtype) for x in (d_keys, d_values))
  return tuple(d_queries), d_key, d_value, None, None, d_bias


_attention.defvjp(_forward, _backward)


def query_counts(queries: Blocks) -> list[int]:
  """Returns the number of queries of each kind: W and E, or T alone."""
  return [row[0].shape[1] for row in queries]
