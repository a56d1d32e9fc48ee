"""Labels of texts that have attributes, such as a user and a product (MA-BERT, Zhang et al. 2021).

The encoder is any system. The paper's Figure 1 has four ways to read attributes:

  a  they are joined to each word's state, before plain layers
  b  they are joined to the state of the first word, and no layers follow
  c  they condition the scores of attention in layers of their own
  d  they condition its values too: the paper's model
"""

import dataclasses
from collections.abc import Mapping
from typing import ClassVar, Self

import flax.linen as nn
import jax
import jax.numpy as jnp

from luke_jax.files import Path
from luke_jax.heads.attributes import files
from luke_jax.heads.attributes.files import OF_REVIEWS, Attributes, table_name
from luke_jax.heads.attributes.layers import AttributeLayers, AttributeSizes, uniform
from luke_jax.heads.labels import TextHead
from luke_jax.models.head import Head, LabelHead, Outputs, SavedHead
from luke_jax.models.system import Backbone, States, Tables
from luke_jax.nn.encoder import Encoder
from luke_jax.nn.layers import Dense, Dropout, Numerics, embedding
from luke_jax.nn.queries import AttentionSizes
from luke_jax.nn.repeatable_dropout import kept_features

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

  @classmethod
  def fresh(cls, backbone: Backbone, labels: int, attributes: Attributes = OF_REVIEWS) -> Self:
    """Returns a head for a backbone, whose layers have as many attention heads as those below."""
    config = backbone.config
    sizes = config.num_attention_heads, config.feed_forward_width
    return cls(backbone.numerics, labels, attributes, *sizes)

  @classmethod
  def saved(cls, backbone: Backbone, saved: SavedHead) -> Self:
    """Returns the head that a model's files describe, with the values of its attributes."""
    return cls.fresh(backbone, saved.labels, files.read(saved.directory, saved.entries))

  def write(self, directory: Path) -> dict[str, object]:
    """Writes the values of each attribute; returns the entry of config.json."""
    return files.write(self.attributes, directory)

  @property
  def own_inputs(self) -> Mapping[str, tuple[int, ...]]:
    """Returns the shapes, after the batch, of the inputs that no encoder has."""
    return {"attribute_ids": (len(self.attributes.names),)}

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

  loss = TextHead.loss

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
      text = jnp.broadcast_to(text.astype(x.dtype), (len(x), *text.shape))
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
