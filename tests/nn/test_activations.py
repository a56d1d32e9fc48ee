"""Activations under transformers' names against its values and slopes (goldens)."""

from pathlib import Path
from typing import get_args

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from luke_jax.nn.activations import Activation, activate

with np.load(Path(__file__).parents[1] / "goldens" / "activations.npz") as file:
  RECORD = dict(file)
NAMES = sorted({name.partition(":")[0] for name in RECORD} - {"points"})


def value_and_slope(name, x):
  y, pull = jax.vjp(lambda x: activate(x, name), x)
  return y, pull(jnp.ones_like(y))[0]


def test_all_that_transformers_names_are_here():
  assert sorted(get_args(Activation)) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_values_and_slopes_are_those_of_transformers(name):
  points = RECORD["points"]
  expected = RECORD[f"{name}:value"], RECORD[f"{name}:slope"]
  # At a corner either slope is right; of the root torch has none where it underflows.
  kept = np.abs(points) <= 12 if name == "sqrtsoftplus" else np.full(points.shape, True)
  smooth = kept & ~np.isin(points, (-3, 0, 3, 6, 10))
  y, slope = value_and_slope(name, jnp.asarray(points))
  np.testing.assert_allclose(y[kept], expected[0][kept], rtol=2e-6, atol=2e-6)
  np.testing.assert_allclose(slope[smooth], expected[1][smooth], rtol=1e-5, atol=2e-5)
  assert np.isfinite(slope).all()
  narrow = value_and_slope(name, jnp.asarray(points, jnp.bfloat16))
  exact = points == np.asarray(jnp.asarray(points, jnp.bfloat16), np.float32)
  for found, value in zip(narrow, expected, strict=True):
    assert found.dtype == jnp.bfloat16
    found = np.asarray(found, np.float32)
    np.testing.assert_allclose(found[exact & smooth], value[exact & smooth], rtol=0.01, atol=1e-3)
