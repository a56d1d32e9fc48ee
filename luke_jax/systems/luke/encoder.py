"""LUKE's encoder: words and entities in one transformer (paper §3)."""

import dataclasses
from typing import TYPE_CHECKING

import flax.linen as nn
import jax
import jax.numpy as jnp

from luke_jax.models.shapes import attention_sizes, word_embeddings
from luke_jax.models.system import Backbone, States, Tables
from luke_jax.nn.embeddings import look_up, real_tokens
from luke_jax.nn.encoder import Encoder, Pooler
from luke_jax.nn.layers import Dense, Dropout, LayerNorm, Numerics, embedding

if TYPE_CHECKING:
  from luke_jax.systems.luke.config import LukeConfig


class EntityEmbeddings(nn.Module):
  """B·U + the mean of the mention's position embeddings + the entity type (paper §3.1)."""

  config: "LukeConfig"
  numerics: Numerics
  rows: int  # U, with those that fill the table up for the mesh
  axis: str | None = None  # of the mesh, over which the rows are spread

  def setup(self) -> None:
    """Makes the tables; `entity` (B) is also the decoder of masked entities."""
    c, n = self.config, self.numerics
    self.entity = embedding(n, self.rows, c.entity_emb_size)
    if c.entity_emb_size != c.hidden_size:
      self.projection = Dense(n, (c.hidden_size,), use_bias=False)
    self.position = embedding(n, c.max_position_embeddings, c.hidden_size)
    self.type = embedding(n, c.type_vocab_size, c.hidden_size)
    self.norm = LayerNorm(n)
    self.dropout = Dropout(n.dropout)

  def __call__(
    self,
    entity_ids: jax.Array,
    entity_position_ids: jax.Array,
    entity_token_type_ids: jax.Array | None = None,
    entity_vectors: jax.Array | None = None,
  ) -> jax.Array:
    """Returns (B, E, D); vectors (B, E, K) that are not zero stand in place of the table's rows."""
    c = self.config
    if entity_token_type_ids is None:
      entity_token_type_ids = jnp.zeros_like(entity_ids)
    x = look_up(self.entity, entity_ids, c.entity_padding_id, self.axis)
    if entity_vectors is not None:
      given = (entity_vectors != 0).any(-1, keepdims=True)
      x = jnp.where(given, entity_vectors.astype(x.dtype), x)
    if c.entity_emb_size != c.hidden_size:
      x = self.projection(x)
    x = x + self.mention(entity_position_ids) + look_up(self.type, entity_token_type_ids)
    return self.dropout(self.norm(x))

  def mention(self, entity_position_ids: jax.Array) -> jax.Array:
    """Returns the mean position embedding (B, E, D) of mentions (B, E, M), which are -1 padded.

    Empty mentions give 0. It is a product with the counts of the positions, since gathering
    (B, E, M, D) rows moves some hundred times more memory.
    """
    counts = jax.nn.one_hot(entity_position_ids, self.position.num_embeddings).sum(-2)
    table = self.position.embedding.astype(self.numerics.dtype)
    total = jnp.einsum(
      "bep,pd->bed", counts.astype(table.dtype), table, preferred_element_type=jnp.float32
    )
    mean = total / jnp.maximum(counts.sum(-1, keepdims=True), 1e-7)
    return mean.astype(self.numerics.dtype)


WORD_INPUTS = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
ENTITY_INPUTS = ("entity_ids", "entity_attention_mask", "entity_token_type_ids")
ENTITY_INPUTS += ("entity_position_ids", "entity_vectors")


class LukeEncoder(nn.Module):
  """States of words and entities in context."""

  backbone: "Backbone[LukeConfig]"
  pooled: bool = True

  def setup(self) -> None:
    """Makes the parts; the tables of both embeddings also decode masked tokens."""
    c, n, running = self.backbone.config, self.backbone.numerics, self.backbone.running
    self.embeddings = word_embeddings(c, n, after_padding=c.word_positions == "roberta")
    if c.entity_vocab_size:
      spread = self.backbone.spread
      rows = c.entity_vocab_size + spread.padding_rows
      self.entity_embeddings = EntityEmbeddings(c, n, rows, spread.axis)
    sizes = dataclasses.replace(
      attention_sizes(c, running, kinds=2 if c.use_entity_aware_attention else 1),
      independent_entities=c.independent_entities,
    )
    self.encoder = Encoder(n, sizes, c.intermediate_size, c.num_hidden_layers, running.remat)
    if self.pooled:
      self.pooler = Pooler(n)

  def __call__(
    self,
    *,
    input_ids: jax.Array,
    attention_mask: jax.Array | None = None,
    token_type_ids: jax.Array | None = None,
    position_ids: jax.Array | None = None,
    entity_ids: jax.Array | None = None,
    entity_attention_mask: jax.Array | None = None,
    entity_token_type_ids: jax.Array | None = None,
    entity_position_ids: jax.Array | None = None,
    entity_vectors: jax.Array | None = None,
  ) -> States:
    """Returns the states of words, of entities if they are given, and of the first word."""
    num_words = input_ids.shape[1]
    x = self.embeddings(input_ids, token_type_ids, position_ids)
    word_mask = real_tokens(attention_mask, input_ids)
    entity_mask = jnp.zeros((input_ids.shape[0], 0), bool)
    if entity_ids is not None:
      if entity_position_ids is None:
        raise ValueError("entity_ids needs entity_position_ids")
      entities = self.entity_embeddings(
        entity_ids, entity_position_ids, entity_token_type_ids, entity_vectors
      )
      entity_mask = real_tokens(entity_attention_mask, entity_ids)
      x = jnp.concatenate([x, entities], axis=1)
    x = self.encoder(x, word_mask, entity_mask)
    words = x[:, :num_words]
    entity_states = None if entity_ids is None else x[:, num_words:]
    return States(words, entity_states, self.pooler(words) if self.pooled else None)

  def tables(self) -> Tables:
    """Returns the embeddings that decode masked tokens."""
    entities = None
    if self.backbone.config.entity_vocab_size:
      entities = self.entity_embeddings.entity.embedding
    return Tables(self.embeddings.word.embedding, entities)
