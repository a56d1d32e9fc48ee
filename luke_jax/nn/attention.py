"""Entity-aware self-attention (paper §3.2): a query depends on the kinds of both tokens.

`queries.einsum_scores` is the definition, and what shows the probabilities. `block_attention`
computes the same for words followed by entities, without masking by kind; `pallas_attention` does
so in one kernel on TPUs, and `fused_attention` in one of cuDNN on GPUs, without dropout. All others
drop the same probabilities for the same key.

Beyond the paper entities may be independent: words ask words alone, and an entity asks the words
and itself, so that its state is the same whichever entities are beside it.
"""

import functools
import warnings
from typing import Literal

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, UInt32

from luke_jax.nn.block_attention import Blocks, block_attention, query_counts
from luke_jax.nn.layers import Dense, Numerics
from luke_jax.nn.pallas_attention import pallas_attention, unsupported
from luke_jax.nn.queries import (
  AttentionForm,
  AttentionSizes,
  QueryProjections,
  einsum_scores,
  query_blocks,
)
from luke_jax.nn.repeatable_dropout import dropout_mask


def kinds(num_words: int, num_entities: int, number: int) -> Float[Array, "1 T kinds"]:
  """Returns one-hot kinds of words before entities; one kind for a single query."""
  kind = jnp.where(jnp.arange(num_words + num_entities) < num_words, 0, number - 1)
  return jax.nn.one_hot(kind, number)[None]


def probabilities(
  scores: Float[Array, "B N T T"],
  mask: Bool[Array, "B Q T"],
  head_size: int,
  bias: Float[Array, "#N T T"] | None = None,
) -> Float[Array, "B N T T"]:
  """Returns the softmax in float32 over the keys where the mask is true."""
  scores = scores.astype(jnp.float32) * head_size**-0.5
  scores = scores if bias is None else scores + bias
  return nn.softmax(jnp.where(mask[:, None], scores, jnp.finfo(jnp.float32).min))


def asked(mask: Bool[Array, "B T"], num_words: int, independent: bool) -> Bool[Array, "B Q T"]:
  """Returns which keys each query asks, where the mask has the real tokens."""
  tokens = jnp.arange(mask.shape[1])
  if not independent:
    return mask[:, None]
  return mask[:, None] & ((tokens < num_words) | (tokens[:, None] == tokens))


def fused_attention(
  queries: Blocks,
  key: Float[Array, "B T N H"],
  value: Float[Array, "B T N H"],
  mask: Bool[Array, "B Q T"],
  bias: Float[Array, "#N T T"] | None = None,
  *,
  implementation: Literal["xla", "cudnn"],
) -> Float[Array, "B T N H"]:
  """Returns what `block_attention` does without dropout, by a stock attention.

  The queries of a token stand side by side, one for each of C kinds of key, and a key is zero but
  at the place of its own kind. So one product of that width has the score of each pair by its own
  query. `mask` has the keys that each query asks. What `implementation` cannot
  compute is an error of its own.
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
    None if bias is None else bias[None].astype(wide.dtype),
    mask=jnp.broadcast_to(mask[:, None], (batch, 1, tokens, tokens)),
    scale=size**-0.5,
    implementation=implementation,
  )
  return context[..., :size]


def _padded(x: jax.Array, width: int) -> jax.Array:
  return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, width - x.shape[-1])])


@functools.cache
def _warn_once(form: AttentionForm, reason: str) -> None:
  warnings.warn(f"attention {form!r} runs as 'blocks': {reason}", stacklevel=2)


class Attention(nn.Module):
  """Self-attention over words followed by entities, in the form that its sizes name."""

  numerics: Numerics
  sizes: AttentionSizes

  @nn.compact
  def __call__(
    self,
    x: Float[Array, "B T D"],
    word_mask: Bool[Array, "B W"],
    entity_mask: Bool[Array, "B E"],
    bias: Float[Array, "#N T T"] | None = None,
  ) -> Float[Array, "B T D"]:
    """Returns what each token reads. Masks are true where a token is real.

    A bias is added to the scores of a system whose tokens all have one query. Sows the
    probabilities (B, N, T, T) if intermediates are collected.
    """
    n, sizes = self.numerics, self.sizes
    heads = sizes.heads, sizes.head_size
    num_words, num_entities = word_mask.shape[1], entity_mask.shape[1]
    projections = QueryProjections(n, sizes, x.shape[-1], name="query")()
    key, value = Dense(n, heads, name="key")(x), Dense(n, heads, name="value")(x)
    mask = jnp.concatenate([word_mask, entity_mask], axis=1)
    rate = sizes.dropout if self.has_rng("dropout") else 0.0
    seeds = self._seeds(x.shape[0]) if rate else None
    shown = self.is_mutable_collection("intermediates")
    if self.is_initializing():
      context = value  # has its shape, and what follows makes no parameters
    elif sizes.form == "einsum" or shown:
      kind = kinds(num_words, num_entities, len(projections[0]))
      kind = kind.repeat(len(x), 0).astype(x.dtype)
      keys = asked(mask, num_words, sizes.independent_entities)
      probs = probabilities(einsum_scores(x, key, kind, projections), keys, sizes.head_size, bias)
      self.sow("intermediates", "probs", probs)
      if seeds is not None:
        probs = jnp.where(dropout_mask(seeds, x.shape[1], rate), probs / (1 - rate), 0.0)
      context = jnp.einsum("bnqk,bknh->bqnh", probs.astype(x.dtype), value)
    else:
      queries = query_blocks(
        x, num_words, projections, independent_entities=sizes.independent_entities, on_cpu=n.on_cpu
      )
      context = self._fused(queries, key, value, mask, bias)
      if context is None:
        attend = functools.partial(block_attention, bias=bias, dropout_rate=rate)
        if self._takes_kernel(queries, biased=bias is not None):
          kernel = functools.partial(pallas_attention, dropout_rate=rate)
          attend = functools.partial(jax.lax.platform_dependent, tpu=kernel, default=attend)
        context = attend(queries, key, value, mask, seeds)
    return Dense(n, x.shape[-1:], heads, name="output")(context)

  def _seeds(self, batch: int) -> UInt32[Array, "B N"]:
    """Returns the numbers that decide on dropout in every sequence and head."""
    shape = (batch, self.sizes.heads)
    return jax.random.bits(self.make_rng("dropout"), shape, jnp.uint32)

  def _fused(
    self,
    queries: Blocks,
    key: Float[Array, "B T N H"],
    value: Float[Array, "B T N H"],
    mask: Bool[Array, "B T"],
    bias: Float[Array, "#N T T"] | None,
  ) -> Float[Array, "B T N H"] | None:
    """Returns the context by a GPU's fused attention if it is selected; warns once if it cannot."""
    sizes = self.sizes
    if sizes.form != "fused" or jax.default_backend() != "gpu":
      return None
    if sizes.dropout and self.has_rng("dropout"):
      _warn_once(sizes.form, "it drops no probabilities; attention_probs_dropout_prob has to be 0")
      return None
    keys = asked(mask, queries[0][0].shape[1], sizes.independent_entities)
    try:
      return fused_attention(queries, key, value, keys, bias, implementation="cudnn")
    except (NotImplementedError, RuntimeError, ValueError) as refusal:
      _warn_once(sizes.form, str(refusal))
      return None

  def _takes_kernel(self, queries: Blocks, *, biased: bool) -> bool:
    """Returns true if the kernel is selected and can run these shapes; warns once if it cannot."""
    sizes = self.sizes
    if sizes.form != "pallas":
      return False
    dtype = jnp.dtype(self.numerics.dtype)
    reason = unsupported(query_counts(queries), sizes.heads, sizes.head_size, dtype)
    if sizes.independent_entities and len(queries) > 1:
      reason = "it has no independent entities"
    elif biased:
      reason = "it adds nothing to the scores"
    if reason:
      _warn_once(sizes.form, reason)
    return reason is None
