"""Encoder of a ModernBERT: pre-norm layers of windows and of whole texts, and their gates."""

import dataclasses
import functools
from typing import TYPE_CHECKING

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from luke_jax.models.system import Backbone, States, Tables
from luke_jax.nn.activations import Activation, activate
from luke_jax.nn.attention import probabilities
from luke_jax.nn.block_attention import MASKED, block_attention
from luke_jax.nn.embeddings import WordEmbeddings, real_tokens
from luke_jax.nn.encoder import over_layers, remade
from luke_jax.nn.layers import Dense, Dropout, LayerNorm, Numerics, constrain
from luke_jax.nn.queries import turned, turns
from luke_jax.nn.windows import chunked_attention, windowed_attention

if TYPE_CHECKING:
  from luke_jax.systems.modernbert.config import ModernBertConfig

SHORT = 512  # words up to which all scores of a text are computed, and masked beyond a window
Turns = tuple[Float[Array, "T H"], Float[Array, "T H"]]
Both = tuple[Turns, ...]  # of layers that read all words, and of those that read a window


class TurnedAttention(nn.Module):
  """Self-attention with rotary positions, of all words or of those in a window."""

  backbone: "Backbone[ModernBertConfig]"

  @nn.compact
  def __call__(
    self,
    x: Float[Array, "B T D"],
    mask: Bool[Array, "B T"],
    is_global: Bool[Array, ""],
    turn: Turns,
  ) -> Float[Array, "B T D"]:
    """Returns what each word reads; sows the probabilities if intermediates are collected."""
    n, config = self.backbone.numerics, self.backbone.config
    heads, reach = config.num_attention_heads, config.local_attention // 2
    split, tokens = (3, heads, x.shape[-1] // heads), x.shape[1]
    qkv = Dense(n, split, use_bias=False, name="qkv")(x)
    query, key, value = (qkv[:, :, i] for i in range(3))
    query, key = turned(query, *turn), turned(key, *turn)
    shown = self.is_mutable_collection("intermediates")
    if self.is_initializing():
      context = value  # has its shape, and what follows makes no parameters
    elif shown or not isinstance(tokens, int) or tokens <= SHORT:
      far = jnp.abs(jnp.arange(tokens)[:, None] - jnp.arange(tokens)) > reach
      bias = jnp.where(far & ~is_global, MASKED, 0.0)[None]
      if shown:
        scores = jnp.einsum("bqnh,bknh->bnqk", query, key)
        self.sow("intermediates", "probs", probabilities(scores, mask[:, None], split[-1], bias))
      context = block_attention(((query,),), key, value, mask, None, bias)
    else:
      windowed = functools.partial(windowed_attention, reach=reach)
      context = jax.lax.cond(is_global, chunked_attention, windowed, query, key, value, mask)
    return Dense(config.of_outputs(n), x.shape[-1:], split[1:], use_bias=False, name="output")(
      context
    )


class GatedMlp(nn.Module):
  """A linear layer whose activated half is multiplied by the other, and a second one."""

  backbone: "Backbone[ModernBertConfig]"

  @nn.compact
  def __call__(self, x: Float[Array, "*tokens D"]) -> Float[Array, "*tokens D"]:
    """Returns the states of tokens after both."""
    n, config = self.backbone.numerics, self.backbone.config
    both = Dense(n, (2 * config.intermediate_size,), use_bias=False, name="up")(x)
    hidden, gate = jnp.split(both, 2, axis=-1)
    hidden = Dropout(config.mlp_dropout)(activate(hidden, n.activation) * gate)
    return Dense(config.of_outputs(n), x.shape[-1:], use_bias=False, name="down")(hidden)


class Layer(nn.Module):
  """Attention and a gated network, each of normalised states and added to those."""

  backbone: "Backbone[ModernBertConfig]"
  first: bool  # its states come normalised from the embeddings

  @nn.compact
  def __call__(
    self, x: Float[Array, "B T D"], mask: Bool[Array, "B T"], is_global: Bool[Array, ""], both: Both
  ) -> Float[Array, "B T D"]:
    """Returns the states after the layer."""
    n = self.backbone.numerics
    x = constrain(x)
    y = x if self.first else LayerNorm(n, use_bias=False, name="attention_norm")(x)
    turn = jax.tree.map(lambda whole, near: jnp.where(is_global, whole, near), *both)
    x = x + TurnedAttention(self.backbone, name="attention")(y, mask, is_global, turn)
    y = LayerNorm(n, use_bias=False, name="mlp_norm")(x)
    x = x + GatedMlp(self.backbone, name="mlp")(y)
    self.sow("intermediates", "output", x)
    return x


class EqualLayers(nn.Module):
  """Consecutive layers, scanned over parameters with a leading layer axis."""

  backbone: "Backbone[ModernBertConfig]"
  first: bool
  is_global: tuple[bool, ...]  # by layer

  @nn.compact
  def __call__(
    self, x: Float[Array, "B T D"], mask: Bool[Array, "B T"], both: Both
  ) -> Float[Array, "B T D"]:
    """Returns the states after all layers."""
    layer = remade(Layer, self.backbone.running.remat)(self.backbone, self.first, name="layers")
    step = over_layers(
      lambda layer, x, is_global: (layer(x, mask, is_global, both), None),
      len(self.is_global),
      unroll=self.backbone.on_cpu,
    )
    return step(layer, x, jnp.array(self.is_global))[0]


class Layers(nn.Module):
  """All layers: the first, which normalises nothing before its attention, and the others."""

  backbone: "Backbone[ModernBertConfig]"

  @nn.compact
  def __call__(self, x: Float[Array, "B T D"], mask: Bool[Array, "B T"]) -> Float[Array, "B T D"]:
    """Returns the states after all layers; sows the input."""
    config = self.backbone.config
    self.sow("intermediates", "input", x)
    head_size = config.hidden_size // config.num_attention_heads
    bases = (config.global_rope_theta, config.local_rope_theta)
    both = tuple(turns(jnp.arange(x.shape[1]), head_size, base) for base in bases)
    kinds = config.is_global
    x = EqualLayers(self.backbone, True, kinds[:1], name="from_0")(x, mask, both)
    if kinds[1:]:
      x = EqualLayers(self.backbone, False, kinds[1:], name="from_1")(x, mask, both)
    return x


class Transform(nn.Module):
  """The layer before a classifier: linear, an activation and a norm."""

  numerics: Numerics
  activation: Activation

  @nn.compact
  def __call__(self, x: Float[Array, "*tokens D"]) -> Float[Array, "*tokens D"]:
    """Returns the states that are classified."""
    x = Dense(self.numerics, x.shape[-1:], use_bias=False, name="dense")(x)
    return LayerNorm(self.numerics, use_bias=False, name="norm")(activate(x, self.activation))


class ModernBertEncoder(nn.Module):
  """States of words in context."""

  backbone: "Backbone[ModernBertConfig]"
  pooled: bool

  def setup(self) -> None:
    """Makes the parts; the table of words also decodes masked ones."""
    c, n = self.backbone.config, self.backbone.numerics
    self.embeddings = WordEmbeddings(
      dataclasses.replace(n, dropout=c.embedding_dropout),
      words=c.vocab_size,
      width=c.hidden_size,
      positions=0,
      types=0,
      pad_id=c.pad_token_id,
      positions_after_padding=False,
      norm_bias=False,
    )
    self.encoder, self.final_norm = Layers(self.backbone), LayerNorm(n, use_bias=False)
    if self.pooled:
      self.pooler = Transform(n, c.classifier_activation)

  def __call__(self, *, input_ids: jax.Array, attention_mask: jax.Array | None = None) -> States:
    """Returns the states of words, and of the text by its first word or the mean of all."""
    mask = real_tokens(attention_mask, input_ids)
    words = self.final_norm(self.encoder(self.embeddings(input_ids), mask))
    if not self.pooled:
      return States(words)
    text = words[:, 0]
    if self.backbone.config.classifier_pooling == "mean":
      real = mask.astype(words.dtype)
      text = jnp.einsum("btd,bt->bd", words, real / real.sum(1, keepdims=True))
    return States(words, pooled=self.pooler(text))

  def tables(self) -> Tables:
    """Returns the embeddings that decode masked words."""
    return Tables(self.embeddings.word.embedding)
