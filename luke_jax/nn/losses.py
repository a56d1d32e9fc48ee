"""Losses with the reference's reductions, in float32.

Each is the mean over the targets, or with weights of the targets their weighted sum. Weights depend
on labels alone: those of a whole batch make the losses of its micro-batches add up to its own.
"""

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, Shaped

from luke_jax.errors import InputError

IGNORED = -100  # a label that without a prediction


Loss = Float[Array, ""]
Weights = Float[Array, "*targets"]


def mean_where(
  values: Shaped[Array, "*targets"], mask: Bool[Array, "*targets"], weights: Weights | None = None
) -> Loss:
  """Returns the mean of the values where `mask` is true, or their weighted sum; 0 of none."""
  values = jnp.where(mask, values, 0)
  if weights is not None:
    return (values * weights).sum()
  return values.sum() / jnp.maximum(mask.sum(), 1)


def target_weights(mask: Bool[Array, "*targets"], rows: int | None = None) -> Weights:
  """Returns weights, of the shape of the targets, that make a weighted sum a mean.

  It is the mean over all targets or, with `rows`, the mean of the means over so many rows at a
  time. Targets are where `mask` is true; the mean over rows without a target is 0.
  """
  if rows and len(mask) % rows:
    raise InputError(f"data.batch_size: {len(mask)}; expected a multiple of {rows}, for its means")
  groups = mask.reshape(len(mask) // (rows or len(mask)), -1).astype(jnp.float32)
  counts = groups.sum(-1, keepdims=True)
  return (groups / (jnp.maximum(counts, 1) * len(groups))).reshape(mask.shape)


def cross_entropy(
  logits: Float[Array, "*targets C"],
  labels: Int[Array, "*targets"],
  weights: Weights | None = None,
  *,
  ignored: int = IGNORED,
) -> Loss:
  """Returns the mean cross-entropy of logits over labels that are not ignored."""
  mask = labels != ignored
  losses = optax.softmax_cross_entropy_with_integer_labels(
    logits.astype(jnp.float32), jnp.where(mask, labels, 0)
  )
  return mean_where(losses, mask, weights)


def binary_cross_entropy(
  logits: Float[Array, "*targets"],
  labels: Shaped[Array, "*targets"],
  weights: Weights | None = None,
) -> Loss:
  """Returns the mean binary cross-entropy of logits over labels that are not ignored."""
  mask = labels != IGNORED
  losses = optax.sigmoid_binary_cross_entropy(
    logits.astype(jnp.float32), jnp.where(mask, labels, 0).astype(jnp.float32)
  )
  return mean_where(losses, mask, weights)


def label_loss(
  logits: Float[Array, "..."], labels: Shaped[Array, "..."], weights: jax.Array | None = None
) -> Loss:
  """Returns cross-entropy for class numbers, binary cross-entropy for 0 or 1 for every class."""
  loss = binary_cross_entropy if labels.ndim == logits.ndim else cross_entropy
  return loss(logits, labels, weights)


def span_loss(
  logits: Float[Array, "B W 2"],
  positions: Int[Array, "B 2"],
  weights: Float[Array, "B 2"] | None = None,
) -> Loss:
  """Returns the mean of the cross-entropies of start and end; a place outside is ignored."""
  num_words = logits.shape[1]
  positions = jnp.clip(positions, 0, num_words)
  losses = [
    cross_entropy(
      logits[..., i], positions[:, i], None if weights is None else weights[:, i], ignored=num_words
    )
    for i in range(2)
  ]
  return (losses[0] + losses[1]) / 2
