"""Reductions, against sums written out."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from luke_jax.errors import InputError
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
  mean = losses.binary_cross_entropy(logits, labels)
  np.testing.assert_allclose(mean, (2 * np.log(2) + 100) / 3, rtol=1e-6)
  weights = jnp.array([[0.5, 0.0], [0.5, 0.0]])
  found = losses.binary_cross_entropy(logits, labels, weights)
  np.testing.assert_allclose(found, np.log(2), rtol=1e-6)


def test_a_span_outside_the_text_asks_for_nothing():
  logits = jnp.arange(16.0).reshape(2, 4, 2) ** 2
  found = losses.span_loss(logits, jnp.array([[1, 2], [9, 4]]))
  np.testing.assert_allclose(found, losses.span_loss(logits[:1], jnp.array([[1, 2]])), rtol=1e-6)


MASKS = st.integers(1, 4).flatmap(lambda rows: arrays.arrays(bool, (2 * rows, 3)))


@given(MASKS)
def test_weights_make_a_sum_the_mean(mask):
  values = np.linspace(1, 2, mask.size).reshape(mask.shape)
  weights = losses.target_weights(jnp.array(mask))
  expected = values[mask].mean() if mask.any() else 0
  np.testing.assert_allclose((values * weights).sum(), expected, rtol=1e-5)


@given(MASKS)
def test_weights_make_a_sum_the_mean_of_means(mask):
  values = np.linspace(1, 2, mask.size).reshape(mask.shape)
  weights = losses.target_weights(jnp.array(mask), 2)
  pairs = zip(values.reshape(-1, 6), mask.reshape(-1, 6), strict=True)
  expected = np.mean([v[m].mean() if m.any() else 0 for v, m in pairs])
  np.testing.assert_allclose((values * weights).sum(), expected, rtol=1e-5)


def test_rows_that_do_not_divide_are_refused():
  with pytest.raises(InputError, match=r"data.batch_size: 3; expected a multiple of 2"):
    losses.target_weights(jnp.ones(3, bool), 2)
