"""Encoder of BERT, RoBERTa and XLM-R: words with token types."""

import dataclasses
from typing import TYPE_CHECKING

import flax.linen as nn
import jax
import jax.numpy as jnp

from luke_jax.models.shapes import attention_sizes, word_embeddings
from luke_jax.models.system import Backbone, States, Tables
from luke_jax.nn.embeddings import real_tokens
from luke_jax.nn.encoder import Encoder
from luke_jax.nn.pooler import Pooler

if TYPE_CHECKING:
  from luke_jax.systems.bert.config import BertConfig


class BertEncoder(nn.Module):
  """States of words in context."""

  backbone: "Backbone[BertConfig]"
  pooled: bool

  def setup(self) -> None:
    """Makes the parts; the table of words also decodes masked ones."""
    c, n, running = self.backbone.config, self.backbone.numerics, self.backbone.running
    after, width = c.positions_after_padding, c.embedding_width
    self.embeddings = word_embeddings(c, n, after_padding=after, width=width)
    sizes = dataclasses.replace(attention_sizes(c, running), drops_output=c.attention_drops_output)
    self.encoder = Encoder(n, sizes, c.intermediate_size, c.num_hidden_layers, running.remat)
    if self.pooled:
      self.pooler = Pooler(n, c.pooler_act)

  def __call__(
    self,
    *,
    input_ids: jax.Array,
    attention_mask: jax.Array | None = None,
    token_type_ids: jax.Array | None = None,
    position_ids: jax.Array | None = None,
  ) -> States:
    """Returns the states of words and of the first word."""
    x = self.embeddings(input_ids, token_type_ids, position_ids)
    no_entities = jnp.zeros((input_ids.shape[0], 0), bool)
    words = self.encoder(x, real_tokens(attention_mask, input_ids), no_entities)
    return States(words, pooled=self.pooler(words) if self.pooled else None)

  def tables(self) -> Tables:
    """Returns the embeddings that decode masked words."""
    return Tables(self.embeddings.word.embedding)
