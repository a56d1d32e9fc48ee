"""From entity ids to vectors, with the positions of their mentions."""

from typing import TYPE_CHECKING

import flax.linen as nn
import jax
import jax.numpy as jnp

from luke_jax.nn.embeddings import look_up
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
  ) -> jax.Array:
    """Returns (B, E, D)."""
    c = self.config
    if entity_token_type_ids is None:
      entity_token_type_ids = jnp.zeros_like(entity_ids)
    x = look_up(self.entity, entity_ids, c.entity_padding_id, self.axis)
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
