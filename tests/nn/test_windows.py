"""Attention in windows and in chunks: the definition with a mask, in outputs and gradients."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from luke_jax.nn import windows
from luke_jax.nn.attention import probabilities
from luke_jax.nn.queries import turned, turns
from luke_jax.nn.windows import chunked_attention, windowed_attention


def drawn(tokens, seed=0):
  rng = np.random.default_rng(seed)
  query, key, value = (rng.normal(size=(2, tokens, 2, 4)).astype(np.float32) for _ in range(3))
  mask = np.arange(tokens)[None] < np.array([[tokens], [max(1, tokens - 3)]])
  return query, key, value, mask


def defined(query, key, value, mask, reach=None):
  """What `jax.numpy` computes from all scores."""
  places = np.arange(query.shape[1])
  near = np.abs(places[:, None] - places) <= (len(places) if reach is None else reach)
  scores = jnp.einsum("bqnh,bknh->bnqk", query, key)
  probs = probabilities(scores, mask[:, None] & near, query.shape[-1])
  return jnp.einsum("bnqk,bknh->bqnh", probs, value)


def assert_equal(attend, other, query, key, value, mask, real):
  def outputs_and_gradients(form, *arrays):
    def loss(*arrays):
      context = form(*arrays, mask) * real
      return jnp.sum(jnp.sin(context)), context

    return jax.grad(loss, argnums=(0, 1, 2), has_aux=True)(*arrays)

  run = jax.jit(outputs_and_gradients, static_argnums=0)
  found, expected = (run(form, query, key, value) for form in (attend, other))
  jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, atol=1e-5), found, expected)


@settings(max_examples=4)
@given(st.integers(1, 30), st.integers(1, 7))
def test_windows_equal_the_definition(tokens, reach):
  query, key, value, mask = drawn(tokens)
  assert_equal(
    lambda *arrays: windowed_attention(*arrays, reach),
    lambda *arrays: defined(*arrays, reach),
    *(query, key, value, mask, mask[..., None, None]),
  )


@pytest.mark.parametrize("tokens", [1, 7, 8, 21])
def test_chunks_equal_the_definition(tokens, monkeypatch):
  monkeypatch.setattr(windows, "CHUNK", 8)
  query, key, value, mask = drawn(tokens)
  assert_equal(chunked_attention, defined, query, key, value, mask, mask[..., None, None])


def test_scores_of_turned_vectors_know_their_distance_alone():
  rng = np.random.default_rng(0)
  query, key = (jnp.broadcast_to(rng.normal(size=(1, 1, 1, 8)), (1, 9, 1, 8)) for _ in range(2))
  turn = turns(jnp.arange(9), 8, 100.0)
  scores = jnp.einsum("bqnh,bknh->bnqk", turned(query, *turn), turned(key, *turn))[0, 0]
  for apart in range(-8, 9):
    np.testing.assert_allclose(np.diagonal(scores, apart), scores.diagonal(apart)[0], atol=1e-5)
  half = turns(jnp.array([1.5]), 8, 100.0)  # between two whole ones
  between = turned(query[:, :1], *half)
  np.testing.assert_allclose(jnp.vdot(between, turned(key[:, :1], *half)), scores[0, 0], atol=1e-5)


def test_no_array_grows_with_the_square_of_the_length():
  def largest(tokens, attend):
    shape = jax.ShapeDtypeStruct((1, tokens, 1, 4), jnp.float32)
    mask = jax.ShapeDtypeStruct((1, tokens), bool)
    run = jax.grad(lambda *x: attend(*x).sum(), argnums=(0, 1, 2))
    memory = jax.jit(run).lower(shape, shape, shape, mask).compile().memory_analysis()
    return memory.temp_size_in_bytes

  for attend in (chunked_attention, lambda *x: windowed_attention(*x, 64)):
    assert largest(8192, attend) < 4.5 * largest(2048, attend)
