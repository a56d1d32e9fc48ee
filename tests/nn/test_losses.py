"""Reductions, against sums written out."""

import jax.numpy as jnp
import numpy as np

from luke_jax.nn import losses


def test_cross_entropy_is_the_mean_over_what_is_labelled():
  logits = jnp.array([[[1.0, 2.0], [0.0, 5.0]], [[3.0, 3.0], [1.0, 1.0]]])
  labels = jnp.array([[0, -100], [1, -100]])
  expected = np.mean([np.log(1 + np.e), np.log(2)])
  np.testing.assert_allclose(losses.cross_entropy(logits, labels), expected, rtol=1e-6)


def test_nothing_labelled_is_no_loss():
  assert losses.cross_entropy(jnp.ones((2, 3)), jnp.full(2, -100)) == 0


def test_binary_cross_entropy_of_some():
  logits, labels = jnp.array([[0.0, 100.0], [0.0, 0.0]]), jnp.array([[1, 0], [0, -100]])
  kept = jnp.array([[True, False], [True, False]])
  found = losses.binary_cross_entropy(logits, labels, kept)
  np.testing.assert_allclose(found, np.log(2), rtol=1e-6)


def test_a_span_outside_the_text_asks_for_nothing():
  logits = jnp.zeros((2, 4, 2))
  found = losses.span_loss(logits, jnp.array([1, 9]), jnp.array([2, 4]))
  np.testing.assert_allclose(found, np.log(4), rtol=1e-6)
