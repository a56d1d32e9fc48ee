"""Decoders of masked words, masked entities and the page's own entity (paper §3.3)."""

import dataclasses
from typing import ClassVar, Self

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from luke_jax.models.head import Head, Outputs
from luke_jax.models.system import Backbone, Decoders, States, Tables
from luke_jax.nn import losses
from luke_jax.nn.activations import activate
from luke_jax.nn.layers import Dense, LayerNorm, Numerics, embedding
from luke_jax.nn.vocabulary import Scores, rows_of, token_scores


class MaskedTokens(nn.Module):
  """Logits over a vocabulary: transform to the table's width, then the tied table and a bias.

  Words decode with the word embeddings, entities with B (paper §3.3; the paper writes a D x D
  transform followed by a K x D one, the released weights hold a single K x D).
  """

  numerics: Numerics
  use_bias: bool = True  # of the layer and the norm before the product

  def __call__(
    self, states: Float[Array, "*tokens D"], table: Float[Array, "V K"]
  ) -> Float[Array, "*tokens V"]:
    """Returns float32 logits."""
    x, bias = self._transformed(states, table)
    # As rows of one matrix: with more axes, JAX 0.7 has no such product on CPUs.
    rows, columns = x.reshape(-1, x.shape[-1]), table.astype(x.dtype).T
    logits = jnp.dot(rows, columns, preferred_element_type=jnp.float32)
    return logits.reshape(*x.shape[:-1], -1) + bias

  def scores(
    self,
    states: Float[Array, "*tokens D"],
    table: Float[Array, "V K"],
    labels: Int[Array, "*tokens"],
    *,
    size: int | None = None,
    axis: str | None = None,
  ) -> Scores:
    """Returns how well labels are predicted, as `token_scores` does, without all logits."""
    x, bias = self._transformed(states, table)
    flat = x.reshape(-1, x.shape[-1])
    scores = token_scores(flat, table, bias, labels.reshape(-1), size=size, axis=axis)
    return Scores(*(part.reshape(labels.shape) for part in scores))

  @nn.compact
  def _transformed(
    self, states: Float[Array, "*tokens D"], table: Float[Array, "V K"]
  ) -> tuple[Float[Array, "*tokens K"], Float[Array, " V"]]:
    n = self.numerics
    rows, width = table.shape
    dense = Dense(n, (width,), use_bias=self.use_bias, name="transform")
    x = LayerNorm(n, self.use_bias, name="norm")(activate(dense(states), n.activation))
    return x, self.param("bias", nn.initializers.zeros, (rows,))


class PageEntity(nn.Module):
  """Prediction of the embedding of the page's own entity from the first word's state."""

  numerics: Numerics
  width: int  # K

  @nn.compact
  def __call__(self, words: Float[Array, "B W D"]) -> Float[Array, "B K"]:
    """Returns the predicted embeddings."""
    return Dense(self.numerics, (self.width,), output="float32", name="decoder")(words[:, 0])


class MaskedHead(Head):
  """Masked words, masked entities and, if the decoders have it, the page's entity.

  Given `masked_positions` it scores labels there, without the logits of all tokens, as pretraining
  does; otherwise it returns all logits.
  """

  decoders: Decoders = Decoders()
  axis: str | None = None  # of the mesh, over which the entity table is spread

  kind: ClassVar[str] = "masked"
  suffix: ClassVar[str] = "ForMaskedLM"
  in_transformers: ClassVar[bool] = True
  hub_task: ClassVar[str] = "fill-mask"

  @classmethod
  def fresh(cls, backbone: Backbone, labels: int) -> Self:
    """Returns a head for a backbone, with its decoders."""
    return cls(backbone.numerics, backbone.decoders, backbone.spread.axis)

  def on(self, backbone: Backbone) -> Self:
    """Returns the head for another backbone, with its decoders."""
    return self.clone(numerics=backbone.numerics, decoders=backbone.decoders)

  def setup(self) -> None:
    """Makes the decoders."""
    activation = self.decoders.words_activation or self.numerics.activation
    words = dataclasses.replace(self.numerics, activation=activation)
    self.masked_words = MaskedTokens(words, self.decoders.words_bias)
    if self.decoders.entities:
      self.masked_entities = MaskedTokens(self.numerics)
    if self.decoders.page_width:
      self.page_entity = PageEntity(self.numerics, self.decoders.page_width)

  @nn.compact
  def __call__(self, states: States, tables: Tables, **inputs: jax.Array) -> Outputs:
    """Returns logits (B, W, V), entity_logits (B, E, U) and page_entity (B, K), or the scores."""
    decoding = tables
    if not self.decoders.tied:
      shape = tables.words.shape
      decoding = decoding._replace(
        words=embedding(self.numerics, *shape, name="word_decoder").embedding
      )
    if not self.decoders.entities_tied and tables.entities is not None:
      shape = tables.entities.shape
      decoding = decoding._replace(
        entities=embedding(self.numerics, *shape, name="entity_decoder").embedding
      )
    if not inputs:
      return self._logits(states, decoding)
    return self._scores(states, decoding, pages=tables.entities, **inputs)

  def _logits(self, states: States, tables: Tables) -> Outputs:
    outputs = {"logits": self.masked_words(states.words, tables.words)}
    if states.entities is not None and tables.entities is not None:
      logits = self.masked_entities(states.entities, tables.entities)
      outputs["entity_logits"] = logits[..., : self.decoders.entities]
    if self.decoders.page_width:
      outputs["page_entity"] = self.page_entity(states.words)
    return outputs

  def _scores(
    self,
    states: States,
    tables: Tables,
    *,
    pages: Float[Array, "U K"] | None,
    masked_positions: Int[Array, "B P"],
    labels: Int[Array, "B P"],
    masked_entity_positions: Int[Array, "B Q"] | None = None,
    entity_labels: Int[Array, "B Q"] | None = None,
    page_ids: Int[Array, " B"] | None = None,
  ) -> Outputs:
    """Returns the losses and hits (B, P) of words and of entities; 0 where a label is -100.

    `masked_positions` are the places in the text of the labels; for entities too. `pages` are the
    vectors of entities that the page's own is compared with. With `page_ids` also page_losses (B,),
    0 where the page is no entity, which is -1.
    """
    picked = picked_states(states.words, masked_positions)
    scores = self.masked_words.scores(picked, tables.words, labels)
    outputs = {"word_losses": scores.losses, "word_hits": scores.hits}
    if entity_labels is not None and masked_entity_positions is not None:
      assert states.entities is not None and tables.entities is not None
      picked = picked_states(states.entities, masked_entity_positions)
      size, axis = self.decoders.entities, self.axis
      scores = self.masked_entities.scores(
        picked, tables.entities, entity_labels, size=size, axis=axis
      )
      outputs |= {"entity_losses": scores.losses, "entity_hits": scores.hits}
    if page_ids is not None:
      assert pages is not None
      predicted = self.page_entity(states.words)
      outputs["page_losses"] = self._page_losses(pages, predicted, page_ids)
    return outputs

  def _page_losses(
    self, table: Float[Array, "U K"], predicted: Float[Array, "B K"], ids: Int[Array, " B"]
  ) -> Float[Array, " B"]:
    """Returns mean squared distances from the embeddings of the pages' entities.

    Those are the target: they do not move towards the prediction.
    """
    # One more axis, for ids are looked up a text at a time.
    rows = jnp.maximum(ids, 0)[:, None]
    target = rows_of(jax.lax.stop_gradient(table), rows, jnp.float32, self.axis)[:, 0]
    distances = jnp.square(predicted - target).mean(-1)
    return jnp.where(ids < 0, 0.0, distances)

  def loss(
    self,
    outputs: Outputs,
    labels: Int[Array, "B W"] | None = None,
    entity_labels: Int[Array, "B E"] | None = None,
    page_entity_embedding: Float[Array, "B K"] | None = None,
  ) -> losses.Loss:
    """Returns the sum of the losses that have labels. -100 marks tokens that were not masked."""
    total = jnp.zeros(())
    if labels is not None:
      total += losses.cross_entropy(outputs["logits"], labels)
    if entity_labels is not None:
      total += losses.cross_entropy(outputs["entity_logits"], entity_labels)
    if page_entity_embedding is not None:
      total += jnp.square(outputs["page_entity"] - page_entity_embedding).mean()
    return total


class PretrainingHead(MaskedHead):
  """Masked words and, for pairs of sentences, the prediction of the next one (BERT)."""

  kind: ClassVar[str] = "pretraining"
  suffix: ClassVar[str] = "ForPreTraining"
  pooled: ClassVar[bool] = True

  @nn.compact
  def __call__(self, states: States, tables: Tables, **inputs: jax.Array) -> Outputs:
    """Returns the outputs of `MaskedHead`, and next_sentence_logits (B, 2)."""
    assert states.pooled is not None
    logits = Dense(self.numerics, (2,), output="float32", name="next_sentence")(states.pooled)
    return super().__call__(states, tables, **inputs) | {"next_sentence_logits": logits}

  def loss(  # type: ignore[override]
    self,
    outputs: Outputs,
    labels: Int[Array, "B W"] | None = None,
    next_sentence_label: Int[Array, " B"] | None = None,
  ) -> losses.Loss:
    """Returns the sum of the losses that have labels; 0 is a true next sentence, as in BERT."""
    total = super().loss(outputs, labels)
    if next_sentence_label is not None:
      total += losses.cross_entropy(outputs["next_sentence_logits"], next_sentence_label)
    return total


def picked_states(
  states: Float[Array, "B T D"], positions: Int[Array, "B P"]
) -> Float[Array, "B P D"]:
  """Returns states at positions, as a product: its gradient is one too, not a scatter."""
  at = jax.nn.one_hot(positions, states.shape[1], dtype=states.dtype)
  return jnp.einsum("bpt,btd->bpd", at, states)


HEADS = (MaskedHead, PretrainingHead)
