"""Known triples: among candidates, as bitmaps, and the sides that "bern" replaces."""

import numpy as np
import pytest

from luke_jax.systems.transe.records import KnownTriples


@pytest.fixture(scope="module")
def triples():
  rng = np.random.default_rng(0)
  return np.unique(rng.integers(0, (30, 4, 30), (300, 3)), axis=0).astype(np.int32)


def is_known(triples, triple):
  return (triples == triple).all(axis=1).any()


def test_known_candidates_are_all_marked(triples):
  known = KnownTriples(triples)
  rng = np.random.default_rng(1)
  asked = rng.integers(-1, len(triples), 20)
  candidates, heads = rng.integers(0, 33, 40), rng.random(20) < 0.5
  found = known.among(asked, heads, candidates)
  for row, (h, r, t) in enumerate(triples[asked]):
    for column, entity in enumerate(candidates):
      triple = (entity, r, t) if heads[row] else (h, r, entity)
      assert found[row, column] == is_known(triples, triple)


def test_bitmaps_have_a_bit_for_every_known_end(triples):
  maps = KnownTriples(triples).bitmaps(triples[:10], 4)
  bits = np.unpackbits(maps, axis=-1, bitorder="little")
  for (h, r, t), (heads, tails) in zip(triples[:10], bits, strict=True):
    assert [x for x in range(32) if heads[x]] == sorted(
      a for a, b, c in triples if b == r and c == t
    )
    assert [x for x in range(32) if tails[x]] == sorted(
      c for a, b, c in triples if b == r and a == h
    )


def test_contains_tells_known_triples(triples):
  others = triples.copy()
  others[:, 2] = (others[:, 2] + 1) % 30
  known = KnownTriples(triples)
  assert known.contains(triples).all()
  expected = [is_known(triples, triple) for triple in others]
  assert known.contains(others).tolist() == expected


def test_bern_replaces_the_side_with_many_answers():
  known = KnownTriples(np.array([(0, 0, 1), (0, 0, 2), (0, 0, 3), (4, 0, 1)]))
  assert known.head_shares(np.array([0]))[0] == pytest.approx(0.6)
