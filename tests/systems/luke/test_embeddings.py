"""Mentions and entities, against sums written out."""

import jax
import jax.numpy as jnp
import numpy as np
from networks import TINY, backbone, tiny

from luke_jax.systems.luke.encoder import EntityEmbeddings


def embeddings(config=TINY):
  return EntityEmbeddings(config, backbone(config).numerics, config.entity_vocab_size)


def test_a_mention_is_the_mean_of_its_positions_and_an_empty_one_zero():
  module = embeddings()
  params = module.init(jax.random.key(0), jnp.zeros((1, 1), int), jnp.zeros((1, 1, 1), int))
  positions = jnp.array([[[3, 4, -1, -1], [-1, -1, -1, -1], [7, 7, 9, -1]]])
  found = module.apply(params, positions, method="mention")
  table = np.asarray(params["params"]["position"]["embedding"])
  expected = [table[[3, 4]].mean(0), np.zeros_like(table[0]), table[[7, 7, 9]].mean(0)]
  np.testing.assert_allclose(found[0], expected, atol=1e-6)


def row_gradient(config):
  module = embeddings(config)
  ids, positions = jnp.array([[0, 1, 0]]), jnp.zeros((1, 3, 1), int)
  params = module.init(jax.random.key(0), ids, positions)
  weights = jnp.arange(3 * config.hidden_size, dtype=float).reshape(1, 3, -1)
  grads = jax.grad(lambda p: (module.apply(p, ids, positions) * weights).sum())(params)
  return np.abs(grads["params"]["entity"]["embedding"]).sum(1)


def test_the_padding_row_learns_nothing_from_look_ups_unless_told():
  gradient = row_gradient(TINY)
  assert gradient[0] == 0
  assert gradient[1] > 0
  assert row_gradient(tiny(entity_padding_id=None))[0] > 0
