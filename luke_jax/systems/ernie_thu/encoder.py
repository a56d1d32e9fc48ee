"""Encoder of two streams: words, and the vectors of the entities aligned to them."""

from typing import TYPE_CHECKING

import flax.linen as nn
import jax
import jax.numpy as jnp

from luke_jax.models.shapes import attention_sizes, word_embeddings
from luke_jax.models.system import Backbone, Running, States, Tables
from luke_jax.nn.embeddings import real_tokens
from luke_jax.nn.encoder import Pooler
from luke_jax.nn.queries import AttentionSizes
from luke_jax.systems.ernie_thu.layers import EqualLayers, LayerSizes, Masks, Streams

if TYPE_CHECKING:
  from luke_jax.systems.ernie_thu.config import ErnieThuConfig


class LayerStack(nn.Module):
  """All layers: a scan for each run of equal ones, under the number of its first layer."""

  backbone: "Backbone[ErnieThuConfig]"

  @nn.compact
  def __call__(self, streams: Streams, masks: Masks) -> Streams:
    """Maps words (B, W, D) and entities (B, W, K) to the same shapes; sows the input."""
    config, running = self.backbone.config, self.backbone.running
    self.sow("intermediates", "input", streams.words)
    sizes = _layer_sizes(config, running)
    for run in config.runs:
      layers = EqualLayers(
        self.backbone.numerics, run.kind, sizes, run.count, running.remat, name=f"from_{run.first}"
      )
      streams = layers(streams, masks)
    return streams


def _layer_sizes(config: "ErnieThuConfig", running: Running) -> LayerSizes:
  # The kernel for TPUs takes no attention heads as narrow as those of entities.
  form = "einsum" if running.attention == "einsum" else "blocks"
  entities = AttentionSizes(
    heads=config.num_entity_heads,
    head_size=config.entity_size // config.num_entity_heads,
    dropout=config.attention_probs_dropout_prob,
    form=form,
  )
  words = attention_sizes(config, running)
  return LayerSizes(words, entities, config.intermediate_size, config.fusion_output_act)


class ErnieThuEncoder(nn.Module):
  """States of words in context, and of the entities aligned to them."""

  backbone: "Backbone[ErnieThuConfig]"
  pooled: bool

  def setup(self) -> None:
    """Makes the parts; the table of words also decodes masked ones."""
    c, n = self.backbone.config, self.backbone.numerics
    self.embeddings = word_embeddings(c, n)
    self.encoder = LayerStack(self.backbone)
    if self.pooled:
      self.pooler = Pooler(n)

  def __call__(
    self,
    *,
    input_ids: jax.Array,
    attention_mask: jax.Array | None = None,
    token_type_ids: jax.Array | None = None,
    position_ids: jax.Array | None = None,
    entity_vectors: jax.Array | None = None,
    entity_mask: jax.Array | None = None,
  ) -> States:
    """Returns the states of words, of the slots beside them, and of the first word.

    `entity_vectors` (B, W, K) are those of the entities aligned to the words, and zero elsewhere;
    `entity_mask` (B, W) is 1 where there is one, by default where a vector is not zero.
    """
    x = self.embeddings(input_ids, token_type_ids, position_ids)
    if entity_vectors is None:
      entity_vectors = jnp.zeros((*input_ids.shape, self.backbone.config.entity_size))
    if entity_mask is None:
      entity_mask = (entity_vectors != 0).any(-1)
    entity_mask = entity_mask.astype(bool) | (jnp.arange(input_ids.shape[1]) == 0)
    masks = Masks(real_tokens(attention_mask, input_ids), entity_mask)
    streams = Streams(x, entity_vectors.astype(x.dtype))
    words, entities = self.encoder(streams, masks)
    pooled = self.pooler(words) if self.pooled else None
    return States(words, pooled=pooled, slots=entities)

  def tables(self) -> Tables:
    """Returns the embeddings that decode masked words."""
    return Tables(self.embeddings.word.embedding)
