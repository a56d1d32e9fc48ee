"""Linear chains: equal to sums over all paths, to pytorch-crf, and to worked numbers."""

import itertools
import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from random_chains import random_chain

from luke_jax.nn import crf
from luke_jax.nn.losses import IGNORED

GOLDENS = json.loads((Path(__file__).parents[1] / "goldens" / "labels.json").read_text())


def filler(shape, start):
  """The numbers that the worked example is made of."""
  return (0.5 * np.sin(0.37 * np.arange(np.prod(shape)) + start)).reshape(shape).astype(np.float32)


def log_softmax(x):
  return x - np.log(np.exp(x).sum(-1, keepdims=True))


def all_paths(emissions, mask, chain):
  """Every path over the places of a mask, and its score."""
  places = np.flatnonzero(mask)
  for path in itertools.product(range(emissions.shape[-1]), repeat=len(places)):
    score = sum(emissions[place, label] for place, label in zip(places, path, strict=True))
    score += sum(chain.transitions[a, b] for a, b in itertools.pairwise(path))
    yield path, score + chain.starts[path[0]] + chain.ends[path[-1]]


@pytest.fixture(scope="module")
def functions():
  """Everything of a batch, compiled once a shape."""

  def everything(emissions, labels, mask, chain):
    gradients = jax.grad(lambda x: crf.path_losses(x, labels, mask, chain).sum())(emissions)
    return (
      crf.log_sums(emissions, mask, chain),
      crf.path_losses(emissions, labels, mask, chain),
      *crf.best_paths(emissions, mask, chain),
      crf.marginals(emissions, mask, chain),
      gradients,
    )

  return jax.jit(everything)


def test_sums_over_all_paths_with_gaps_in_the_mask(functions):
  rng = np.random.default_rng(1)
  emissions = rng.normal(size=(6, 5, 3)).astype(np.float32)
  labels = rng.integers(0, 3, (6, 5))
  mask = np.array(
    [[1, 1, 1, 1, 1], [0, 1, 0, 0, 1], [1, 0, 1, 1, 0], [0, 0, 0, 1, 0], [0] * 5, [1, 0, 0, 0, 1]],
    bool,
  )
  chain = crf.Chain(*(rng.normal(size=x).astype(np.float32) for x in ((3, 3), 3, 3)))
  given = np.where(mask, labels, IGNORED)
  sums, losses, best, scores, chances, gradients = functions(emissions, given, mask, chain)
  assert np.isfinite(gradients).all() and not np.any(np.asarray(gradients)[~mask])
  for i in (0, 1, 2, 3, 5):
    paths = list(all_paths(emissions[i], mask[i], chain))
    weights = np.exp([score for _, score in paths])
    np.testing.assert_allclose(sums[i], np.log(weights.sum()), rtol=1e-5)
    own = dict(paths)[tuple(labels[i][mask[i]])]
    np.testing.assert_allclose(losses[i], np.log(weights.sum()) - own, rtol=1e-4, atol=1e-5)
    path, score = max(paths, key=lambda pair: pair[1])
    assert best[i][mask[i]].tolist() == list(path)
    assert np.all(best[i][~mask[i]] == IGNORED)
    np.testing.assert_allclose(scores[i], score, rtol=1e-5)
    for n, place in enumerate(np.flatnonzero(mask[i])):
      for label in range(3):
        share = sum(w for (p, _), w in zip(paths, weights, strict=True) if p[n] == label)
        np.testing.assert_allclose(chances[i, place, label], share / weights.sum(), atol=1e-5)
  # A row that is padding alone.
  assert float(sums[4]) == float(losses[4]) == float(scores[4]) == 0.0
  assert np.all(best[4] == IGNORED) and not np.any(chances[4])


def padded_case(seed):
  """A random case with five labels and eight places, those beyond its own impossible."""
  emissions, lengths, labels, *scores = random_chain(seed)
  batch, length, count = emissions.shape
  wide = np.zeros((batch, 8, 5), np.float32)
  wide[:, :length, :count] = emissions
  long = np.zeros((batch, 8), np.int32)
  long[:, :length] = labels
  chain = [np.full(shape, crf.FORBIDDEN, np.float32) for shape in ((5, 5), 5, 5)]
  for whole, part in zip(chain, scores, strict=True):
    whole[tuple(map(slice, part.shape))] = part
  return wide, long, np.arange(8) < lengths[:, None], *chain


def test_a_thousand_cases_of_pytorch_crf():
  cases = [np.stack(x) for x in zip(*map(padded_case, range(1000)), strict=True)]

  def one(emissions, labels, mask, *chain):
    scores = crf.Chain(*chain)
    losses = crf.path_losses(emissions, labels, mask, scores)
    return losses, crf.best_paths(emissions, mask, scores)[0]

  losses, paths = jax.jit(jax.vmap(one))(*cases)
  expected, best = zip(*GOLDENS["chains"], strict=True)
  np.testing.assert_allclose(losses, np.array(expected), atol=2e-4)
  found = [["".join(map(str, row[row != IGNORED])) for row in case] for case in np.asarray(paths)]
  assert found == list(best)


def test_the_worked_numbers(functions):
  chain = crf.Chain(4 * filler((3, 3), 1.2), filler((3,), 2.2), filler((3,), 3.2))
  emissions = np.stack([log_softmax(4 * filler((3, 3), start)) for start in (0.2, 0.7)])
  labels, mask = np.array([[0, 1, 2], [2, 1, 0]]), np.array([[1, 1, 1], [1, 1, 0]], bool)
  sums, losses, best, scores, *_ = functions(emissions, labels, mask, chain)
  np.testing.assert_allclose(sums[0], 2.393372, atol=1e-5)
  np.testing.assert_allclose(losses, [4.966222, 4.434130], atol=1e-5)
  assert best.tolist() == [[1, 0, 0], [0, 0, IGNORED]]
  np.testing.assert_allclose(scores[0], 0.765668, atol=1e-5)
  allowed = crf.Chain(np.ones((3, 3), bool), np.ones(3, bool), np.ones(3, bool))
  allowed.transitions[1, 0] = False
  decoded = crf.best_paths(emissions[:1], mask[:1], crf.constrained(chain, allowed))
  assert decoded[0].tolist() == [[0, 0, 0]]


def test_learned_scores_have_the_shapes_of_a_chain():
  params = crf.ChainScores(4).init(jax.random.key(0))["params"]
  assert {name: x.shape for name, x in params.items()} == {
    "transitions": (4, 4),
    "starts": (4,),
    "ends": (4,),
  }
  assert all(jnp.std(x) > 0.05 for x in params.values())
