"""Attention by distance: the authors' numbers, the definition as a double loop, its symmetries."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from luke_jax.systems.tener.layers import (
  Biases,
  Distances,
  absolute_positions,
  attended,
  relative_scores,
)


def filled(shape, start):
  """The values that the goldens are of."""
  return (0.5 * np.sin(0.37 * np.arange(np.prod(shape)) + start)).reshape(shape)


Q, K, V = (jnp.asarray(filled((1, 4, 1, 4), start), jnp.float32) for start in (0, 1, 2))
BIASES = Biases(*(jnp.asarray(filled((1, 4), start), jnp.float32) for start in (3, 4)))
# Form -> row 0 of the scores, and rows of the outputs: by the layer of the released code.
GOLDENS = {
  Distances(1, "tener"): (
    [-0.070276, 0.238855, 0.297040, 0.161501],
    {
      0: [-0.073600, -0.072255, -0.061131, -0.041733],
      1: [0.072253, 0.024956, -0.025718, -0.072911],
      2: [-0.085216, -0.070113, -0.045520, -0.014767],
      3: [-0.068611, -0.077878, -0.076605, -0.064964],
    },
  ),
  Distances(-1, "tener"): (
    [-0.070276, -0.398031, -0.391235, 0.054527],
    {0: [0.020075, 0.028871, 0.033760, 0.034079], 3: [-0.231763, -0.257257, -0.247933, -0.205052]},
  ),
  Distances(-1, "tener", e_term=True): (
    [0.851642, -0.894460, -0.319532, 0.290103],
    {0: [0.155711, 0.150330, 0.124603, 0.082012]},
  ),
}


@pytest.mark.parametrize("form", GOLDENS, ids=str)
def test_the_numbers_of_the_released_code(form):
  first, rows = GOLDENS[form]
  scores = relative_scores(Q, K, BIASES, form)
  np.testing.assert_allclose(scores[0, 0, 0], first, atol=1e-5)
  outputs = attended(scores, jnp.ones((1, 4), bool))[0, 0] @ V[0, :, 0]
  for row, expected in rows.items():
    np.testing.assert_allclose(outputs[row], expected, atol=1e-5)


def test_a_masked_key_has_no_part():
  scores = relative_scores(Q, K, BIASES, Distances(-1, "tener"))
  probs = attended(scores, jnp.array([[True, True, True, False]]))
  expected = [-0.006795, -0.074195, -0.131553, -0.171106]
  np.testing.assert_allclose(probs[0, 0, 0] @ V[0, :, 0], expected, atol=1e-5)
  nothing = attended(scores, jnp.zeros((1, 4), bool))
  np.testing.assert_allclose(nothing.sum(-1), 1, rtol=1e-6)


def of_distance(distances, k, width):
  """R of the distance k, by its definition."""
  rates = np.asarray(distances.frequencies(width), np.float64)
  r, angles = np.empty(width), distances.rel_sign * k * rates
  sines, cosines = distances.halves(np.arange(width))
  r[np.asarray(sines)], r[np.asarray(cosines)] = np.sin(angles), np.cos(angles)
  return r


def test_frequencies_and_halves():
  np.testing.assert_allclose(
    of_distance(Distances(1, "tener"), 2, 4), [0.909297, 0.0002, -0.416147, 1.0], atol=1e-6
  )
  paper = Distances().frequencies(8)
  np.testing.assert_allclose(paper, 10000 ** (-np.arange(4) / 4), rtol=1e-5)
  assert [x.tolist() for x in Distances().halves(np.arange(4))] == [[0, 2], [1, 3]]


def double_loop(q, k, biases, form, *, rows):
  """The scores (L, L) that these rows of one attention head have, each by its own distance."""
  length, width = q.shape
  u, v = (np.asarray(bias, np.float64)[0] for bias in biases)
  table = {d: of_distance(form, d, width) for d in range(1 - length, length)}
  towards = {d: of_distance(form, form.rel_sign * d, width) for d in range(1 - length, length)}
  scores = np.empty((length, length))
  for t in rows:
    for j in range(length):
      scores[t, j] = (q[t] + u) @ k[j] + (q[t] + v) @ table[t - j]
      scores[t, j] += k[j] @ towards[t - j] if form.e_term else 0
  return scores


@pytest.mark.parametrize("length", [1, 2, 7, 602])
@pytest.mark.parametrize("form", [Distances(), Distances(-1, "tener", True)], ids=str)
def test_scores_are_those_of_the_double_loop(form, length):
  q, k = np.random.default_rng(length).normal(size=(2, length, 6))
  biases = Biases(*np.random.default_rng(0).normal(size=(2, 1, 6)))
  as_heads = (jnp.asarray(x[None, :, None], jnp.float32) for x in (q, k))
  found = relative_scores(*as_heads, Biases(*map(jnp.asarray, biases)), form)
  rows = sorted({*range(0, length, 1 + length // 10), length - 1})
  expected = double_loop(q, k, biases, form, rows=rows)
  np.testing.assert_allclose(found[0, 0][np.array(rows)], expected[rows], atol=2e-4)


def test_only_distances_count():
  q, k = jax.random.normal(jax.random.key(0), (2, 1, 9, 1, 6))
  biases = Biases(*jax.random.normal(jax.random.key(1), (2, 1, 6)))
  moved = (jnp.pad(x, ((0, 0), (40, 0), (0, 0), (0, 0))) for x in (q, k))
  whole = relative_scores(*moved, biases, Distances())[:, :, 40:, 40:]
  scores = relative_scores(q, k, biases, Distances())
  np.testing.assert_allclose(whole, scores, atol=1e-4)
  turned = relative_scores(q[:, ::-1], k[:, ::-1], biases, Distances())
  assert np.abs(turned[:, :, ::-1, ::-1] - scores).max() > 0.5


def test_absolute_positions_skip_padding():
  mask = jnp.array([[True] * 9, [False] * 3 + [True] * 6])
  plain, shifted = absolute_positions(mask, 64)
  np.testing.assert_allclose(shifted[3:], plain[:6], atol=1e-6)
  assert not shifted[:3].any()
  for t in range(4):
    assert plain[t] @ plain[t + 5] == pytest.approx(23.766185, abs=1e-4)
