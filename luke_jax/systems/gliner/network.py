"""Encoder of a GLiNER, and its scores: products of spans and labels, or judgements of words."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.heads.labels import Places
from luke_jax.heads.matching import MatchHead
from luke_jax.models.head import LabelPrompt, Outputs, ReadTensor, States, Tables
from luke_jax.models.system import Backbone, Described
from luke_jax.nn.embeddings import real_tokens
from luke_jax.nn.encoder import Mlp
from luke_jax.nn.layers import Dense, Numerics, initializer, parameter
from luke_jax.text import Tokenizer

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


class Weights(nn.Module):
  """Kernel and bias of a linear layer that is multiplied in parts, or in another order."""

  numerics: Numerics
  shape: tuple[int, int]

  @nn.compact
  def __call__(self) -> tuple[jax.Array, jax.Array]:
    """Returns the kernel (D, F) and the bias (F,)."""
    init = initializer(self.numerics, 1 / self.shape[0])
    kernel = parameter(self, "kernel", init, self.shape)
    bias = parameter(self, "bias", nn.initializers.zeros, self.shape[1:])
    return kernel.astype(self.numerics.dtype), bias.astype(self.numerics.dtype)


class GlinerHead(MatchHead):
  """Logits of spans for labels, of a GLiNER of any of its four kinds."""

  config: "GlinerConfig"

  reads_start: ClassVar[bool] = False
  exported: ClassVar[bool] = False

  @classmethod
  def fresh(cls, backbone: Backbone, labels: int) -> Self:
    """Returns a head of the sizes of the backbone."""
    config = backbone.config
    return cls(backbone.numerics_of(cls.kind), config.hidden_size, config)

  @classmethod
  def of_authors(
    cls, described: Described, names: frozenset[str], read: ReadTensor, directory: Path
  ) -> tuple[Described, ReadTensor] | None:
    """Returns the description with a word for each row of their table, where it has others."""
    config: Any = described.config
    tables = (f"{config.tensors}.embeddings.{x}_embeddings.weight" for x in ("word", "tok"))
    table = next((x for x in tables if x in names), "")
    if not table or (rows := len(read(table))) == config.encoder.vocab_size:
      return None
    encoder = dataclasses.replace(config.encoder, vocab_size=rows)
    config = dataclasses.replace(config, encoder=encoder)
    return dataclasses.replace(described, config=config), read

  @property
  def task_settings(self) -> Mapping[str, Any]:
    """Returns how texts are read."""
    c = self.config
    return {"span_words": c.span_words, "window": c.window, "hyphenated": True}

  def prompt(self, tokenizer: Tokenizer, labels: Sequence[str]) -> LabelPrompt | None:
    """Returns what a uni-encoder reads before a text: each label after a marker, and a separator.

    Raises InputError for a label with one of these, and for too many.
    """
    c = self.config
    if c.labels_encoder is not None:
      return None
    for label in labels:
      if odd := next((x for x in (c.ent_token, c.sep_token) if x in label), None):
        raise InputError(f"labels: {label!r:.60}: has {odd} in it; expected a label without")
    if tokenizer.piece_id(c.ent_token) == tokenizer.special.unknown:
      tokenizer = tokenizer.with_words(("[FLERT]", c.ent_token, c.sep_token))
    *parts, end = (x.ids for x in tokenizer.encode([c.ent_token, *labels, c.sep_token]))
    marker, ids, places = parts[0], [], []
    for pieces in parts[1:]:
      places.append(1 + len(ids) + (0 if c.embed_ent_token else len(marker)))
      ids += [*marker, *pieces]
    ids += end
    if len(ids) > (most := c.room_for_words // 2):
      expected = f"expected at most {most}: fewer labels, or a GLiNER of two encoders"
      raise InputError(f"labels: {len(labels)} of them, {len(ids)} word pieces; {expected}")
    if max(ids) >= c.vocab_size:
      raise InputError(f"tokenizer: word {max(ids)} of a label; expected {c.vocab_size} words")
    vectors = np.zeros((len(labels), c.hidden_size), np.float32)
    vectors[:, 0] = places  # in a row, which is all that the model needs to know of labels
    return LabelPrompt(tuple(ids), vectors)

  @nn.compact
  def __call__(
    self,
    states: States,
    tables: Tables,
    *,
    entity_start_positions: Places,
    entity_end_positions: Places,
    label_vectors: Float[Array, "rows L D"],
  ) -> Outputs:
    """Returns logits (B, E, L) for starts, inclusive ends, and labels of all rows or of each.

    And `label_logits` (B, L), which are zero: all labels are as usual.
    """
    c, words = self.config, states.words
    labels = label_vectors.astype(words.dtype)
    if c.labels_encoder is None:
      places = label_vectors[..., 0].astype(jnp.int32)
      places = jnp.broadcast_to(places, (len(words), places.shape[1]))
      labels = jnp.take_along_axis(words, places[..., None], axis=1)
    found = self._of_words if c.token_level else self._of_spans
    logits = found(words, labels, entity_start_positions, entity_end_positions)
    usual = jnp.zeros((len(words), labels.shape[1]), jnp.float32)
    return {"logits": logits.astype(jnp.float32), "label_logits": usual}

  def _of_spans(
    self, words: Float[Array, "B W D"], labels: jax.Array, starts: Places, ends: Places
  ) -> Float[Array, "B E L"]:
    """Returns products of spans and labels.

    A span is a layer over those of its first and last word: what that layer multiplies it computes
    for each word once, and its second product is made with the labels before.
    """
    n, d = self.numerics, self.width
    labels = Mlp(n, 4 * d, name="label")(labels)
    up, bias = Weights(n, (2 * d, 4 * d), name="span_up")()
    first = nn.relu(Mlp(n, 4 * d, name="start")(words)) @ up[:d] + bias
    last = nn.relu(Mlp(n, 4 * d, name="end")(words)) @ up[d:]
    spans = jnp.take_along_axis(first, starts[..., None], axis=1)
    spans = nn.relu(spans + jnp.take_along_axis(last, ends[..., None], axis=1))
    down, bias = Weights(n, (4 * d, d), name="span_down")()
    products = jnp.einsum("fd,rld->rfl", down, labels)
    logits = jnp.matmul(spans, products)
    return logits + jnp.einsum("d,rld->rl", bias, labels)[:, None]

  def _of_words(
    self, words: Float[Array, "B W D"], labels: jax.Array, starts: Places, ends: Places
  ) -> Float[Array, "B E L"]:
    """Returns for spans the least logit of their first word, their last, and all as inside."""
    n, d = self.numerics, self.width
    own, others = (
      Dense(n, (2, d), name=f"{x}_parts")(y) for x, y in (("word", words), ("label", labels))
    )
    up, bias = Weights(n, (3 * d, 4 * d), name="judge_up")()
    down, last_bias = Weights(n, (4 * d, 3), name="judge_down")()
    of_words, of_labels = own[:, :, 0] @ up[:d] + bias, others[:, :, 0] @ up[d : 2 * d]

    def judged(label: tuple[jax.Array, jax.Array]) -> Float[Array, "B W 3"]:
      part, product = (x[:, None] for x in label)
      return nn.relu(of_words + part + (own[:, :, 1] * product) @ up[2 * d :]) @ down + last_bias

    each = of_labels.swapaxes(0, 1), others[:, :, 1].swapaxes(0, 1)
    start, end, inside = jnp.moveaxis(jax.lax.map(judged, each), (0, 3), (3, 0))
    start = jnp.take_along_axis(start, starts[..., None], axis=1)
    end = jnp.take_along_axis(end, ends[..., None], axis=1)
    return jnp.minimum(jnp.minimum(start, end), least_between(inside, starts, ends))


def least_between(
  numbers: Float[Array, "B W L"], starts: Places, ends: Places
) -> Float[Array, "B E L"]:
  """Returns the least of the numbers from each start to its end, both inclusive.

  It is that of two stretches whose length is a power of two, which may overlap.
  """
  power = jnp.floor(jnp.log2((ends - starts + 1).clip(1).astype(jnp.float32))).astype(jnp.int32)
  found = jnp.zeros((*starts.shape, numbers.shape[-1]), numbers.dtype)
  for step in range(numbers.shape[1].bit_length()):
    if step:  # what comes round from the other end is part of no span
      numbers = jnp.minimum(numbers, jnp.roll(numbers, -(2 ** (step - 1)), axis=1))
    second = (ends - 2**step + 1).clip(0)
    both = (jnp.take_along_axis(numbers, x[..., None], axis=1) for x in (starts, second))
    found = jnp.where((power == step)[..., None], jnp.minimum(*both), found)
  return found
