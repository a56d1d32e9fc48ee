"""Queries of entity-aware attention: one for each pair of the kinds of two tokens (paper §3.2).

And the turning of queries and keys by rotary positions.
"""

import dataclasses
from typing import Any, Literal, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from luke_jax.nn import layers
from luke_jax.nn.block_attention import Blocks

AttentionForm = Literal["einsum", "blocks", "pallas", "fused"]


@dataclasses.dataclass(frozen=True)
class AttentionSizes:
  """Sizes of self-attention, and the form it is computed in."""

  heads: int  # N
  head_size: int  # H
  kinds: int = 1  # 2: entity-aware, with a query for each pair of kinds
  dropout: float = 0.0  # share of the probabilities that are dropped in training
  drops_output: bool = True  # the output is dropped as other states of a layer are
  form: AttentionForm = "blocks"
  # Words ask words alone, and an entity the words and itself.
  independent_entities: bool = False


class Projections(NamedTuple):
  """Parameters of the queries."""

  kernel: Any  # [a][c] (D, N H), an array or tuples of arrays
  bias: Float[Array, "a c N H"]
  adapter: tuple[Float[Array, "a c D R"], Float[Array, "a c R NH"]] | None = None


class QueryProjections(nn.Module):
  """Parameters of the queries for a, the kind of the query's token, and c, that of the key's.

  Kind 0 is a word, 1 an entity. Original attention has one query for all four pairs.
  """

  numerics: layers.Numerics
  sizes: AttentionSizes
  width: int  # D

  @nn.compact
  def __call__(self) -> Projections:
    """Returns kernels and bias in the arithmetic's type."""
    sizes, dtype = self.sizes, self.numerics.dtype
    pair, head = (sizes.kinds, sizes.kinds), (sizes.heads, sizes.head_size)
    init = layers.initializer(self.numerics, 1 / self.width)
    bias = layers.parameter(self, "bias", nn.initializers.zeros, (*pair, *head)).astype(dtype)
    flat = (self.width, sizes.heads * sizes.head_size)
    names, low = _query_names(sizes.kinds), layers.adapter_of(self, dtype)
    if self.has_variable("params", names[0][0]):
      arrays = [
        [layers.parameter(self, name, init, (self.width, *head)) for name in row] for row in names
      ]
      kernels = tuple(tuple(x.astype(dtype).reshape(flat) for x in row) for row in arrays)
      return Projections(kernels, bias, low)
    kernel = layers.parameter(self, "kernel", init, (*pair, self.width, *head))
    return Projections(layers.gathered(kernel.astype(dtype), (*pair, *flat)), bias, low)


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
  x: Float[Array, "B T D"],
  key: Float[Array, "B T N H"],
  kind: Float[Array, "B T kinds"],
  projections: Projections,
) -> Float[Array, "B N T T"]:
  """Returns scores of x against keys for any order of kinds, which are one-hot."""
  bias, low = projections.bias, projections.adapter
  kernel = jnp.stack([jnp.stack(row) for row in projections.kernel])
  kernel = kernel.reshape(*kernel.shape[:2], x.shape[-1], -1)
  if low is not None:
    kernel = kernel + jnp.einsum("acdr,acrf->acdf", *low)
  kernel = kernel.reshape(*kernel.shape[:3], *key.shape[2:])
  queries = jnp.einsum("btd,acdnh,bta->btcnh", x, kernel, kind)
  queries = queries + jnp.einsum("acnh,bta->btcnh", bias, kind)
  return jnp.einsum("bqcnh,bknh,bkc->bnqk", queries, key, kind)


def query_blocks(
  x: Float[Array, "B T D"],
  num_words: int,
  projections: Projections,
  *,
  independent_entities: bool = False,
  on_cpu: bool = False,
) -> Blocks:
  """Returns queries [query kind][key kind] of x; rows have W and E tokens.

  One row and one column where a single query serves: original attention, or no entities. Of
  independent entities the words have none for entities.
  """
  kernel, bias, low = projections
  alone = len(kernel) == 1 or num_words == x.shape[1]
  parts = [x] if alone else jnp.split(x, [num_words], axis=1)

  def query(part: jax.Array, a: int, c: int) -> jax.Array:
    y = layers.project(part, kernel[a][c], bias[a, c], on_cpu=on_cpu)
    if low is not None:
      y = y + layers.low_rank(part, low[0][a, c], low[1][a, c], on_cpu=on_cpu).reshape(y.shape)
    return y.reshape(*part.shape[:2], *bias.shape[2:])

  if independent_entities and len(kernel) == 1 and num_words < x.shape[1]:
    words, entities = jnp.split(query(x, 0, 0), [num_words], axis=1)
    return (words,), (entities, entities)
  columns = (1 if independent_entities else len(parts), len(parts))
  return tuple(
    tuple(query(part, a, c) for c in range(number))
    for a, (part, number) in enumerate(zip(parts, columns, strict=False))
  )


def turns(
  positions: Float[Array, "*tokens"], head_size: int, base: float
) -> tuple[Float[Array, "*tokens H"], Float[Array, "*tokens H"]]:
  """Returns cosines and sines by which rotary positions turn queries and keys (Su et al., 2021)."""
  rates = base ** (-jnp.arange(0, head_size, 2) / head_size)
  angles = positions[..., None] * rates
  angles = jnp.concatenate([angles, angles], axis=-1)
  return jnp.cos(angles), jnp.sin(angles)


def turned(
  x: Float[Array, "B T N H"], cosines: Float[Array, "T H"], sines: Float[Array, "T H"]
) -> Float[Array, "B T N H"]:
  """Returns queries or keys, turned in float32: first half against second half of each head."""
  wide = x.astype(jnp.float32)
  first, second = jnp.split(wide, 2, axis=-1)
  across = jnp.concatenate([-second, first], axis=-1)
  return (wide * cosines[:, None] + across * sines[:, None]).astype(x.dtype)
