"""Losses with the reference's reductions, in float32."""

import jax
import jax.numpy as jnp
import optax

IGNORED = -100  # a label that asks for no prediction


def mean_where(values: jax.Array, kept: jax.Array) -> jax.Array:
  """Mean of the values that are kept; 0 where none is."""
  return jnp.where(kept, values, 0).sum() / jnp.maximum(kept.sum(), 1)


def cross_entropy(logits: jax.Array, labels: jax.Array, ignored: int = IGNORED) -> jax.Array:
  """Mean cross-entropy of logits (..., C) over the labels (...) that are not ignored."""
  kept = labels != ignored
  losses = optax.softmax_cross_entropy_with_integer_labels(
    logits.astype(jnp.float32), jnp.where(kept, labels, 0)
  )
  return mean_where(losses, kept)


def binary_cross_entropy(
  logits: jax.Array, labels: jax.Array, kept: jax.Array | None = None
) -> jax.Array:
  """Mean binary cross-entropy over all logits, or over those that are kept."""
  losses = optax.sigmoid_binary_cross_entropy(
    logits.astype(jnp.float32), labels.astype(jnp.float32)
  )
  return losses.mean() if kept is None else mean_where(losses, kept)


def label_loss(logits: jax.Array, labels: jax.Array) -> jax.Array:
  """Cross-entropy for class numbers; binary cross-entropy for a 0 or 1 for every class."""
  if labels.ndim == logits.ndim:
    return binary_cross_entropy(logits, labels)
  return cross_entropy(logits, labels)


def span_loss(logits: jax.Array, start_positions: jax.Array, end_positions: jax.Array) -> jax.Array:
  """Mean of the cross-entropies of start and end over logits (B, W, 2).

  A position outside the text asks for nothing.
  """
  num_words = logits.shape[1]
  starts, ends = (jnp.clip(p, 0, num_words) for p in (start_positions, end_positions))
  losses = [
    cross_entropy(logits[..., i], p, ignored=num_words) for i, p in enumerate((starts, ends))
  ]
  return (losses[0] + losses[1]) / 2
