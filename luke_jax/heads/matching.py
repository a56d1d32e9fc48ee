"""Scores of spans for labels that are given as vectors, so that any label can be asked for."""

from collections.abc import Mapping
from typing import ClassVar, Self

import flax.linen as nn
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from luke_jax.heads.labels import ENDS, STARTS, Places
from luke_jax.models.head import Head, Outputs, States, Tables
from luke_jax.models.system import Backbone
from luke_jax.nn import losses
from luke_jax.nn.layers import Dense, Dropout, LayerNorm

LABELS = "label_vectors"
STRENGTH = 5.0  # of the product with a label's vector, whose length is 1
UNLIKELY = -3.0  # the logit of any label at first, as most spans have none of them


class MatchHead(Head):
  """Products of the vectors of spans and labels, and a score of having any label at all.

  A span is read off its first and last word, and its own state where the system has entity tokens.
  Labels pass through no layer: their vectors come from the model that the training started from.
  """

  width: int  # of labels' vectors

  kind: ClassVar[str] = "match"
  suffix: ClassVar[str] = "ForLabelMatching"
  hub_task: ClassVar[str] = "token-classification"
  entities: ClassVar[int] = 1
  places: ClassVar[tuple[str, ...]] = (STARTS, ENDS)
  once: ClassVar[tuple[str, ...]] = (LABELS,)
  reads_start: ClassVar[bool] = True

  @classmethod
  def fresh(cls, backbone: Backbone, labels: int) -> Self:
    """Returns a head for vectors as wide as the backbone's states."""
    return cls(backbone.numerics_of(cls.kind), backbone.config.hidden_size)

  @property
  def own_inputs(self) -> Mapping[str, tuple[int, ...]]:
    """Returns the shapes, after the batch, of the inputs that no encoder has."""
    return {LABELS: (2, self.width)}

  @nn.compact
  def __call__(
    self,
    states: States,
    tables: Tables,
    *,
    entity_start_positions: Places,
    entity_end_positions: Places,
    label_vectors: Float[Array, "rows L D"],
  ) -> Outputs:
    """Returns logits (B, E, L) for starts, inclusive ends, and labels of all rows or of each.

    And `label_logits` (B, L) of how many names have each label, whatever they are.
    """
    n, width = self.numerics, self.width
    words = Dropout(n.dropout)(states.words)
    first = Dense(n, (2 * width,), name="start_transform")(words)
    last = Dense(n, (2 * width,), use_bias=False, name="end_transform")(words)
    spans = jnp.take_along_axis(first, entity_start_positions[..., None], axis=1)
    spans += jnp.take_along_axis(last, entity_end_positions[..., None], axis=1)
    if states.entities is not None:
      spans += Dense(n, (2 * width,), use_bias=False, name="entity_transform")(states.entities)
    spans = LayerNorm(n, name="span_norm")(nn.gelu(spans))
    some = Dense(n, (1,), output="float32", name="any_classifier")(spans)
    spans = Dense(n, (width,), name="span_transform")(spans)
    alike = jnp.matmul(spans, label_vectors.astype(spans.dtype).swapaxes(-1, -2))
    usual = Dense(n, (1,), output="float32", name="label_classifier")(label_vectors)[..., 0]
    return {
      "logits": STRENGTH * alike.astype(jnp.float32) + some + UNLIKELY,
      "label_logits": jnp.broadcast_to(STRENGTH * usual, (spans.shape[0], usual.shape[-1])),
    }

  def loss(
    self,
    outputs: Outputs,
    labels: Int[Array, "B E L"],
    weights: Float[Array, "B E L"] | None = None,
  ) -> losses.Loss:
    """Returns the loss of 0 and 1 for each span and label, -100 ignored.

    How usual a label is, it learns from the names that have some label.
    """
    labels = labels.astype(jnp.int32)
    loss = losses.binary_cross_entropy(outputs["logits"], labels, weights)
    named = jnp.where((labels == 1).any(-1, keepdims=True), labels, losses.IGNORED)
    usual = jnp.broadcast_to(outputs["label_logits"][:, None], labels.shape)
    return loss + losses.binary_cross_entropy(usual, named, weights)


HEADS = (MatchHead,)
