"""LUKE as it pretrains: how well masked tokens are predicted, without the logits of all."""

import flax.linen as nn
import jax
import jax.numpy as jnp

from luke_jax.config import LukeConfig
from luke_jax.models.luke import LukeModel, Outputs
from luke_jax.nn.heads import MaskedTokens, PageEntity
from luke_jax.nn.layers import embedding
from luke_jax.nn.vocabulary import rows_of


class LukeForPretraining(nn.Module):
  """Predicts masked words and entities (paper §3.3); its parameters are `LukeForMaskedLM`'s.

  The entity table may be padded and spread over the mesh. Without entities it is RoBERTa.
  """

  config: LukeConfig

  @nn.compact
  def __call__(
    self,
    *,
    masked_positions: jax.Array,
    labels: jax.Array,
    masked_entity_positions: jax.Array | None = None,
    entity_labels: jax.Array | None = None,
    page_ids: jax.Array | None = None,
    **inputs: jax.Array,
  ) -> Outputs:
    """Returns the losses and hits (B, P) of words and of entities; 0 where a label is -100.

    `masked_positions` (B, P) say where in the text the labels (B, P) belong; for entities too.
    With `page_ids` (B,) also page_losses (B,), 0 where the page is no entity, which is -1.
    """
    c = self.config
    luke = LukeModel(c, name="luke")
    outputs = luke(**inputs)
    word_table = luke.embeddings.word.embedding
    if not c.tie_word_embeddings:
      word_table = embedding(c, c.vocab_size, name="word_decoder").embedding
    words = _picked(outputs["last_hidden_state"], masked_positions)
    scores = MaskedTokens(c, name="masked_words").scores(words, word_table, labels)
    found = {"word_losses": scores.losses, "word_hits": scores.hits}
    if entity_labels is not None and masked_entity_positions is not None:
      table = luke.entity_embeddings.entity.embedding
      entities = _picked(outputs["entity_last_hidden_state"], masked_entity_positions)
      scores = MaskedTokens(c, name="masked_entities").scores(
        entities, table, entity_labels, size=c.entity_vocab_size, axis=c.vocabulary_axis
      )
      found |= {"entity_losses": scores.losses, "entity_hits": scores.hits}
    if page_ids is not None:
      predicted = PageEntity(c, name="page_entity")(outputs["last_hidden_state"])
      found["page_losses"] = self._page_losses(luke, predicted, page_ids)
    return found

  def _page_losses(self, luke: LukeModel, predicted: jax.Array, ids: jax.Array) -> jax.Array:
    """Mean squared distances (B,) from the embeddings of the pages' entities.

    Those are what is to be met: they do not move towards the prediction.
    """
    table = jax.lax.stop_gradient(luke.entity_embeddings.entity.embedding)
    axis = self.config.vocabulary_axis
    # One more axis, for ids are looked up a text at a time.
    target = rows_of(table, jnp.maximum(ids, 0)[:, None], jnp.float32, axis)[:, 0]
    distances = jnp.square(predicted.astype(jnp.float32) - target).mean(-1)
    return jnp.where(ids < 0, 0.0, distances)


def _picked(states: jax.Array, positions: jax.Array) -> jax.Array:
  """States (B, P, D) at positions, as a product: its gradient is one too, not a scatter."""
  at = jax.nn.one_hot(positions, states.shape[1], dtype=states.dtype)
  return jnp.einsum("bpt,btd->bpd", at, states)
