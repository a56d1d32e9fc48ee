"""Entity-aware attention by the fused attention of a library, which keeps no scores.

The queries of a token stand side by side, one for each kind of key, and a key is zero but at the
place of its own kind. So one product of that width has the score of each pair by its own query, and
any attention over such vectors is entity-aware. Letters as in `block_attention`; C kinds.
"""

from typing import Literal

import jax
import jax.numpy as jnp

from luke_jax.nn.block_attention import Blocks, query_counts


def fused_attention(
  queries: Blocks,
  key: jax.Array,
  value: jax.Array,
  mask: jax.Array,
  *,
  implementation: Literal["xla", "cudnn"],
) -> jax.Array:
  """Returns what `block_attention` does without dropout, (B, T, N, H).

  `mask` (B, T or 1, T) has the keys that each query asks. What `implementation` cannot compute is
  an error of its own.
  """
  batch, tokens, heads, size = key.shape
  counts = query_counts(queries)
  width = size * len(counts)
  # (B, T, N, C H), zero where a kind of key is not asked.
  wide = jnp.concatenate([_padded(jnp.concatenate(row, -1), width) for row in queries], axis=1)
  kind = jnp.repeat(jnp.arange(len(counts)), jnp.array(counts), total_repeat_length=tokens)
  of_kind = jax.nn.one_hot(kind, len(counts), dtype=key.dtype)
  keys = (of_kind[:, None, :, None] * key[:, :, :, None]).reshape(batch, tokens, heads, width)
  context = jax.nn.dot_product_attention(
    wide,
    keys,
    _padded(value, width),
    mask=jnp.broadcast_to(mask[:, None], (batch, 1, tokens, tokens)),
    scale=size**-0.5,
    implementation=implementation,
  )
  return context[..., :size]


def _padded(x: jax.Array, width: int) -> jax.Array:
  return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, width - x.shape[-1])])
