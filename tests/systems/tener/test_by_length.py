"""Sequences run by length give what all of them give at once, gradients too."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from luke_jax.nn.layers import Dropout, Numerics
from luke_jax.systems.tener.layers import PART, CharacterEncoder, RelativeSizes, by_length
from luke_jax.training.mesh import MeshShape, make_mesh

LONGEST, WIDTH, KINDS = 30, 6, 11
NUMERICS = Numerics(None, 1e-5, 0.2, "relu")
ENCODER = CharacterEncoder(NUMERICS, KINDS, WIDTH, RelativeSizes(1, 0.2), dropout=0.0)


def run(params, ids, key):
  return ENCODER.apply({"params": params}, ids, rngs=None if key is None else {"dropout": key})


@pytest.fixture(scope="module")
def params():
  return ENCODER.init(jax.random.key(0), jnp.ones((1, 2), int))["params"]


def sequences(lengths, seed=0):
  ids = np.random.default_rng(seed).integers(1, KINDS, (len(lengths), LONGEST))
  return np.where(np.arange(LONGEST) < np.array(lengths)[:, None], ids, 0)


@functools.partial(jax.jit, static_argnums=0)
def gradients(form, params, ids, key):
  """The vectors, and the gradients of a sum of them with different weights."""

  def loss(params):
    vectors = form(params, ids, key)
    return (vectors * jnp.arange(1, 1 + vectors.size).reshape(vectors.shape) / 50).sum(), vectors

  sums, vectors = jax.grad(loss, has_aux=True)(params)
  return vectors, sums


def close(found, expected):
  for a, b in zip(*map(jax.tree.leaves, (found, expected)), strict=True):
    np.testing.assert_allclose(a, b, atol=2e-5 * max(1, np.abs(b).max()))


parts = functools.partial(by_length, run)
ANY = np.random.default_rng(1)


@pytest.mark.parametrize(
  "lengths",
  [
    pytest.param([3], marks=pytest.mark.slow),
    pytest.param([0], marks=pytest.mark.slow),
    [0, 5, 0, 30, 1, 8, 9, 16, 17] * 8,  # two parts
    pytest.param([0] * PART + [30], marks=pytest.mark.slow),
    pytest.param([30] * PART, marks=pytest.mark.slow),
    pytest.param([30] * (PART + 1), marks=pytest.mark.slow),
    pytest.param(
      np.random.default_rng(1).integers(0, LONGEST + 1, 3 * PART + 7).tolist(),
      marks=pytest.mark.slow,
    ),
    pytest.param(np.random.default_rng(2).integers(0, 9, 200).tolist(), marks=pytest.mark.slow),
  ],
  ids=len,
)
def test_the_same_as_all_at_once(lengths, params):
  ids = sequences(lengths)
  close(gradients(parts, params, ids, None), gradients(run, params, ids, None))


@pytest.mark.slow
@pytest.mark.parametrize("axes", [{"data": 4}, {"replica": 2, "data": 2}])
def test_on_several_devices(axes, params):
  ids = sequences(np.random.default_rng(3).integers(0, LONGEST + 1, 300))
  expected = gradients(run, params, ids, None)
  with jax.set_mesh(make_mesh(MeshShape(**axes), jax.devices()[:4])):
    close(gradients(parts, params, ids, None), expected)


@pytest.mark.slow
def test_gradients_are_of_the_values_that_dropout_left(params):
  """In one part the key is that of its number."""
  ids = sequences(sorted(np.random.default_rng(4).integers(9, LONGEST + 1, PART), reverse=True))
  ids[0, :] = 1
  key = jax.random.key(5)
  found = gradients(parts, params, ids, key)
  close(found, gradients(run, params, ids, jax.random.fold_in(key, 0)))
  assert np.abs(found[0] - gradients(parts, params, ids, jax.random.key(6))[0]).max() > 0.01


def test_parts_drop_different_values():
  drop = Dropout(0.5)

  def dropped(params, ids, key):
    ones = params * jnp.ones((len(ids), WIDTH))
    return drop.apply({}, ones, rngs=None if key is None else {"dropout": key})

  ids = sequences([30] * 2 * PART)
  in_parts = jax.jit(functools.partial(by_length, dropped))
  vectors = in_parts(jnp.ones(()), ids, jax.random.key(0)).reshape(2, PART, WIDTH)
  assert 0.4 < (vectors[0] == 0).mean() < 0.6
  assert 0.4 < ((vectors[0] == 0) != (vectors[1] == 0)).mean() < 0.6
