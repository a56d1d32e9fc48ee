"""LUKE as it pretrains: the losses of masked tokens, without the logits of all."""

import flax.linen as nn
import jax
import jax.numpy as jnp

from luke_jax.config import LukeConfig
from luke_jax.models.luke import LukeModel, Outputs
from luke_jax.nn.heads import MaskedTokens
from luke_jax.nn.layers import embedding


class LukeForPretraining(nn.Module):
  """Predicts masked words and entities (paper §3.3); its parameters are `LukeForMaskedLM`'s.

  The entity table may be padded and spread over the mesh.
  """

  config: LukeConfig

  @nn.compact
  def __call__(
    self,
    *,
    masked_positions: jax.Array,
    labels: jax.Array,
    masked_entity_positions: jax.Array,
    entity_labels: jax.Array,
    **inputs: jax.Array,
  ) -> Outputs:
    """Returns the losses (B, P) of words and of entities; 0 where a label is -100.

    `masked_positions` (B, P) say where in the text the labels (B, P) belong; for entities too.
    """
    c = self.config
    luke = LukeModel(c, name="luke")
    outputs = luke(**inputs)
    word_table = luke.embeddings.word.embedding
    if not c.tie_word_embeddings:
      word_table = embedding(c, c.vocab_size, name="word_decoder").embedding
    words = _picked(outputs["last_hidden_state"], masked_positions)
    entities = _picked(outputs["entity_last_hidden_state"], masked_entity_positions)
    return {
      "word_losses": MaskedTokens(c, name="masked_words")(words, word_table, labels),
      "entity_losses": MaskedTokens(c, name="masked_entities")(
        entities,
        luke.entity_embeddings.entity.embedding,
        entity_labels,
        size=c.entity_vocab_size,
        axis=c.vocabulary_axis,
      ),
    }


def _picked(states: jax.Array, positions: jax.Array) -> jax.Array:
  """States (B, P, D) at positions, as a product: its gradient is one too, not a scatter."""
  at = jax.nn.one_hot(positions, states.shape[1], dtype=states.dtype)
  return jnp.einsum("bpt,btd->bpd", at, states)
