"""Layers of a TENER, and of the plain transformer that it is compared with.

Attention has direction and distance (Yan et al. 2019, §3.2.2). The score of a query at place t and
a key at place j has the sines and cosines of t - j, R. Since sin(a - b) and cos(a - b) are sums of
products of a function of a and one of b, that part of the score is a product of what is known of
the query and what is known of the key: no array has an axis of distances, and no table limits them.
"""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Literal, NamedTuple, TypeVar

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax import lax

from luke_jax.nn.activations import activate
from luke_jax.nn.attention import Attention
from luke_jax.nn.encoder import over_layers, remade
from luke_jax.nn.layers import (
  Dense,
  Dropout,
  LayerNorm,
  Numerics,
  Remat,
  batch_axes,
  constrain,
  embedding,
)
from luke_jax.nn.queries import AttentionSizes

Frequencies = Literal["paper", "tener"]
_MASKED = float(jnp.finfo(jnp.float32).min)  # finite, so that a row of padding alone is


@dataclasses.dataclass(frozen=True)
class Distances:
  """Form of R: which way distances count, its sines and cosines, and a term of keys with it."""

  rel_sign: Literal[1, -1] = 1  # 1: from the key to the query, t - j
  # Sine and cosine of 10000^(-2i/H) in turn; or, as in the released code, sines before cosines.
  freq: Frequencies = "paper"
  e_term: bool = False  # scores also have the product of the key and the R of t - j

  def frequencies(self, width: int) -> jax.Array:
    """Returns the frequencies of a head's H / 2 sines."""
    steps = width / 2 if self.freq == "paper" else max(width / 2 - 1, 1)
    return jnp.exp(-math.log(10000) / steps * jnp.arange(width // 2, dtype=jnp.float32))

  def angles(self, places: int, width: int) -> jax.Array:
    """Returns the frequencies times each place (L, 1, H / 2), with the sign of distances."""
    numbers = self.rel_sign * jnp.arange(places, dtype=jnp.float32)
    return numbers[:, None, None] * self.frequencies(width)

  def halves(self, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns the values of x (..., H) that meet sines, and those that meet cosines."""
    if self.freq == "paper":
      return x[..., 0::2], x[..., 1::2]
    half = x.shape[-1] // 2
    return x[..., :half], x[..., half:]


class Biases(NamedTuple):
  """Learned vectors that stand in for the query in its product with keys, and with distances."""

  keys: jax.Array  # u (N, H)
  distances: jax.Array  # v (N, H)


def relative_scores(
  queries: jax.Array, keys: jax.Array, biases: Biases, distances: Distances
) -> jax.Array:
  """Returns the scores (B, N, L, L) of queries and keys (B, L, N, H), in float32."""
  angles = distances.angles(queries.shape[1], queries.shape[3])
  sin, cos = jnp.sin(angles), jnp.cos(angles)  # (L, 1, H / 2)
  at_key = jnp.broadcast_to(jnp.concatenate([sin, cos], -1), keys.shape)
  a, b = distances.halves(queries + biases.distances)
  asking = [queries + biases.keys, b * sin - a * cos, a * sin + b * cos]
  asked = [keys, at_key]
  if distances.e_term:
    a, b = distances.halves(keys)
    sin = distances.rel_sign * sin  # this term counts from the key, whichever way the others do
    asking.append(jnp.broadcast_to(jnp.concatenate([sin, cos], -1), keys.shape))
    asked += [a * cos + b * sin, b * cos - a * sin]
  left, right = (jnp.concatenate(parts, -1).astype(queries.dtype) for parts in (asking, asked))
  return jnp.einsum("bqnh,bknh->bnqk", left, right, preferred_element_type=jnp.float32)


def attended(scores: jax.Array, mask: jax.Array) -> jax.Array:
  """Returns the softmax over the keys where mask (B, L) is true."""
  return nn.softmax(jnp.where(mask[:, None, None, :], scores, _MASKED))


@dataclasses.dataclass(frozen=True)
class RelativeSizes:
  """Sizes and options of attention by distance."""

  heads: int  # N
  dropout: float  # share of the probabilities that are dropped
  scale: bool = False  # scores are divided by the root of H
  key_projection: bool = False
  distances: Distances = Distances()


class RelativeAttention(nn.Module):
  """Self-attention by content, direction and distance, without an output projection."""

  numerics: Numerics
  sizes: RelativeSizes

  @nn.compact
  def __call__(self, x: jax.Array, mask: jax.Array) -> jax.Array:
    """Maps (B, L, D) to the same shape; sows the probabilities (B, N, L, L)."""
    n, sizes = self.numerics, self.sizes
    heads = sizes.heads, x.shape[-1] // sizes.heads
    query, value = (Dense(n, heads, use_bias=False, name=name)(x) for name in ("queries", "value"))
    if sizes.key_projection:
      key = Dense(n, heads, use_bias=False, name="key")(x)
    else:
      key = x.reshape(*x.shape[:-1], *heads)
    normal = nn.initializers.xavier_normal()
    biases = Biases(*(self.param(name, normal, heads) for name in ("for_keys", "for_distances")))
    scores = relative_scores(query, key, biases, sizes.distances)
    if sizes.scale:
      scores = scores * heads[1] ** -0.5
    probs = attended(scores, mask)
    self.sow("intermediates", "probs", probs)
    probs = Dropout(sizes.dropout)(probs).astype(x.dtype)
    return jnp.einsum("bnqk,bknh->bqnh", probs, value).reshape(x.shape)


Attending = RelativeSizes | AttentionSizes


class FeedForward(nn.Module):
  """Two linear layers, each followed by dropout, the first by an activation too."""

  numerics: Numerics
  hidden: int  # F

  @nn.compact
  def __call__(self, x: jax.Array) -> jax.Array:
    """Maps (B, L, D) to the same shape."""
    n, dropped = self.numerics, Dropout(self.numerics.dropout)
    hidden = dropped(activate(Dense(n, (self.hidden,), name="up")(x), n.activation))
    return Dropout(n.dropout)(Dense(n, x.shape[-1:], name="down")(hidden))


class TenerLayer(nn.Module):
  """Attention and a feed-forward network, each added to its input; there is no dropout between."""

  numerics: Numerics
  attention: Attending
  hidden: int  # F
  after_norm: bool = True

  @nn.compact
  def __call__(self, x: jax.Array, mask: jax.Array) -> jax.Array:
    """Maps (B, L, D) to the same shape."""
    n, x = self.numerics, constrain(x)
    for name in ("attention", "mlp"):
      norm = LayerNorm(n, name=f"{name}_norm")
      y = x if self.after_norm else norm(x)
      y = (
        self._attended(y, mask)
        if name == "attention"
        else FeedForward(n, self.hidden, name=name)(y)
      )
      x = norm(x + y) if self.after_norm else x + y
    self.sow("intermediates", "output", x)
    return x

  def _attended(self, x: jax.Array, mask: jax.Array) -> jax.Array:
    if isinstance(self.attention, RelativeSizes):
      return RelativeAttention(self.numerics, self.attention, name="attention")(x, mask)
    no_entities = jnp.zeros((len(x), 0), bool)
    return Attention(self.numerics, self.attention, name="attention")(x, mask, no_entities)


class LayerStack(nn.Module):
  """All layers, scanned over parameters with a leading layer axis."""

  numerics: Numerics
  attention: Attending
  hidden: int  # F
  layers: int
  after_norm: bool = True
  remat: Remat = "none"

  @nn.compact
  def __call__(self, x: jax.Array, mask: jax.Array) -> jax.Array:
    """Maps (B, L, D) to the same shape; sows the input and the output of each layer."""
    self.sow("intermediates", "input", x)
    arguments = self.numerics, self.attention, self.hidden, self.after_norm
    layer = remade(TenerLayer, self.remat)(*arguments, name="layers")
    unroll = self.numerics.on_cpu
    step = over_layers(lambda layer, x: (layer(x, mask), None), self.layers, unroll=unroll)
    return step(layer, x)[0]


def absolute_positions(mask: jax.Array, width: int) -> jax.Array:
  """Returns sines before cosines of each real place from 1 (B, L, D), and 0 at padding."""
  numbers = jnp.cumsum(mask, axis=1) * mask
  angles = numbers[..., None] * Distances(freq="tener").frequencies(width)
  return jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], -1) * mask[..., None]


KERNEL = 3  # characters that the convolution sees at once
T = TypeVar("T")
PART = 64  # sequences that are run at once: on a CPU their activations stay in the cache
SHORT = (8, 16)  # the lengths below the full one

# Of parameters, ids (n, L) and a key or None: vectors (n, D).
Run = Callable[[dict, jax.Array, jax.Array | None], jax.Array]


class Convolution(nn.Module):
  """Convolution over neighbouring characters."""

  numerics: Numerics

  @nn.compact
  def __call__(self, x: jax.Array) -> jax.Array:
    """Maps (B, L, D) to the same shape; beyond the ends all is zero."""
    side = KERNEL // 2
    around = jnp.pad(x, ((0, 0), (side, side), (0, 0)))
    seen = [around[:, i : i + x.shape[1]] for i in range(KERNEL)]
    return Dense(self.numerics, x.shape[-1:], name="kernel_of_3")(jnp.concatenate(seen, -1))


class CharacterEncoder(nn.Module):
  """Vector of a word: the largest values over its characters, encoded in context."""

  numerics: Numerics
  characters: int  # in the vocabulary, padding at 0
  width: int
  attention: Attending | None  # None: a convolution
  dropout: float

  @nn.compact
  def __call__(self, ids: jax.Array) -> jax.Array:
    """Maps the characters of words (B, L) to (B, D); the largest value of none is 0."""
    n, mask = self.numerics, ids != 0
    x = embedding(n, self.characters, self.width, name="character")(ids)
    x = jnp.where(mask[..., None], Dropout(self.dropout)(x), 0)
    if self.attention is None:
      x = Convolution(n, name="convolution")(x)
    else:
      if not isinstance(self.attention, RelativeSizes):
        x = x + absolute_positions(mask, self.width)
      x = TenerLayer(n, self.attention, 2 * self.width, name="layer")(x, mask)
    # What relu leaves is 0 at least, so that padding is never the largest.
    largest = _largest(jnp.where(mask[..., None], nn.relu(x), 0))
    return Dense(n, (self.width,), name="output")(largest)


def _largest(x: jax.Array) -> jax.Array:
  """Returns the largest of (B, L, D) over L.

  The gradient of `max` goes to the values that equal it. XLA may compute them again, rounded
  otherwise, so that none does and the gradient is lost, or not a number.
  """
  chosen = jnp.arange(x.shape[1])[:, None] == x.argmax(1)[:, None]
  return jnp.where(chosen, x, 0).sum(1)


def by_length(run: Run, params: dict, ids: jax.Array, key: jax.Array | None) -> jax.Array:
  """Returns run(params, ids, key) (n, D) for ids (n, L), which are 0 after a sequence's end.

  `run` has to take each sequence alone, and must not read padding. Each part gets a key of its own,
  and so does each device that has a share of the sequences.
  """
  axes = batch_axes()
  if not axes:
    return _all(run, params, ids, key)

  def here(params: dict, ids: jax.Array, key: jax.Array | None) -> jax.Array:
    device_key = None if key is None else jax.random.fold_in(key, lax.axis_index(axes))
    return _all(run, params, ids, device_key)

  specs = (jax.P(), jax.P(axes), jax.P())
  mapped = jax.shard_map(here, in_specs=specs, out_specs=jax.P(axes), check_vma=False)
  return mapped(params, ids, key)


def _all(run: Run, params: dict, ids: jax.Array, key: jax.Array | None) -> jax.Array:
  number = len(ids)
  ids = jnp.pad(ids, ((0, -number % PART), (0, 0)))
  lengths = jnp.where(ids != 0, jnp.arange(1, ids.shape[1] + 1), 0).max(1)
  order = jnp.argsort(-lengths)
  ordered = _in_order(run, params, ids[order], lengths[order], key)
  vectors = jnp.zeros_like(ordered).at[order].set(ordered, unique_indices=True)
  none = run(params, jnp.zeros((1, 1), ids.dtype), None)
  return jnp.where(lengths[:, None] > 0, vectors, none)[:number]


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _in_order(
  run: Run, params: dict, ids: jax.Array, lengths: jax.Array, key: jax.Array | None
) -> jax.Array:
  """Returns the vectors of sequences from the longest to the shortest; 0 for those of padding.

  Its gradients run each part again: JAX derives none from a loop whose end is known at run time
  only.
  """
  out = jax.eval_shape(run, params, ids, None)

  def step(i: jax.Array, vectors: jax.Array) -> jax.Array:
    part = _chosen(lambda part, key: run(params, part, key), i, ids, lengths, key)
    return lax.dynamic_update_slice_in_dim(vectors, part, i * PART, 0)

  return lax.fori_loop(0, _parts(lengths), step, jnp.zeros(out.shape, out.dtype))


def _backward(run: Run, inputs: tuple, cotangents: jax.Array) -> tuple[dict, None, None, None]:
  params, ids, lengths, key = inputs

  def step(i: jax.Array, sums: dict) -> dict:
    def gradients(part: jax.Array, key: jax.Array | None) -> dict:
      _, pull = jax.vjp(lambda params: run(params, part, key), params)
      return pull(lax.dynamic_slice_in_dim(cotangents, i * PART, PART))[0]

    return jax.tree.map(jnp.add, sums, _chosen(gradients, i, ids, lengths, key))

  zeros = jax.tree.map(jnp.zeros_like, params)
  return lax.fori_loop(0, _parts(lengths), step, zeros), None, None, None


_in_order.defvjp(lambda run, *inputs: (_in_order(run, *inputs), inputs), _backward)


def _parts(lengths: jax.Array) -> jax.Array:
  """Returns the number of parts that are not padding alone."""
  return -(-(lengths > 0).sum() // PART)


def _chosen(
  run: Callable[[jax.Array, jax.Array | None], T],
  i: jax.Array,
  ids: jax.Array,
  lengths: jax.Array,
  key: jax.Array | None,
) -> T:
  """Returns run(part, key) for the part of number i, cut to the least length that holds it."""
  part = lax.dynamic_slice_in_dim(ids, i * PART, PART)
  branch_key = None if key is None else jax.random.fold_in(key, i)
  rooms = (*(x for x in SHORT if x < ids.shape[1]), ids.shape[1])
  needed = (lengths[i * PART] > jnp.array(rooms)).sum()
  return lax.switch(needed, [lambda room=room: run(part[:, :room], branch_key) for room in rooms])
