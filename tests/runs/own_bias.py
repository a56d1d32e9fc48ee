"""A system of its own: attention with a learned bias for how far two words are, as T5 and MPNet."""

import dataclasses
from typing import ClassVar

import flax.linen as nn
import jax.numpy as jnp

from luke_jax.models.keys import Keys
from luke_jax.models.system import Backbone, Layout, States, System, Tables
from luke_jax.nn.activations import gelu
from luke_jax.nn.embeddings import real_tokens
from luke_jax.nn.layers import Dense, LayerNorm, Numerics, embedding


def buckets(length, count, most=128):
  """Returns the buckets (W, W) of distances, wider the further; those behind are the upper half."""
  distance = jnp.arange(length) - jnp.arange(length)[:, None]
  far, half, exact = jnp.abs(distance), count // 2, count // 4
  wide = jnp.log(jnp.maximum(far, 1) / exact) / jnp.log(most / exact) * (half - exact)
  bucket = jnp.where(far < exact, far, jnp.minimum(exact + wide.astype(int), half - 1))
  return jnp.where(distance > 0, bucket + half, bucket)


class Layer(nn.Module):
  """Attention whose scores have a bias, and a feed-forward network."""

  numerics: Numerics
  heads: int

  @nn.compact
  def __call__(self, x, bias, real):
    """Maps (B, W, D) to (B, W, D), with a bias (N, W, W)."""
    n, width, heads = self.numerics, x.shape[-1], (self.heads, x.shape[-1] // self.heads)
    query, key, value = (Dense(n, heads, name=name)(x) for name in ("query", "key", "value"))
    scores = jnp.einsum("bqnh,bknh->bnqk", query, key) * heads[1] ** -0.5 + bias
    probs = nn.softmax(jnp.where(real[:, None, None], scores, -1e9))
    read = jnp.einsum("bnqk,bknh->bqnh", probs, value)
    x = LayerNorm(n, name="norm")(x + Dense(n, (width,), heads, name="output")(read))
    return LayerNorm(n, name="mlp_norm")(x + gelu(Dense(n, (width,), name="mlp")(x)))


class Relative(nn.Module):
  """Layers without positions, which share the bias."""

  backbone: Backbone
  pooled: bool

  def setup(self):
    c, n = self.backbone.config, self.backbone.numerics
    self.word = embedding(n, c.vocab_size, c.hidden_size)
    self.bias = embedding(n, c.buckets, c.num_attention_heads)
    self.layers = [Layer(n, c.num_attention_heads) for _ in range(c.num_hidden_layers)]

  def __call__(self, *, input_ids, attention_mask=None):
    """Returns the states of words."""
    x, real = self.word(input_ids), real_tokens(attention_mask, input_ids)
    bias = self.bias(buckets(input_ids.shape[1], self.backbone.config.buckets)).transpose(2, 0, 1)
    for layer in self.layers:
      x = layer(x, bias, real)
    return States(x)

  def tables(self):
    return Tables(self.word.embedding)


@dataclasses.dataclass(frozen=True)
class RelativeConfig(System):
  """Sizes of the system."""

  vocab_size: int = 2002
  hidden_size: int = 16
  num_hidden_layers: int = 1
  num_attention_heads: int = 2
  buckets: int = 16
  pad_token_id: int = 1
  room_for_words: int = 64

  name: ClassVar[str] = "relative"
  title: ClassVar[str] = "Relative"
  module: ClassVar[type] = Relative
  model_types: ClassVar[tuple[str, ...]] = ("relative",)
  prefix: ClassVar[str] = "Relative"
  layout: ClassVar[Layout] = Layout(words=("relative/word/embedding",))
  numerics: ClassVar[Numerics] = Numerics(init_std=0.1)

  @classmethod
  def keys(cls, kind):
    return Keys.of(())  # tensors have the names of parameters
