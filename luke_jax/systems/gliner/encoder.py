"""Encoder of a GLiNER: that of another system, a projection, and an LSTM over words."""

import dataclasses
from typing import TYPE_CHECKING, Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from luke_jax.models.system import Backbone, States, Tables
from luke_jax.nn.embeddings import real_tokens
from luke_jax.nn.layers import Dense, Numerics, initializer, parameter

if TYPE_CHECKING:
  from luke_jax.systems.gliner.config import GlinerConfig

WAYS = ("forward", "backward")


class Lstm(nn.Module):
  """LSTMs that read words in both directions, as PyTorch computes them. H is half of D."""

  numerics: Numerics
  layers: int

  @nn.compact
  def __call__(self, x: Float[Array, "B W D"], first: Bool[Array, "B W"]) -> Float[Array, "B W D"]:
    """Returns the states of the first pieces of words; other pieces pass the state on."""
    d, half = x.shape[-1], x.shape[-1] // 2
    shapes = {"input": (d, 4 * half), "hidden": (half, 4 * half)}
    shapes |= {"input_bias": (4 * half,), "hidden_bias": (4 * half,)}
    init = initializer(self.numerics, 1 / half)
    weights = {
      way: {
        name: parameter(self, f"{way}_{name}", init, (self.layers, *shape)).astype(x.dtype)
        for name, shape in shapes.items()
      }
      for way in WAYS
    }
    for layer in range(self.layers):
      both = ({name: w[layer] for name, w in weights[way].items()} for way in WAYS)
      read = [_read(x, first, w, reverse=i > 0) for i, w in enumerate(both)]
      x = jnp.concatenate(read, axis=-1)
    return x


def _read(
  x: Float[Array, "B W D"],
  first: Bool[Array, "B W"],
  weights: dict[str, jax.Array],
  *,
  reverse: bool,
) -> Float[Array, "B W H"]:
  """Returns the states of one direction of one layer."""
  gates = x @ weights["input"] + weights["input_bias"] + weights["hidden_bias"]

  def step(carry: tuple[jax.Array, jax.Array], now: tuple[jax.Array, jax.Array]):
    (state, cell), (gates, is_word) = carry, now
    enter, keep, new, out = jnp.split(gates + state @ weights["hidden"], 4, axis=-1)
    next_cell = jax.nn.sigmoid(keep) * cell + jax.nn.sigmoid(enter) * jnp.tanh(new)
    cell = jnp.where(is_word, next_cell, cell)
    state = jnp.where(is_word, jax.nn.sigmoid(out) * jnp.tanh(cell), state)
    return (state, cell), state

  start = jnp.zeros((x.shape[0], weights["hidden"].shape[0]), x.dtype)
  inputs = gates.swapaxes(0, 1), first.T[..., None]
  return jax.lax.scan(step, (start, start), inputs, reverse=reverse)[1].swapaxes(0, 1)


class GlinerEncoder(nn.Module):
  """States of words in context, which all pieces of a word have; without a word, their own."""

  backbone: "Backbone[GlinerConfig]"
  pooled: bool

  def setup(self) -> None:
    """Makes the encoder, under the name of its system, and what follows it."""
    c, n = self.backbone.config, self.backbone.numerics
    backbone: Any = self.backbone
    inner = dataclasses.replace(backbone, config=c.encoder)
    self.encoder = type(c.encoder).module(inner, False, name=c.encoder.name)
    if c.hidden_size != c.encoder.hidden_size:
      self.projection = Dense(n, (c.hidden_size,))
    if c.lstm_layers:
      self.lstm = Lstm(n, c.lstm_layers)

  def __call__(
    self,
    *,
    input_ids: Int[Array, "B W"],
    attention_mask: jax.Array | None = None,
    word_starts: jax.Array | None = None,
  ) -> States:
    """Returns the states of words (B, W, D); `word_starts` is 1 at the first piece of each."""
    c, real = self.backbone.config, real_tokens(attention_mask, input_ids)
    first = real if word_starts is None else word_starts != 0
    words = self.encoder(input_ids=input_ids, attention_mask=real.astype(jnp.int32)).words
    if c.hidden_size != c.encoder.hidden_size:
      words = self.projection(words)
    places = jnp.arange(input_ids.shape[1])[None]
    of_word = jax.lax.cummax(jnp.where(first, places, 0), axis=1)
    if c.lstm_layers:
      words = jnp.where((of_word > 0)[..., None], self.lstm(words, first), words)
    of_word = jnp.where(of_word > 0, of_word, places)
    return States(jnp.take_along_axis(words, of_word[..., None], axis=1))

  def tables(self) -> Tables:
    """Returns the embeddings of words."""
    return self.encoder.tables()
