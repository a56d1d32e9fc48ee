"""Prediction of the entities that words are aligned to (Zhang et al. 2019, §3.4)."""

from typing import NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax

from luke_jax.nn.activations import activate
from luke_jax.nn.layers import Dense, LayerNorm, Numerics
from luke_jax.nn.losses import IGNORED

_NOT_ONE = -1e9  # the logit of what is no candidate


class Candidates(NamedTuple):
  """Entities that a word may be aligned to: ids (B, C), -1 for none, and vectors (B, C, K)."""

  ids: jax.Array
  vectors: jax.Array


class EntityScores(NamedTuple):
  """Losses and hits (B, P) of the predicted entities; 0 where a label is -100."""

  losses: jax.Array
  hits: jax.Array


class AlignedEntities(nn.Module):
  """Transform of a word's state to the vector of its entity."""

  numerics: Numerics
  width: int  # K

  @nn.compact
  def __call__(self, states: jax.Array) -> jax.Array:
    """Maps (..., D) to (..., K)."""
    n = self.numerics
    x = activate(Dense(n, (self.width,), name="transform")(states), n.activation)
    return LayerNorm(n, name="norm")(x)


def entity_scores(
  predicted: jax.Array, labels: jax.Array, candidates: Candidates, *, whole_batch: bool = False
) -> EntityScores:
  """Returns how well labels (B, P), numbers of candidates, are predicted by vectors (B, P, K).

  An entity that comes more than once is one candidate. Those of a sequence are its own or, with
  `whole_batch`, those of all sequences, and the zero vector of no entity.
  """
  if whole_batch:
    rows, count = candidates.ids.shape
    offset = 1 + count * jnp.arange(rows)[:, None]
    labels = jnp.where(labels == IGNORED, labels, labels + offset).reshape(1, -1)
    ids = jnp.concatenate([jnp.full((1,), -2), candidates.ids.reshape(-1)])
    vectors = candidates.vectors.reshape(rows * count, -1)
    vectors = jnp.concatenate([jnp.zeros_like(vectors[:1]), vectors])
    everywhere = Candidates(ids[None], vectors[None])
    flat = entity_scores(predicted.reshape(1, -1, predicted.shape[-1]), labels, everywhere)
    return EntityScores(*(x.reshape(predicted.shape[:2]) for x in flat))
  first = first_places(candidates.ids)
  alone = (candidates.ids != -1) & (first == jnp.arange(first.shape[1]))
  logits = entity_logits(predicted, candidates.vectors)
  logits = jnp.where(alone[:, None], logits, _NOT_ONE)
  mask = labels != IGNORED
  labels = jnp.take_along_axis(first, jnp.where(mask, labels, 0), axis=1)
  losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
  hits = logits.argmax(-1) == labels
  return EntityScores(
    jnp.where(mask, losses, 0.0), jnp.where(mask, hits, False).astype(jnp.float32)
  )


def entity_logits(predicted: jax.Array, vectors: jax.Array) -> jax.Array:
  """Returns float32 products (B, P, C) of vectors (B, P, K) and those of candidates (B, C, K)."""
  return jnp.einsum("bpk,bck->bpc", predicted.astype(jnp.float32), vectors.astype(jnp.float32))


def first_places(ids: jax.Array) -> jax.Array:
  """Returns, for each of the ids (B, C), the place in its row where that id comes first."""
  order = jnp.argsort(ids, axis=1, stable=True)
  inorder = jnp.take_along_axis(ids, order, axis=1)
  starts = jnp.pad(inorder[:, 1:] != inorder[:, :-1], ((0, 0), (1, 0)), constant_values=True)
  places = jnp.arange(ids.shape[1])[None]
  group = jax.lax.cummax(jnp.where(starts, places, 0), axis=1)
  first = jnp.take_along_axis(order, group, axis=1)
  return jnp.put_along_axis(jnp.zeros_like(order), order, first, axis=1, inplace=False)
