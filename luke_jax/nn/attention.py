"""Entity-aware self-attention (paper §3.2): a query depends on the kinds of both tokens.

`einsum_scores` is the definition, and what shows the probabilities. `block_attention` computes the
same for words followed by entities, without masking by kind; `pallas_attention` does so in one
kernel on TPUs. All three drop the same probabilities for the same key.
"""

import dataclasses
import functools
import warnings
from typing import Any, Literal, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp

from luke_jax.nn.block_attention import Blocks, block_attention, query_counts
from luke_jax.nn.layers import Dense, Numerics, adapter_of, gathered, low_rank, project
from luke_jax.nn.pallas_attention import pallas_attention, unsupported
from luke_jax.nn.repeatable_dropout import dropout_mask

AttentionForm = Literal["einsum", "blocks", "pallas"]


class Projections(NamedTuple):
  """Parameters of the queries."""

  kernel: Any  # [a][c] (D, N H), an array or tuples of arrays
  bias: jax.Array  # (a, c, N, H)
  adapter: tuple[jax.Array, jax.Array] | None = None  # (a, c, D, R) and (a, c, R, N H)


@dataclasses.dataclass(frozen=True)
class AttentionSizes:
  """Sizes of self-attention, and the form it is computed in."""

  heads: int  # N
  head_size: int  # H
  kinds: int = 1  # 2: entity-aware, with a query for each pair of kinds
  dropout: float = 0.0  # share of the probabilities that are dropped in training
  form: AttentionForm = "blocks"


class QueryProjections(nn.Module):
  """Parameters of the queries for a, the kind of the query's token, and c, that of the key's.

  Kind 0 is a word, 1 an entity. Original attention has one query for all four pairs.
  """

  numerics: Numerics
  sizes: AttentionSizes
  width: int  # D

  @nn.compact
  def __call__(self) -> Projections:
    """Returns kernels and bias in the arithmetic's type."""
    sizes, dtype = self.sizes, self.numerics.dtype
    pair, head = (sizes.kinds, sizes.kinds), (sizes.heads, sizes.head_size)
    init = nn.initializers.normal(self.numerics.init_std)
    bias = self.param("bias", nn.initializers.zeros, (*pair, *head)).astype(dtype)
    flat = (self.width, sizes.heads * sizes.head_size)
    names, low = _query_names(sizes.kinds), adapter_of(self, dtype)
    if self.has_variable("params", names[0][0]):
      own = [[self.param(name, init, (self.width, *head)) for name in row] for row in names]
      kernels = tuple(tuple(x.astype(dtype).reshape(flat) for x in row) for row in own)
      return Projections(kernels, bias, low)
    kernel = self.param("kernel", init, (*pair, self.width, *head))
    return Projections(gathered(kernel.astype(dtype), (*pair, *flat)), bias, low)


def _query_names(kinds: int) -> list[list[str]]:
  return [[f"kernel_{a}_{c}" for c in range(kinds)] for a in range(kinds)]


def split_queries(tree: dict) -> dict:
  """Returns the parameters of queries with an array for each kernel.

  XLA on CPUs copies a kernel that is a part of a larger array before it multiplies by it.
  """
  kernel = tree["kernel"]
  names = enumerate(_query_names(len(kernel)))
  split = {name: kernel[a, c] for a, row in names for c, name in enumerate(row)}
  return {name: x for name, x in tree.items() if name != "kernel"} | split


def einsum_scores(
  x: jax.Array, key: jax.Array, kind: jax.Array, projections: Projections
) -> jax.Array:
  """Returns scores (B, N, T, T) of x (B, T, D) against key (B, T, N, H), for any order of kinds.

  kind (B, T, 2) is one-hot; with one shared query it is (B, T, 1).
  """
  bias, low = projections.bias, projections.adapter
  kernel = jnp.stack([jnp.stack(row) for row in projections.kernel])
  kernel = kernel.reshape(*kernel.shape[:2], x.shape[-1], -1)
  if low is not None:
    kernel = kernel + jnp.einsum("acdr,acrf->acdf", *low)
  kernel = kernel.reshape(*kernel.shape[:3], *key.shape[2:])
  queries = jnp.einsum("btd,acdnh,bta->btcnh", x, kernel, kind)
  queries = queries + jnp.einsum("acnh,bta->btcnh", bias, kind)
  return jnp.einsum("bqcnh,bknh,bkc->bnqk", queries, key, kind)


def kinds(num_words: int, num_entities: int, number: int) -> jax.Array:
  """Returns one-hot kinds (1, T, number) of words before entities; one kind for a single query."""
  kind = jnp.where(jnp.arange(num_words + num_entities) < num_words, 0, number - 1)
  return jax.nn.one_hot(kind, number)[None]


def probabilities(scores: jax.Array, mask: jax.Array, head_size: int) -> jax.Array:
  """Returns the softmax in float32 over the keys where mask (B, T) is true."""
  scores = scores.astype(jnp.float32) * head_size**-0.5
  return nn.softmax(jnp.where(mask[:, None, None, :], scores, jnp.finfo(jnp.float32).min))


def query_blocks(
  x: jax.Array, num_words: int, projections: Projections, *, wide: bool = False
) -> Blocks:
  """Returns queries [query kind][key kind] of x (B, T, D); rows have W and E tokens.

  One row and one column where a single query serves: original attention, or no entities.
  """
  kernel, bias, low = projections
  alone = len(kernel) == 1 or num_words == x.shape[1]
  parts = [x] if alone else jnp.split(x, [num_words], axis=1)

  def query(part: jax.Array, a: int, c: int) -> jax.Array:
    y = project(part, kernel[a][c], bias[a, c], wide=wide)
    if low is not None:
      y = y + low_rank(part, low[0][a, c], low[1][a, c], wide=wide).reshape(y.shape)
    return y.reshape(*part.shape[:2], *bias.shape[2:])

  return tuple(tuple(query(part, a, c) for c in range(len(parts))) for a, part in enumerate(parts))


@functools.cache
def _warn_once(reason: str) -> None:
  warnings.warn(f"attention 'pallas' runs as 'blocks': {reason}", stacklevel=2)


class Attention(nn.Module):
  """Self-attention over words followed by entities, in the form that its sizes name."""

  numerics: Numerics
  sizes: AttentionSizes

  @nn.compact
  def __call__(self, x: jax.Array, word_mask: jax.Array, entity_mask: jax.Array) -> jax.Array:
    """Returns (B, T, D). Masks are (B, W) and (B, E), true where a token is real.

    Sows the probabilities (B, N, T, T) if intermediates are collected.
    """
    n, sizes = self.numerics, self.sizes
    heads = sizes.heads, sizes.head_size
    num_words, num_entities = word_mask.shape[1], entity_mask.shape[1]
    projections = QueryProjections(n, sizes, x.shape[-1], name="query")()
    key, value = Dense(n, heads, name="key")(x), Dense(n, heads, name="value")(x)
    mask = jnp.concatenate([word_mask, entity_mask], axis=1)
    rate = sizes.dropout if self.has_rng("dropout") else 0.0
    seeds = self._seeds(x.shape[0]) if rate else None
    shown = self.is_mutable_collection("intermediates") and not self.is_initializing()
    if sizes.form == "einsum" or shown:
      kind = kinds(num_words, num_entities, len(projections[0]))
      kind = kind.repeat(len(x), 0).astype(x.dtype)
      probs = probabilities(einsum_scores(x, key, kind, projections), mask, sizes.head_size)
      self.sow("intermediates", "probs", probs)
      if seeds is not None:
        probs = jnp.where(dropout_mask(seeds, x.shape[1], rate), probs / (1 - rate), 0.0)
      context = jnp.einsum("bnqk,bknh->bqnh", probs.astype(x.dtype), value)
    else:
      queries = query_blocks(x, num_words, projections, wide=n.wide)
      attend = functools.partial(block_attention, dropout_rate=rate)
      if self._takes_kernel(queries):
        fused = functools.partial(pallas_attention, dropout_rate=rate)
        attend = functools.partial(jax.lax.platform_dependent, tpu=fused, default=attend)
      context = attend(queries, key, value, mask, seeds)
    return Dense(n, x.shape[-1:], heads, name="output")(context)

  def _seeds(self, batch: int) -> jax.Array:
    """Returns the numbers (B, N) that decide on dropout in every sequence and head."""
    shape = (batch, self.sizes.heads)
    return jax.random.bits(self.make_rng("dropout"), shape, jnp.uint32)

  def _takes_kernel(self, queries: Blocks) -> bool:
    """Returns true if the kernel is selected and can run these shapes; warns once if it cannot."""
    sizes = self.sizes
    if sizes.form != "pallas" or self.is_initializing():
      return False
    dtype = jnp.dtype(self.numerics.dtype)
    reason = unsupported(query_counts(queries), sizes.heads, sizes.head_size, dtype)
    if reason:
      _warn_once(reason)
    return reason is None
