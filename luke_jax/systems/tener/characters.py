"""A word's vector from its characters (Yan et al. 2019, §3.1).

An array has room for the longest word and for the most of them, and most of that is padding.
`by_length` puts words in order of length and takes them in parts, each of which runs in the least
of a few lengths; parts of padding alone do not run.
"""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax import lax

from luke_jax.nn.layers import Dense, Dropout, Numerics, batch_axes, embedding
from luke_jax.systems.tener.layers import Attending, RelativeSizes, TenerLayer, absolute_positions

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


def _forward(run: Run, *inputs: Any) -> tuple[jax.Array, tuple]:
  return _in_order(run, *inputs), inputs


def _backward(run: Run, inputs: tuple, cotangents: jax.Array) -> tuple[dict, None, None, None]:
  params, ids, lengths, key = inputs

  def step(i: jax.Array, sums: dict) -> dict:
    def gradients(part: jax.Array, key: jax.Array | None) -> dict:
      _, pull = jax.vjp(lambda params: run(params, part, key), params)
      return pull(lax.dynamic_slice_in_dim(cotangents, i * PART, PART))[0]

    return jax.tree.map(jnp.add, sums, _chosen(gradients, i, ids, lengths, key))

  zeros = jax.tree.map(jnp.zeros_like, params)
  return lax.fori_loop(0, _parts(lengths), step, zeros), None, None, None


_in_order.defvjp(_forward, _backward)


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
