"""Encoder of whole words, from their embeddings, characters, bigrams and given vectors."""

from typing import TYPE_CHECKING, Any

import flax.linen as nn
import jax
import jax.numpy as jnp

from luke_jax.models.shapes import attention_sizes
from luke_jax.models.system import Backbone, States, Tables
from luke_jax.nn.embeddings import look_up, real_tokens
from luke_jax.nn.layers import Dense, Dropout, embedding
from luke_jax.nn.queries import AttentionSizes
from luke_jax.systems.tener import layers
from luke_jax.systems.tener.layers import CharacterEncoder, by_length
from luke_jax.text.whole_words import BIGRAMS, CHARACTERS, VECTORS

if TYPE_CHECKING:
  from luke_jax.systems.tener.config import TenerConfig


def word_attention(backbone: "Backbone[TenerConfig]") -> layers.Attending:
  """Returns the sizes of the attention of words."""
  config: TenerConfig = backbone.config
  if config.encoder == "transformer":
    return attention_sizes(config, backbone.running)
  return layers.RelativeSizes(
    heads=config.num_attention_heads,
    dropout=config.attention_probs_dropout_prob,
    scale=config.scale,
    key_projection=config.use_k_proj,
    distances=layers.Distances(config.rel_sign, config.freq, config.e_term),
  )


def character_attention(config: "TenerConfig") -> layers.Attending | None:
  """Returns the sizes of the attention of characters; None for a convolution."""
  heads, rate = config.num_character_heads, config.hidden_dropout_prob
  if config.character_encoder == "adatrans":
    distances = layers.Distances(config.rel_sign, config.freq, config.e_term)
    return layers.RelativeSizes(heads, rate, key_projection=config.use_k_proj, distances=distances)
  if config.character_encoder == "transformer":
    return AttentionSizes(heads, config.character_size // heads, 1, rate)
  return None


class Mixture(nn.Module):
  """Learned mixture of the layers of given vectors: shares that sum to one, times a factor."""

  @nn.compact
  def __call__(self, vectors: jax.Array) -> jax.Array:
    """Maps (B, W, layers, K) to (B, W, K)."""
    shares = nn.softmax(self.param("shares", nn.initializers.zeros, vectors.shape[2:3]))
    factor = self.param("factor", nn.initializers.ones, (1,))
    return factor * jnp.einsum("bwlk,l->bwk", vectors, shares)


class TenerEncoder(nn.Module):
  """States of whole words in context. The ends of a row are no part of it."""

  backbone: "Backbone[TenerConfig]"
  pooled: bool = False  # it has no pooler

  def setup(self) -> None:
    """Makes the parts that the vocabularies call for."""
    c, n = self.backbone.config, self.backbone.numerics
    self.word = embedding(n, c.vocab_size, c.word_size)
    if c.bigram_vocab_size:
      self.bigram = embedding(n, c.bigram_vocab_size, c.bigram_size)
    if c.character_vocab_size:
      self.characters = CharacterEncoder(
        n, c.character_vocab_size, c.character_size, character_attention(c), c.character_dropout
      )
    if c.vector_size:
      self.mixture = Mixture()
    self.input = Dense(n, (c.hidden_size,))
    self.encoder = layers.LayerStack(
      n,
      word_attention(self.backbone),
      c.intermediate_size,
      c.num_hidden_layers,
      c.after_norm,
      self.backbone.running.remat,
    )
    self.embedding_dropout = Dropout(c.embedding_dropout)

  def __call__(
    self,
    *,
    input_ids: jax.Array,
    attention_mask: jax.Array | None = None,
    character_ids: jax.Array | None = None,
    bigram_ids: jax.Array | None = None,
    word_vectors: jax.Array | None = None,
  ) -> States:
    """Returns the states of words (B, W, D); what is not given of a word is read as absent.

    `character_ids` are (B, W, characters), `bigram_ids` (B, W), and `word_vectors`
    (B, W, layers, K), all zero where there is none.
    """
    c = self.backbone.config
    mask = real_tokens(attention_mask, input_ids)
    for id in (c.pad_token_id, c.bos_token_id, c.eos_token_id):
      mask = mask & (input_ids != id)
    inputs = {CHARACTERS: character_ids, BIGRAMS: bigram_ids, VECTORS: word_vectors}
    for name, room in c.beside(input_ids.shape[1]).items():
      if inputs[name] is None:
        inputs[name] = jnp.zeros((len(input_ids), *room.shape), room.dtype)
    x = self.input(self._words(input_ids, inputs))
    if c.encoder == "transformer":
      x = x + layers.absolute_positions(mask, c.hidden_size).astype(x.dtype)
    return States(self.encoder(x, mask))

  def _words(self, input_ids: jax.Array, inputs: dict) -> jax.Array:
    """Returns the vectors of each word alone, side by side (B, W, sum of widths)."""
    c = self.backbone.config
    in_vocabulary = self._known(input_ids.shape)
    ids = jnp.where(in_vocabulary, input_ids, c.unk_token_id)
    parts = [self.embedding_dropout(look_up(self.word, ids))]
    if c.character_vocab_size:
      parts.append(self._spelt(jnp.where(in_vocabulary[..., None], inputs[CHARACTERS], 0)))
    if c.bigram_vocab_size:
      parts.append(self.embedding_dropout(look_up(self.bigram, inputs[BIGRAMS])))
    if c.vector_size:
      parts.append(self.mixture(inputs[VECTORS]).astype(parts[0].dtype))
    return jnp.concatenate(parts, -1)

  def _spelt(self, ids: jax.Array) -> jax.Array:
    """Returns the vectors of words from their characters (B, W, L)."""
    words = ids.reshape(-1, ids.shape[-1])
    if self.is_initializing():
      vectors = self.characters(words)
    else:
      key = self.make_rng("dropout") if self.has_rng("dropout") else None
      alone, variables = self.characters.unbind()

      def run(params: dict, ids: jax.Array, key: jax.Array | None) -> Any:
        return alone.apply({"params": params}, ids, rngs=None if key is None else {"dropout": key})

      vectors = by_length(run, dict(variables["params"]), words, key)
    return vectors.reshape(*ids.shape[:-1], -1)

  def _known(self, shape: tuple[int, ...]) -> jax.Array:
    """Returns false for the words that training reads as unknown ones."""
    rate = self.backbone.config.word_dropout
    if not rate or not self.has_rng("dropout"):
      return jnp.ones(shape, bool)
    return ~jax.random.bernoulli(self.make_rng("dropout"), rate, shape)

  def tables(self) -> Tables:
    """Returns the embeddings of words."""
    return Tables(self.word.embedding)
