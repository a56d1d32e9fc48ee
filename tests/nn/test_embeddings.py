"""Positions and types of words, against sums written out."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from luke_jax.nn.embeddings import WordEmbeddings, positions_after_padding
from luke_jax.nn.layers import Numerics


def word_embeddings(*, pad_id=1, after_padding=True):
  sizes = {"words": 10, "width": 16, "positions": 12, "types": 2}
  module = WordEmbeddings(Numerics(), **sizes, pad_id=pad_id, positions_after_padding=after_padding)
  return module, module.init(jax.random.key(0), jnp.zeros((1, 1), int))


def test_roberta_counts_real_tokens_after_the_padding_id():
  ids = jnp.array([[0, 9, 8, 2, 1, 1], [0, 1, 7, 2, 1, 1]])
  expected = [[2, 3, 4, 5, 1, 1], [2, 1, 3, 4, 1, 1]]
  np.testing.assert_array_equal(positions_after_padding(ids, 1), expected)


@pytest.mark.parametrize(
  ("after_padding", "expected"),
  [(False, [[0, 1, 2], [0, 1, 2]]), (True, [[1, 2, 0], [1, 0, 2]])],
  ids=["bert counts from zero", "roberta counts real ones"],
)
def test_words_are_at_these_positions(after_padding, expected):
  module, params = word_embeddings(pad_id=0, after_padding=after_padding)
  ids = jnp.array([[5, 6, 0], [5, 0, 9]])
  found = module.apply(params, ids)
  at = [module.apply(params, ids, position_ids=jnp.array(x)) for x in (expected, 3 - ids % 2)]
  np.testing.assert_array_equal(found, at[0])
  assert not np.allclose(found, at[1])


def test_word_types_are_added():
  (module, params), ids = word_embeddings(), jnp.array([[5, 6]])
  one = module.apply(params, ids, jnp.array([[0, 1]]))
  other = module.apply(params, ids, jnp.array([[0, 0]]))
  np.testing.assert_array_equal(one[:, 0], other[:, 0])
  assert not np.allclose(one[:, 1], other[:, 1])
