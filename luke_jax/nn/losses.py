"""Losses with the reference's reductions, in float32."""

import jax
import jax.numpy as jnp
import optax

IGNORED = -100  # a label that without a prediction


def mean_where(values: jax.Array, mask: jax.Array) -> jax.Array:
  """Returns the mean of the values where `mask` is true; 0 where it never is."""
  return jnp.where(mask, values, 0).sum() / jnp.maximum(mask.sum(), 1)


def cross_entropy(logits: jax.Array, labels: jax.Array, ignored: int = IGNORED) -> jax.Array:
  """Returns the mean cross-entropy of logits (..., C) over labels (...) that are not ignored."""
  mask = labels != ignored
  losses = optax.softmax_cross_entropy_with_integer_labels(
    logits.astype(jnp.float32), jnp.where(mask, labels, 0)
  )
  return mean_where(losses, mask)


def binary_cross_entropy(
  logits: jax.Array, labels: jax.Array, mask: jax.Array | None = None
) -> jax.Array:
  """Returns the mean binary cross-entropy over all logits, or where `mask` is true."""
  losses = optax.sigmoid_binary_cross_entropy(
    logits.astype(jnp.float32), labels.astype(jnp.float32)
  )
  return losses.mean() if mask is None else mean_where(losses, mask)


def label_loss(logits: jax.Array, labels: jax.Array) -> jax.Array:
  """Returns cross-entropy for class numbers, binary cross-entropy for 0 or 1 for every class."""
  if labels.ndim == logits.ndim:
    return binary_cross_entropy(logits, labels)
  return cross_entropy(logits, labels)


def span_loss(logits: jax.Array, start_positions: jax.Array, end_positions: jax.Array) -> jax.Array:
  """Returns the mean of the cross-entropies of start and end over logits (B, W, 2).

  A position outside the text is ignored.
  """
  num_words = logits.shape[1]
  starts, ends = (jnp.clip(p, 0, num_words) for p in (start_positions, end_positions))
  losses = [
    cross_entropy(logits[..., i], p, ignored=num_words) for i, p in enumerate((starts, ends))
  ]
  return (losses[0] + losses[1]) / 2
