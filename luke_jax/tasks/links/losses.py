"""Losses of distances: self-adversarial, margin and softmax, and their sums over chunks.

Letters: B chunks of a batch, C triples and N negatives of a chunk, K the width of a vector.
"""

import dataclasses
import functools
from typing import Any, Literal

import jax
import jax.numpy as jnp

from luke_jax.graph.distances import distances
from luke_jax.nn.layers import batch_axes

LossName = Literal["self_adversarial", "margin", "softmax"]
FAR = -1e9  # the score of a negative that is a known triple


@dataclasses.dataclass(frozen=True)
class Loss:
  """A loss by its name, with the norm of its distances."""

  name: LossName
  margin: float
  temperature: float
  norm: int


def each_loss(loss: Loss, positive: jax.Array, negative: jax.Array, known: jax.Array) -> jax.Array:
  """Returns the loss of each triple (C,), from its distance and those of its negatives (C, N).

  Negatives that are known triples are left out.
  """
  if loss.name == "self_adversarial":  # Sun et al. 2019, equations 5 and 6
    scores = loss.margin - negative
    weights = jax.nn.softmax(jnp.where(known, FAR, loss.temperature * scores), axis=-1)
    weights = jax.lax.stop_gradient(jnp.where(known, 0, weights))
    far = -(weights * jax.nn.log_sigmoid(-scores)).sum(-1)
    return (far - jax.nn.log_sigmoid(loss.margin - positive)) / 2
  if loss.name == "margin":  # Bordes et al. 2013, equation 1
    terms = jnp.where(known, 0, jax.nn.relu(loss.margin + positive[:, None] - negative))
    return terms.sum(-1) / jnp.maximum((~known).sum(-1), 1)
  scores = jnp.concatenate([-positive[:, None], jnp.where(known, FAR, -negative)], axis=-1)
  return jax.nn.logsumexp(scores, axis=-1) + positive


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def total(loss: Loss, vectors: Any, weights: jax.Array, known: jax.Array) -> jax.Array:
  """Returns the weighted sum of the losses of all chunks.

  `vectors` are the distances of true triples (B, C), the queries (B, C, K) and their negatives
  (B, N, K); weights are (B, C), known ones (B, C, N).
  """
  return _forward(loss, vectors, weights, known)[0]


def _forward(loss: Loss, vectors: Any, weights: jax.Array, known: jax.Array) -> tuple:
  """Returns the sum, and its derivative by the vectors.

  One chunk after another, each forward and backward while it is in a CPU's cache.
  """

  def chunk(vectors: Any, weights: jax.Array, known: jax.Array) -> jax.Array:
    positive, queries, negatives = vectors
    negative = distances(queries, negatives, loss.norm)
    return (weights * each_loss(loss, positive, negative, known)).sum()

  def here(*arrays: Any) -> tuple:
    return jax.lax.map(lambda parts: jax.value_and_grad(chunk)(*parts), arrays)

  if axes := batch_axes():
    here = jax.shard_map(here, in_specs=jax.P(axes), out_specs=jax.P(axes), check_vma=False)
  losses, gradients = here(vectors, weights, known)
  return losses.sum(), gradients


def _backward(_: Loss, gradients: Any, cotangent: jax.Array) -> tuple:
  return jax.tree.map(lambda x: cotangent * x, gradients), None, None


total.defvjp(_forward, _backward)
