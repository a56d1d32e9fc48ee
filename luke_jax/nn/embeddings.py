"""From ids to vectors: words with positions, entities with the positions of their mentions."""

import flax.linen as nn
import jax
import jax.numpy as jnp

from luke_jax.config import LukeConfig
from luke_jax.nn.layers import Dense, Dropout, LayerNorm, embedding
from luke_jax.nn.vocabulary import rows_of


def look_up(
  table: nn.Embed, ids: jax.Array, padding_id: int | None = None, axis: str | None = None
) -> jax.Array:
  """Rows of a table; the padding row is read but learns nothing."""
  rows = rows_of(table.embedding, ids, table.dtype, axis)
  if padding_id is None:
    return rows
  return jnp.where((ids == padding_id)[..., None], jax.lax.stop_gradient(rows), rows)


def word_positions(input_ids: jax.Array, config: LukeConfig) -> jax.Array:
  """Position ids (B, W): BERT counts tokens from 0; RoBERTa counts real ones after its pad id."""
  if config.word_positions == "bert":
    return jnp.broadcast_to(jnp.arange(input_ids.shape[1]), input_ids.shape)
  real = (input_ids != config.pad_token_id).astype(jnp.int32)
  return jnp.cumsum(real, axis=1) * real + config.pad_token_id


class WordEmbeddings(nn.Module):
  """Word + position + token type, normalised (paper §3.1)."""

  config: LukeConfig

  def setup(self) -> None:
    """Makes the tables; `word` is also the decoder of masked words."""
    c = self.config
    self.word = embedding(c, c.vocab_size)
    self.position = embedding(c, c.max_position_embeddings)
    self.type = embedding(c, c.type_vocab_size)
    self.norm = LayerNorm(c)
    self.dropout = Dropout(c.hidden_dropout_prob)

  def __call__(
    self,
    input_ids: jax.Array,
    token_type_ids: jax.Array | None = None,
    position_ids: jax.Array | None = None,
  ) -> jax.Array:
    """Returns (B, W, D)."""
    c = self.config
    if position_ids is None:
      position_ids = word_positions(input_ids, c)
    if token_type_ids is None:
      token_type_ids = jnp.zeros_like(input_ids)
    padded_position = c.pad_token_id if c.word_positions == "roberta" else None
    x = look_up(self.word, input_ids, c.pad_token_id)
    x = (
      x + look_up(self.position, position_ids, padded_position) + look_up(self.type, token_type_ids)
    )
    return self.dropout(self.norm(x))


class EntityEmbeddings(nn.Module):
  """B·U + the mean of the mention's position embeddings + the entity type (paper §3.1)."""

  config: LukeConfig

  def setup(self) -> None:
    """Makes the tables; `entity` (B) is also the decoder of masked entities."""
    c = self.config
    self.entity = embedding(c, c.entity_rows, width=c.entity_emb_size)
    if c.entity_emb_size != c.hidden_size:
      self.projection = Dense(c, (c.hidden_size,), use_bias=False)
    self.position = embedding(c, c.max_position_embeddings)
    self.type = embedding(c, c.type_vocab_size)
    self.norm = LayerNorm(c)
    self.dropout = Dropout(c.hidden_dropout_prob)

  def __call__(
    self,
    entity_ids: jax.Array,
    entity_position_ids: jax.Array,
    entity_token_type_ids: jax.Array | None = None,
  ) -> jax.Array:
    """Returns (B, E, D)."""
    c = self.config
    if entity_token_type_ids is None:
      entity_token_type_ids = jnp.zeros_like(entity_ids)
    x = look_up(self.entity, entity_ids, c.entity_padding_id, c.vocabulary_axis)
    if c.entity_emb_size != c.hidden_size:
      x = self.projection(x)
    x = x + self.mention(entity_position_ids) + look_up(self.type, entity_token_type_ids)
    return self.dropout(self.norm(x))

  def mention(self, entity_position_ids: jax.Array) -> jax.Array:
    """Mean position embedding (B, E, D) of mentions (B, E, M) padded with -1; empty ones give 0.

    As a product with the counts of the positions, since gathering (B, E, M, D) rows moves some
    hundred times more memory.
    """
    counts = jax.nn.one_hot(entity_position_ids, self.position.num_embeddings).sum(-2)
    table = self.position.embedding.astype(self.config.dtype)
    total = jnp.einsum(
      "bep,pd->bed", counts.astype(table.dtype), table, preferred_element_type=jnp.float32
    )
    mean = total / jnp.maximum(counts.sum(-1, keepdims=True), 1e-7)
    return mean.astype(self.config.dtype)
