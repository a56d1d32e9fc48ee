"""Labels of texts that have attributes, such as a user and a product (MA-BERT, Zhang et al. 2021).

The encoder is any system. The paper's Figure 1 has four ways to read attributes:

  a  they are joined to each word's state, before plain layers
  b  they are joined to the state of the first word, and no layers follow
  c  they condition the scores of attention in layers of their own
  d  they condition its values too: the paper's model
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import ClassVar, Self

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from luke_jax.files import Path
from luke_jax.heads.attributes.files import OF_REVIEWS, Attributes, of_authors, table_name
from luke_jax.heads.labels import TextHead, text_loss
from luke_jax.models.config_files import check_range
from luke_jax.models.head import Head, LabelHead, Outputs, SavedHead
from luke_jax.models.system import Backbone, States, Tables
from luke_jax.nn.attention import probabilities
from luke_jax.nn.block_attention import block_attention
from luke_jax.nn.encoder import Encoder, Mlp, over_layers
from luke_jax.nn.layers import (
  Dense,
  Dropout,
  LayerNorm,
  Numerics,
  embedding,
  gathered,
  initializer,
  parameter,
  uniform,
)
from luke_jax.nn.queries import AttentionSizes
from luke_jax.nn.repeatable_dropout import kept_features


@dataclasses.dataclass(frozen=True)
class AttributeSizes:
  """Sizes of the layers, and the part of attention that attributes change."""

  heads: int  # N
  layers: int  # L
  values: bool = True  # the values of attention are conditioned too, not the scores alone


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
      scores = jnp.einsum("bqnh,bknh->bnqk", query, key)
      probs = probabilities(scores, mask[:, None], shape[-1])
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
    layer = AttributeLayer(self.numerics, self.sizes, name="layers")
    step = over_layers(lambda layer, x: (layer(x, attributes, mask), None), self.sizes.layers)
    return step(layer, x)[0]


_WIDE = 0.25  # bound of the uniform distributions of the authors' vectors
_EPSILON = 1e-12  # of the norms of the layers, under any encoder


class AttributesHead(LabelHead):
  """Labels of a text from its words and its attributes."""

  attributes: Attributes
  heads: int  # N, of the layers
  hidden: int  # F, of the plain layers of form a

  kind: ClassVar[str] = "attributes"
  suffix: ClassVar[str] = "ForSequenceClassificationWithAttributes"
  hub_task: ClassVar[str] = TextHead.hub_task
  shared: ClassVar[tuple[str, ...]] = ("attention_mask",)
  made_by_task: ClassVar[bool] = True
  of_authors = staticmethod(of_authors)

  @classmethod
  def fresh(cls, backbone: Backbone, labels: int, attributes: Attributes = OF_REVIEWS) -> Self:
    """Returns a head for a backbone, whose layers have as many attention heads as those below."""
    config = backbone.config
    sizes = config.num_attention_heads, config.feed_forward_width
    return cls(backbone.numerics, labels, attributes, *sizes)

  @classmethod
  def saved(cls, backbone: Backbone, saved: SavedHead) -> Self:
    """Returns the head that a model's files describe, with the values of its attributes."""
    return cls.fresh(backbone, saved.labels, Attributes.read(saved.directory, saved.entries))

  def write(self, directory: Path) -> dict[str, object]:
    """Writes the values of each attribute; returns the entry of config.json."""
    return self.attributes.write(directory)

  @property
  def own_inputs(self) -> Mapping[str, tuple[int, ...]]:
    """Returns the shapes, after the batch, of the inputs that no encoder has."""
    return {"attribute_ids": (len(self.attributes.names),)}

  @property
  def task_settings(self) -> Mapping[str, Attributes]:
    """Returns the attributes of texts, as a task has them."""
    return {"attributes": self.attributes}

  def check_inputs(self, inputs: Mapping[str, np.ndarray]) -> None:
    """Raises InputError for values of attributes that have no vector."""
    for place, size in enumerate(self.attributes.sizes):
      check_range("attribute_ids", inputs["attribute_ids"][..., place], size)

  @nn.compact
  def __call__(
    self,
    states: States,
    tables: Tables,
    *,
    attribute_ids: jax.Array,
    attention_mask: jax.Array | None = None,
  ) -> Outputs:
    """Returns logits (B, C) of the attributes' values (B, A), 0 for an unknown one."""
    n, form = self.numerics, self.attributes.form
    words = states.words
    mask = jnp.ones(words.shape[:2], bool) if attention_mask is None else attention_mask != 0
    vectors = self._vectors(attribute_ids, words.shape[-1])
    x = Dropout(n.dropout)(words)
    if form == "a":
      x = self._plain(x, vectors, mask)
    elif form in "cd":
      x = self._conditioned(x, vectors, mask)
    x = Dropout(n.dropout)(x)[:, 0]
    if form == "b":
      x = jnp.concatenate([x, vectors.reshape(len(x), -1)], axis=-1)
    rate = self._rate(wide=form == "b")
    return {"logits": Classifier(n, words.shape[-1], self.labels, rate, name="classifier")(x)}

  def loss(
    self, outputs: Outputs, labels: jax.Array, weights: jax.Array | None = None
  ) -> jax.Array:
    """Returns the loss of class numbers (B,), of 0 and 1 (B, C), or of numbers (B,)."""
    return text_loss(outputs, labels, weights, numbers=self.labels == 1)

  def _rate(self, wide: bool = True) -> float:
    """Returns the share of values that is dropped: .1 as in the encoder, twice that if `wide`."""
    return min(0.5, 2 * self.numerics.dropout) if wide else self.numerics.dropout

  def _vectors(self, ids: jax.Array, width: int) -> jax.Array:
    """Returns the vectors (B, A, D) of ids (B, A); in training some are read as unknown."""
    spec = self.attributes
    if spec.dropout and self.has_rng("dropout"):
      seed = jax.random.bits(self.make_rng("dropout"), (), jnp.uint32)
      ids = jnp.where(kept_features(seed, ids.shape, spec.dropout), ids, 0)
    init = uniform(_WIDE) if spec.attribute_init == "uniform25" else None
    tables = [
      embedding(self.numerics, size, width, name=table_name(name), init=init)
      for name, size in zip(spec.names, spec.sizes, strict=True)
    ]
    return jnp.stack([table(ids[:, i]) for i, table in enumerate(tables)], axis=1)

  def _plain(self, x: jax.Array, vectors: jax.Array, mask: jax.Array) -> jax.Array:
    """Joins attributes (B, A, D) to each word (B, W, D), and runs layers as a BERT has them."""
    n = dataclasses.replace(self.numerics, epsilon=_EPSILON)
    beside = vectors.reshape(len(x), 1, -1)
    beside = jnp.broadcast_to(beside, (*x.shape[:2], beside.shape[-1]))
    width = x.shape[-1:]
    x = jnp.tanh(Dense(n, width, name="fusion")(jnp.concatenate([x, beside], axis=-1)))
    sizes = AttentionSizes(self.heads, x.shape[-1] // self.heads, dropout=n.dropout)
    encoder = Encoder(n, sizes, self.hidden, self.attributes.layers, name="plain_layers")
    return encoder(x, mask, mask[:, :0])

  def _conditioned(self, x: jax.Array, vectors: jax.Array, mask: jax.Array) -> jax.Array:
    """Runs layers whose attention the attributes (B, A, D) and the text's own one condition."""
    spec = self.attributes
    if spec.text_attribute:
      text = self.param("text", uniform(_WIDE), (1, x.shape[-1]))
      text = jnp.broadcast_to(text.astype(x.dtype), (x.shape[0], *text.shape))
      vectors = jnp.concatenate([vectors, text], axis=1)
    n = dataclasses.replace(
      self.numerics, epsilon=_EPSILON, dropout=self._rate(), activation=spec.act
    )
    sizes = AttributeSizes(self.heads, spec.layers, values=spec.form == "d")
    return AttributeLayers(n, sizes, name="attribute_layers")(x, vectors, mask)


class Classifier(nn.Module):
  """Two linear layers that read the first word's state."""

  numerics: Numerics
  width: int  # D
  labels: int
  dropout: float

  @nn.compact
  def __call__(self, x: jax.Array) -> jax.Array:
    """Maps (B, ...) to logits (B, C)."""
    n = self.numerics
    hidden = Dropout(self.dropout)(jnp.tanh(Dense(n, (self.width,), name="dense")(x)))
    return Dense(n, (self.labels,), output="float32", name="out_proj")(hidden)


def attributes_of(head: Head | None) -> Attributes | None:
  """Returns the attributes that a head reads; None if it reads none."""
  return head.attributes if isinstance(head, AttributesHead) else None


HEADS = (AttributesHead,)
