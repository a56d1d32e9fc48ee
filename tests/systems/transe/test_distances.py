"""Distances: golden numbers, and derivatives that equal those of the definition."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from luke_jax.systems.transe.ranking import distances, pair_distances, ranked_distances


def definition(queries, candidates, norm):
  return pair_distances(queries[:, None] - candidates[None], norm)


@pytest.fixture(scope="module")
def arrays():
  rng = np.random.default_rng(0)
  return [jnp.asarray(rng.normal(size=shape), jnp.float32) for shape in ((5, 19), (7, 19), (5, 7))]


@pytest.mark.parametrize("norm", [1, 2])
def test_distances_and_derivatives_are_those_of_the_definition(arrays, norm):
  queries, candidates, weights = arrays

  def of(function):
    value, back = jax.vjp(lambda q, e: function(q, e, norm), queries, candidates)
    return value, *back(weights)

  for found, expected in zip(jax.jit(of, static_argnums=0)(distances), of(definition), strict=True):
    np.testing.assert_allclose(found, expected, atol=2e-5)


def test_the_golden_triple():
  """h = (.6, .8), r = (-.5, .1), with the true tail (0, 1) and the false one (.3, -.4)."""
  query = jnp.array([[0.1, 0.9]])
  tails = jnp.array([[0.0, 1.0], [0.3, -0.4]])
  np.testing.assert_allclose(distances(query, tails, 1), [[0.2, 1.5]], atol=1e-6)
  np.testing.assert_allclose(distances(query, tails, 2), [[0.141421, 1.315295]], atol=1e-6)


@pytest.mark.parametrize("norm", [1, 2])
def test_equal_vectors_are_equally_far_wherever_they_are(arrays, norm):
  queries, candidates, _ = arrays
  repeated = jnp.concatenate([candidates, candidates[:3], candidates, candidates[2:3]])
  numbers = np.asarray(jax.jit(ranked_distances, static_argnums=2)(queries, repeated, norm))
  np.testing.assert_array_equal(numbers[:, :7], numbers[:, 10:17])
  np.testing.assert_array_equal(numbers[:, 2], numbers[:, 17])
