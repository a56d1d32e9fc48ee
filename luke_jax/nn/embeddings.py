"""From word ids to vectors: word + position + token type, normalised."""

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Shaped

from luke_jax.nn.layers import Dense, Dropout, LayerNorm, Numerics, embedding
from luke_jax.nn.vocabulary import rows_of


def look_up(
  table: nn.Embed,
  ids: Int[Array, "*tokens"],
  padding_id: int | None = None,
  axis: str | None = None,
) -> Float[Array, "*tokens K"]:
  """Returns rows of a table; the padding row is read but learns nothing."""
  rows = rows_of(table.embedding, ids, table.dtype, axis)
  if padding_id is None:
    return rows
  return jnp.where((ids == padding_id)[..., None], jax.lax.stop_gradient(rows), rows)


def positions_after_padding(input_ids: Int[Array, "B W"], pad_id: int) -> Int[Array, "B W"]:
  """Returns RoBERTa's position ids: real tokens count from the one after its pad id."""
  real = (input_ids != pad_id).astype(jnp.int32)
  return jnp.cumsum(real, axis=1) * real + pad_id


class WordEmbeddings(nn.Module):
  """Word + position + token type, normalised (LUKE, section 3.1).

  Tables narrower than the layers are projected to their width (ELECTRA).
  """

  numerics: Numerics
  words: int  # V
  width: int  # of the tables
  positions: int  # 0: tokens have none
  types: int  # 0: tokens have none
  pad_id: int
  positions_after_padding: bool  # as in RoBERTa; else they count all tokens from 0, as in BERT
  output: int | None = None  # D, where the tables are projected to it
  norm_bias: bool = True

  def setup(self) -> None:
    """Makes the tables; `word` is also the decoder of masked words."""
    n = self.numerics
    self.word = embedding(n, self.words, self.width)
    if self.positions:
      self.position = embedding(n, self.positions, self.width)
    if self.types:
      self.type = embedding(n, self.types, self.width)
    self.norm = LayerNorm(n, self.norm_bias)
    self.dropout = Dropout(n.dropout)
    if self.output:
      self.project = Dense(n, (self.output,))

  def __call__(
    self,
    input_ids: Int[Array, "B W"],
    token_type_ids: Int[Array, "B W"] | None = None,
    position_ids: Int[Array, "B W"] | None = None,
  ) -> Float[Array, "B W D"]:
    """Returns the embeddings of words."""
    x = look_up(self.word, input_ids, self.pad_id)
    if self.positions:
      if position_ids is None:
        position_ids = self._position_ids(input_ids)
      padded_position = self.pad_id if self.positions_after_padding else None
      x = x + look_up(self.position, position_ids, padded_position)
    if self.types:
      types = jnp.zeros_like(input_ids) if token_type_ids is None else token_type_ids
      x = x + look_up(self.type, types)
    x = self.dropout(self.norm(x))
    return self.project(x) if self.output else x

  def _position_ids(self, input_ids: Int[Array, "B W"]) -> Int[Array, "B W"]:
    if self.positions_after_padding:
      return positions_after_padding(input_ids, self.pad_id)
    return jnp.broadcast_to(jnp.arange(input_ids.shape[1]), input_ids.shape)


def real_tokens(mask: Shaped[Array, "B T"] | None, ids: Int[Array, "B T"]) -> Bool[Array, "B T"]:
  """Returns a mask as true and false; without one all tokens are real."""
  return jnp.ones(ids.shape, bool) if mask is None else mask.astype(bool)
