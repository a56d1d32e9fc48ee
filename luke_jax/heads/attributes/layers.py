"""Layers whose attention is conditioned on attributes of a text (MA-BERT, Zhang et al. 2021).

Letters beyond those of luke_jax.nn: S, the streams of attention, one for each attribute.
"""

import dataclasses
import math
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

from luke_jax.nn.attention import probabilities
from luke_jax.nn.block_attention import block_attention
from luke_jax.nn.encoder import Mlp
from luke_jax.nn.layers import Dense, Dropout, LayerNorm, Numerics, gathered, initializer, parameter


@dataclasses.dataclass(frozen=True)
class AttributeSizes:
  """Sizes of the layers, and the part of attention that attributes change."""

  heads: int  # N
  layers: int  # L
  values: bool = True  # the values of attention are conditioned too, not the scores alone


def uniform(bound: float) -> Any:
  """Returns an initialiser of numbers between -bound and bound."""

  def init(
    key: jax.Array, shape: tuple[int, ...], dtype: jax.typing.DTypeLike = jnp.float32
  ) -> jax.Array:
    return jax.random.uniform(key, shape, dtype, -bound, bound)

  return init


class Conditioned(nn.Module):
  """Projection for each stream, scaled by its attribute before the bias is added: (x W) ⊙ e + b."""

  numerics: Numerics
  streams: int  # S

  @nn.compact
  def __call__(self, x: jax.Array, attributes: jax.Array) -> jax.Array:
    """Maps x (B, W, D) and attributes (B, S, D) to (B, W, S, D)."""
    shape, dtype = (self.streams, x.shape[-1], x.shape[-1]), self.numerics.dtype
    init = uniform(1 / math.sqrt(x.shape[-1]))  # the authors' (Kaiming, a = √5)
    weights = parameter(self, "weights", init, shape).astype(dtype)
    bias = parameter(self, "bias", init, shape[:2]).astype(dtype)
    y = jnp.einsum("bwd,sdf->bwsf", x, gathered(weights, shape))
    return y * attributes[:, None] + bias


class PerStream(nn.Module):
  """Linear layer for each stream."""

  numerics: Numerics
  streams: int  # S

  @nn.compact
  def __call__(self, x: jax.Array) -> jax.Array:
    """Maps (B, W, S, D), or (B, W, D) that all streams read, to (B, W, S, D)."""
    shape, dtype = (self.streams, x.shape[-1], x.shape[-1]), self.numerics.dtype
    init = initializer(self.numerics, 3 / x.shape[-1])
    kernel = parameter(self, "kernel", init, shape).astype(dtype)
    bias = parameter(self, "bias", nn.initializers.zeros, shape[:2]).astype(dtype)
    form = "bwsd,sdf->bwsf" if x.ndim == 4 else "bwd,sdf->bwsf"
    return jnp.einsum(form, x, gathered(kernel, shape)) + bias


class AttributeAttention(nn.Module):
  """Self-attention in a stream for each attribute."""

  numerics: Numerics
  sizes: AttributeSizes

  @nn.compact
  def __call__(self, x: jax.Array, attributes: jax.Array, mask: jax.Array) -> jax.Array:
    """Maps x (B, W, D), attributes (B, S, D) and mask (B, W) to (B, W, S, D).

    Sows the probabilities (B, S, N, W, W) if intermediates are collected.
    """
    n, heads, streams = self.numerics, self.sizes.heads, attributes.shape[1]
    query, key = (Conditioned(n, streams, name=name)(x, attributes) for name in ("query", "key"))
    if self.sizes.values:
      value = Conditioned(n, streams, name="value")(x, attributes)
    else:
      value = PerStream(n, streams, name="value")(x)
    # To the attention, the heads of a stream are more heads: (B, W, S N, H).
    shape = (*x.shape[:2], streams * heads, x.shape[-1] // heads)
    query, key, each = (y.reshape(shape) for y in (query, key, value))
    if self.is_mutable_collection("intermediates"):
      probs = probabilities(jnp.einsum("bqnh,bknh->bnqk", query, key), mask, shape[-1])
      self.sow("intermediates", "probs", probs.reshape(len(x), streams, heads, *probs.shape[2:]))
    rate = n.dropout if self.has_rng("dropout") else 0.0
    seeds = None
    if rate:
      seeds = jax.random.bits(self.make_rng("dropout"), (len(x), streams * heads), jnp.uint32)
    return block_attention(((query,),), key, each, mask, seeds, dropout_rate=rate).reshape(
      value.shape
    )


class AttributeLayer(nn.Module):
  """Attention in streams, their combination, and a feed-forward network as wide as the streams."""

  numerics: Numerics
  sizes: AttributeSizes

  @nn.compact
  def __call__(self, x: jax.Array, attributes: jax.Array, mask: jax.Array) -> jax.Array:
    """Maps x (B, W, D), attributes (B, S, D) and mask (B, W) to (B, W, D)."""
    n, streams = self.numerics, attributes.shape[1]
    y = AttributeAttention(n, self.sizes, name="attention")(x, attributes, mask)
    y = Dropout(n.dropout)(PerStream(n, streams, name="output")(y))
    y = Dense(n, x.shape[-1:], y.shape[-2:], name="combination")(y)
    x = LayerNorm(n, name="attention_norm")(x + y)
    y = Dropout(n.dropout)(Mlp(n, streams * x.shape[-1], name="mlp")(x))
    return LayerNorm(n, name="mlp_norm")(x + y)


class AttributeLayers(nn.Module):
  """Stack of layers, scanned over parameters with a leading layer axis."""

  numerics: Numerics
  sizes: AttributeSizes

  @nn.compact
  def __call__(self, x: jax.Array, attributes: jax.Array, mask: jax.Array) -> jax.Array:
    """Maps x (B, W, D), attributes (B, S, D) and mask (B, W) to (B, W, D)."""
    scan = nn.scan(
      lambda layer, x: (layer(x, attributes, mask), None),
      variable_axes={"params": 0, "intermediates": 0},
      split_rngs={"params": True, "dropout": True},
      length=self.sizes.layers,
    )
    return scan(AttributeLayer(self.numerics, self.sizes, name="layers"), x)[0]
