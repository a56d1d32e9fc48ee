import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from wiki_builds import origins

from luke_jax.wiki.stages.shuffle_stage import places_of


@given(size=st.integers(1, 3000), seed=st.integers(0, 2**40))
def test_every_place_once(size, seed):
  found = places_of(np.arange(size), size, seed)
  assert sorted(found.tolist()) == list(range(size))


@given(size=st.integers(1, 3000), seed=st.integers(0, 9))
def test_a_part_is_a_part_of_the_whole(size, seed):
  whole = places_of(np.arange(size), size, seed)
  part = np.arange(size // 3, size // 2)
  assert places_of(part, size, seed).tolist() == whole[part].tolist()


def test_the_order_is_the_same_for_ever():
  assert origins(8, 0).tolist() == [2, 5, 1, 4, 3, 6, 7, 0]


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 10**12])
def test_the_order_looks_random(seed):
  size = 100_000
  found = origins(size, seed)
  assert abs(np.corrcoef(found, np.arange(size))[0, 1]) < 0.015
  assert abs(np.corrcoef(found[1:], found[:-1])[0, 1]) < 0.015
  # Of every hundred consecutive records each tenth of the corpus has about ten.
  shares = np.stack([np.bincount(row * 10 // size, minlength=10) for row in found.reshape(-1, 100)])
  assert abs(shares.std() - 3.0) < 0.1  # of a binomial with n = 100 and p = 1/10
  other = origins(size, seed + 1)
  assert (found == other).sum() < 12
