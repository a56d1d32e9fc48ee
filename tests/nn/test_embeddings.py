"""Positions and mentions, against sums written out."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from luke_jax.config import SIZES

from luke_jax.nn.embeddings import EntityEmbeddings, WordEmbeddings, word_positions

CONFIG = SIZES["tiny"]


def test_roberta_counts_real_tokens_after_the_padding_id():
  ids = jnp.array([[0, 9, 8, 2, 1, 1], [0, 1, 7, 2, 1, 1]])
  expected = [[2, 3, 4, 5, 1, 1], [2, 1, 3, 4, 1, 1]]
  np.testing.assert_array_equal(word_positions(ids, CONFIG), expected)


def test_bert_counts_from_zero():
  config = dataclasses.replace(CONFIG, word_positions="bert", pad_token_id=0)
  ids = jnp.array([[5, 6, 0], [5, 0, 0]])
  np.testing.assert_array_equal(word_positions(ids, config), [[0, 1, 2], [0, 1, 2]])


def entity_embeddings():
  module = EntityEmbeddings(CONFIG)
  params = module.init(jax.random.key(0), jnp.zeros((1, 1), int), jnp.zeros((1, 1, 1), int))
  return module, params


def test_a_mention_is_the_mean_of_its_positions_and_an_empty_one_zero():
  module, params = entity_embeddings()
  positions = jnp.array([[[3, 4, -1, -1], [-1, -1, -1, -1], [7, 7, 9, -1]]])
  found = module.apply(params, positions, method="mention")
  table = np.asarray(params["params"]["position"]["embedding"])
  expected = [table[[3, 4]].mean(0), np.zeros_like(table[0]), table[[7, 7, 9]].mean(0)]
  np.testing.assert_allclose(found[0], expected, atol=1e-6)


def row_gradient(config):
  module = EntityEmbeddings(config)
  ids, positions = jnp.array([[0, 1, 0]]), jnp.zeros((1, 3, 1), int)
  params = module.init(jax.random.key(0), ids, positions)
  weights = jnp.arange(3 * config.hidden_size, dtype=float).reshape(1, 3, -1)
  grads = jax.grad(lambda p: (module.apply(p, ids, positions) * weights).sum())(params)
  return np.abs(grads["params"]["entity"]["embedding"]).sum(1)


def test_the_padding_row_learns_nothing_from_look_ups_unless_told():
  gradient = row_gradient(CONFIG)
  assert gradient[0] == 0
  assert gradient[1] > 0
  assert row_gradient(dataclasses.replace(CONFIG, entity_padding_id=None))[0] > 0


def test_word_types_are_added():
  config = dataclasses.replace(CONFIG, type_vocab_size=2)
  module, ids = WordEmbeddings(config), jnp.array([[5, 6]])
  params = module.init(jax.random.key(0), ids)
  one = module.apply(params, ids, jnp.array([[0, 1]]))
  other = module.apply(params, ids, jnp.array([[0, 0]]))
  np.testing.assert_array_equal(one[:, 0], other[:, 0])
  assert not np.allclose(one[:, 1], other[:, 1])
