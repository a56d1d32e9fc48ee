"""Spread tables against the dense loss and the plain look-up, on one, two and eight devices."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from luke_jax.nn import vocabulary
from luke_jax.nn.losses import cross_entropy, mean_where

MESHES = [(1, 1), (1, 2), (1, 8), (2, 4)]


def mesh_of(shape):
  devices = np.reshape(jax.devices()[: shape[0] * shape[1]], shape)
  return jax.sharding.Mesh(
    devices, ("replica", "data"), axis_types=(jax.sharding.AxisType.Auto,) * 2
  )


def random(*shape, seed=0):
  return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("shape", MESHES, ids=str)
@pytest.mark.parametrize("axis", ["data", None])
@pytest.mark.parametrize(
  ("size", "rows"), [(37, 16), pytest.param(1000, 304, marks=pytest.mark.slow)]
)
def test_losses_and_gradients_are_those_of_the_dense_form(shape, axis, size, rows, monkeypatch):
  monkeypatch.setattr(vocabulary, "LOGITS_AT_ONCE", 1)  # several chunks, the last one short
  padded = -(-size // 8) * 8
  table, bias, states = random(size, 24), random(size, seed=1), random(rows, 24, seed=2)
  labels = np.random.default_rng(3).integers(0, size, rows)
  labels[::5] = -100
  labels[0], labels[1] = size - 1, 0
  labels[2:8] = (states @ table.T + bias).argmax(-1)[2:8]

  def dense(states, table, bias):
    return cross_entropy(states @ table.T + bias, labels)

  def ours(states, table, bias):
    losses, hits = vocabulary.token_scores(states, table, bias, labels, size=size, axis=axis)
    return mean_where(losses, labels != -100), hits

  grow = [(0, padded - size), (0, 0)]
  mesh = mesh_of(shape)
  spread = jax.NamedSharding(mesh, jax.P(axis))
  batch = jax.NamedSharding(mesh, jax.P(("replica", "data")))
  placed = jax.device_put(
    (states, np.pad(table, grow), np.pad(bias, grow[:1])), (batch, spread, spread)
  )
  expected, gradients = jax.value_and_grad(dense, (0, 1, 2))(states, table, bias)
  with jax.set_mesh(mesh):
    run = jax.jit(jax.value_and_grad(ours, (0, 1, 2), has_aux=True))
    (value, hits), ours_gradients = run(*placed)
  np.testing.assert_allclose(value, expected, rtol=1e-5)
  np.testing.assert_array_equal(hits, (states @ table.T + bias).argmax(-1) == labels)
  d_states, d_table, d_bias = map(np.asarray, ours_gradients)
  np.testing.assert_allclose(d_states, gradients[0], atol=1e-6)
  np.testing.assert_allclose(d_table[:size], gradients[1], atol=1e-6)
  np.testing.assert_allclose(d_bias[:size], gradients[2], atol=1e-6)
  assert not d_table[size:].any() and not d_bias[size:].any()


@pytest.mark.parametrize("shape", MESHES, ids=str)
@pytest.mark.parametrize("axis", ["data", None])
def test_rows_and_their_gradient_are_those_of_take(shape, axis):
  table, ids = random(40, 8), np.random.default_rng(1).integers(0, 40, (16, 5))
  weights = random(16, 5, 8, seed=2)
  mesh = mesh_of(shape)
  placed = (
    jax.device_put(table, jax.NamedSharding(mesh, jax.P(axis))),
    jax.device_put(ids, jax.NamedSharding(mesh, jax.P(("replica", "data")))),
  )
  with jax.set_mesh(mesh):
    rows = jax.jit(lambda t, i: vocabulary.rows_of(t, i, "float32", axis))(*placed)
    gradient = jax.jit(
      jax.grad(lambda t, i: (vocabulary.rows_of(t, i, "float32", axis) * weights).sum())
    )(*placed)
  np.testing.assert_array_equal(rows, table[ids])
  expected = jax.grad(lambda t: (t[ids] * weights).sum())(table)
  np.testing.assert_allclose(gradient, expected, atol=1e-5)


def test_a_row_that_many_tokens_share_gets_its_gradient_in_float32():
  """In bfloat16 a sum of ones stops at 256."""
  ids = np.zeros((4, 1000), np.int32)
  gradient = jax.grad(lambda t: vocabulary.rows_of(t, ids, "bfloat16").astype(jnp.float32).sum())(
    jnp.zeros((3, 2))
  )
  np.testing.assert_array_equal(gradient, [[4000, 4000], [0, 0], [0, 0]])


def test_no_spread_table_travels():
  """What moves between devices is small beside the table."""
  mesh = mesh_of((1, 8))
  spread = jax.NamedSharding(mesh, jax.P("data"))
  table = jax.ShapeDtypeStruct((80_000, 16), jnp.float32, sharding=spread)
  bias = jax.ShapeDtypeStruct((80_000,), jnp.float32, sharding=spread)
  states = jax.ShapeDtypeStruct((64, 16), jnp.float32, sharding=spread)
  ids = jax.ShapeDtypeStruct((64,), jnp.int32, sharding=spread)

  def loss(table, bias, states, ids):
    states = states + vocabulary.rows_of(table, ids, "float32", "data")
    return vocabulary.token_scores(states, table, bias, ids, axis="data").losses.sum()

  with jax.set_mesh(mesh):
    gradient = jax.jit(jax.grad(loss, (0, 1, 2)), out_shardings=(spread, spread, spread))
    text = gradient.lower(table, bias, states, ids).compile().as_text()
  assert "[80000" not in text  # of any shape in the program, none is the whole table's
