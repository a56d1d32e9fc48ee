"""The two streams: numbers of the authors' own code, and what must not change what."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from networks import backbone

from luke_jax.models.network import Network, abstract_params
from luke_jax.nn.layers import LayerNorm, Numerics
from luke_jax.nn.losses import IGNORED
from luke_jax.nn.queries import AttentionSizes
from luke_jax.systems.ernie_thu import ErnieThuConfig, encoder
from luke_jax.systems.ernie_thu.encoder import (
  AlignedEntities,
  FusedLayer,
  Fusion,
  LayerSizes,
  Masks,
  Streams,
  WordCandidates,
)

EXACT = Numerics(epsilon=1e-12)
entity_scores = jax.jit(encoder.entity_scores, static_argnames="whole_batch")


def g(shape, c):
  """The numbers that the goldens were computed from."""
  return (0.5 * np.sin(0.37 * np.arange(np.prod(shape)) + c)).reshape(shape).astype(np.float32)


def layer_norm(x):
  return jax.jit(LayerNorm(EXACT).apply)(
    {"params": {"scale": jnp.ones(x.shape[-1]), "bias": jnp.zeros(x.shape[-1])}}, x
  )


def test_fusion_is_that_of_the_authors():
  words, entities = g((3, 4), 0), g((3, 3), 1) * np.array([[1], [0], [1]], np.float32)
  dense = {
    name: {"kernel": g(shape, c), "bias": g(shape[1:], c + 1)}
    for name, shape, c in (
      ("up", (4, 5), 2),
      ("entity_up", (3, 5), 4),
      ("down", (5, 4), 6),
      ("entity_down", (5, 3), 8),
    )
  }
  streams = Streams(words[None], entities[None])
  added = jax.jit(Fusion(EXACT, 5, False).apply)({"params": dense}, streams)
  found = layer_norm(words + added.words[0]), layer_norm(entities + added.entities[0])
  for x, expected in zip(
    found,
    (
      [
        [-1.517318, -0.242773, 0.668093, 1.091998],
        [-0.004259, 1.080383, 0.523478, -1.599602],
        [1.197272, 0.589413, -0.335215, -1.451469],
      ],
      [
        [1.082524, 0.246842, -1.329365],
        [1.209760, 0.029439, -1.239199],
        [1.235619, -0.022045, -1.213573],
      ],
    ),
    strict=True,
  ):
    np.testing.assert_allclose(x, expected, atol=1e-5)


def linear(number, inputs, outputs):
  """A linear layer of the golden: its kernel and bias, inputs and outputs as one axis each."""
  return {"kernel": g((inputs, outputs), 10 + 2 * number), "bias": g((outputs,), 11 + 2 * number)}


def split(dense, lead, *, heads=2):
  """A projection whose outputs are (heads, width)."""
  kernel, bias = dense["kernel"], dense["bias"]
  width = kernel.shape[1] // heads
  return {
    "kernel": kernel.reshape(*lead, len(kernel), heads, width),
    "bias": bias.reshape(*lead, heads, width),
  }


def attention(first, width):
  names = ("query", "key", "value")
  parts = {
    name: split(linear(first + i, width, width), (1, 1) if name == "query" else ())
    for i, name in enumerate(names)
  }
  output = linear(first + 3, width, width)
  return parts | {"output": output | {"kernel": output["kernel"].reshape(2, -1, width)}}


def norm(width):
  return {"scale": np.ones(width, np.float32), "bias": np.zeros(width, np.float32)}


def golden_layer(kind, form):
  """The outputs of a layer of either kind with the golden's numbers."""
  x, mask = g((1, 3, 4), 0), np.array([[1, 0, 1]], bool)
  e = g((1, 3, 6), 1) * mask[..., None]
  params = {
    "attention": attention(0, 4),
    "attention_norm": norm(4),
    "mlp": {
      "up": linear(8, 4, 5),
      "entity_up": linear(9, 6, 5),
      "down": linear(10, 5, 4),
      "entity_down": linear(11, 5, 6),
    },
    "mlp_norm": norm(4),
    "entity_mlp_norm": norm(6),
  }
  if kind == "norm":
    params |= {"entity_attention": attention(4, 6), "entity_attention_norm": norm(6)}
  heads = AttentionSizes(2, 2, form=form), AttentionSizes(2, 3, form=form)
  layer = FusedLayer(EXACT, kind, LayerSizes(*heads, hidden=5, output_act=False))
  masks = Masks(jnp.array([[1, 1, 0]], bool), jnp.asarray(mask))
  return jax.jit(layer.apply)({"params": params}, Streams(jnp.asarray(x), jnp.asarray(e)), masks)


E_1 = [0.896670, 0.964143, 0.669595, 0.052892, -0.802498, -1.780802]


@pytest.mark.parametrize("form", ["blocks", "einsum"])
def test_a_norm_layer_is_that_of_the_authors(form):
  words, entities = golden_layer("norm", form)
  expected = [
    [-1.189756, -0.595415, 0.328430, 1.456742],
    [1.668022, -0.212503, -0.965749, -0.489769],
    [1.659842, -0.117572, -0.915713, -0.626556],
  ]
  np.testing.assert_allclose(words[0], expected, atol=1e-5)
  rows = [
    [-1.547777, 0.081813, 1.014728, 1.124702, 0.396850, -1.070315],
    E_1,
    [-1.740236, -0.828162, -0.002941, 0.623737, 0.967056, 0.980547],
  ]
  np.testing.assert_allclose(entities[0], rows, atol=1e-5)


def test_a_mix_layer_is_that_of_the_authors():
  words, entities = golden_layer("mix", "blocks")
  expected = [
    [-1.203502, -0.584388, 0.340864, 1.447026],
    [1.668022, -0.212503, -0.965749, -0.489769],
    [1.666468, -0.177549, -0.948080, -0.540838],
  ]
  np.testing.assert_allclose(words[0], expected, atol=1e-5)
  rows = [
    [0.883496, 0.963483, 0.676546, 0.061520, -0.798352, -1.786693],
    E_1,
    [-1.494235, 0.124385, 1.036065, 1.117414, 0.357422, -1.141050],
  ]
  np.testing.assert_allclose(entities[0], rows, atol=1e-5)


# The last candidate is no word's; the first one, of no entity, is that of the whole batch.
A2_LABELS = np.array([[1, IGNORED, 0]])


def golden_entities(labels, ids=(7, 8, 9), order=(0, 1, 2)):
  params = {
    "transform": {"kernel": g((4, 3), 1.5), "bias": np.zeros(3, np.float32)},
    "norm": norm(3),
  }
  predicted = jax.jit(AlignedEntities(EXACT, 3).apply)({"params": params}, g((3, 4), 0.5)[None])
  vectors = g((3, 3), 2.5)[list(order)]
  return predicted, WordCandidates(jnp.array([ids]), vectors[None]), labels


def test_predicted_entities_are_those_of_the_authors():
  predicted, candidates, labels = golden_entities(A2_LABELS)
  logits = np.asarray(predicted[0] @ candidates.vectors[0].T)
  expected = [
    [0.417810, 0.297790, -0.152979],
    [0.426808, 0.295497, -0.164016],
    [-0.420152, -0.298151, 0.155000],
  ]
  np.testing.assert_allclose(logits, expected, atol=1e-5)
  losses, _ = entity_scores(predicted, labels, candidates, whole_batch=True)
  assert losses.sum() / 2 == pytest.approx(1.473307, abs=1e-5)
  assert losses[0, 1] == 0


def test_neither_the_order_of_candidates_nor_a_second_place_changes_the_loss():
  losses, hits = entity_scores(*_scored(golden_entities(A2_LABELS)))
  turned = golden_entities(np.array([[0, IGNORED, 2]]), order=(1, 2, 0))
  np.testing.assert_allclose(entity_scores(*_scored(turned)).losses, losses, rtol=1e-6)
  predicted, candidates, labels = golden_entities(A2_LABELS)
  twice = WordCandidates(*(jnp.concatenate([x, x, x - x - 1], axis=1) for x in candidates))
  for more in (labels, labels + np.array([3, 0, 3])):  # the same entities by their second places
    again = entity_scores(predicted, more, twice)
    np.testing.assert_allclose(again.losses, losses, rtol=1e-6)
    np.testing.assert_array_equal(again.hits, hits)


def _scored(golden):
  predicted, candidates, labels = golden
  return predicted, labels, candidates


def test_entities_of_a_whole_batch_are_the_candidates_of_every_text():
  rng = np.random.default_rng(0)
  predicted = rng.normal(size=(2, 3, 4)).astype(np.float32)
  vectors = rng.normal(size=(3, 4)).astype(np.float32)  # of the entities 5, 6 and 7
  rows = np.array([[0, 1], [1, 2]])
  candidates = WordCandidates(jnp.asarray(rows + 5), jnp.asarray(vectors[rows]))
  labels = np.array([[0, 1, IGNORED], [0, 1, 1]])
  losses = entity_scores(predicted, labels, candidates, whole_batch=True).losses
  logits = predicted @ np.vstack([np.zeros(4, np.float32), vectors]).T
  log_sums = np.log(np.exp(logits).sum(-1))
  gold = np.array([[1, 2, 0], [2, 3, 3]])
  expected = log_sums - np.take_along_axis(logits, gold[..., None], -1)[..., 0]
  np.testing.assert_allclose(losses, np.where(labels == IGNORED, 0, expected), rtol=1e-5)


def test_a_text_without_entities_has_no_loss():
  predicted, _, _ = golden_entities(A2_LABELS)
  none = WordCandidates(jnp.full((1, 2), -1), jnp.zeros((1, 2, 3)))
  for whole_batch in (False, True):
    labels = np.full((1, 3), IGNORED)
    scores = entity_scores(predicted, labels, none, whole_batch=whole_batch)
    assert float(scores.losses.sum()) == 0


# Layers sim, mix, norm, norm.
CONFIG = ErnieThuConfig(
  vocab_size=50,
  hidden_size=8,
  num_hidden_layers=4,
  num_attention_heads=2,
  intermediate_size=12,
  max_position_embeddings=16,
  entity_size=6,
  num_entity_heads=2,
)
IDS = np.arange(1, 13).reshape(2, 6)
ALIGNED = np.array([[0, 1, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0]])


@pytest.fixture(scope="module")
def run():
  """States of a model with random numbers everywhere; `run(vectors, mask, layer_types, rows)`."""

  def states(vectors, mask=ALIGNED, layer_types=(), rows=slice(None)):
    made = Network(backbone(_with(layer_types)))
    rng = np.random.default_rng(1)
    params = jax.tree.map(
      lambda x: 0.5 * rng.normal(size=x.shape).astype(np.float32), abstract_params(made)
    )
    inputs = {"input_ids": IDS[rows]}
    if vectors is not None:
      inputs |= {"entity_vectors": vectors[rows], "entity_mask": mask[rows]}
    return applied(made, params, inputs)

  return states


@functools.partial(jax.jit, static_argnames="made")
def applied(made, params, inputs):
  return made.apply({"params": params}, **inputs)


def _with(layer_types):
  return dataclasses.replace(CONFIG, layer_types=layer_types)


@pytest.fixture(scope="module")
def vectors():
  return np.random.default_rng(0).normal(size=(2, 6, 6)).astype(np.float32)


def changed(vectors, row, slot):
  other = vectors.copy()
  other[row, slot] += 1
  return other


def test_a_vector_beside_no_entity_changes_nothing(run, vectors):
  before, after = (run(x)["last_hidden_state"] for x in (vectors, changed(vectors, 0, 2)))
  np.testing.assert_array_equal(after, before)


def test_a_mix_layer_gives_an_entity_to_its_own_word_only(run, vectors):
  kinds = ("sim", "sim", "sim", "mix")
  before, after = (
    run(x, layer_types=kinds)["last_hidden_state"] for x in (vectors, changed(vectors, 0, 1))
  )
  differs = np.abs(np.asarray(after - before)).max(-1) > 1e-6
  np.testing.assert_array_equal(np.argwhere(differs), [[0, 1]])


def test_a_norm_layer_passes_an_entity_on_to_others_and_to_the_first_word(run, vectors):
  kinds = ("sim", "sim", "sim", "norm")
  before, after = (
    run(x, layer_types=kinds)["last_hidden_state"] for x in (vectors, changed(vectors, 0, 1))
  )
  differs = np.abs(np.asarray(after - before)).max(-1) > 1e-6
  np.testing.assert_array_equal(np.argwhere(differs), [[0, 0], [0, 1], [0, 3]])


def test_a_text_without_entities_is_one_without_vectors(run, vectors):
  outputs, bare = run(0 * vectors, 0 * ALIGNED), run(None)
  for name, x in outputs.items():
    assert np.isfinite(x).all()
    np.testing.assert_allclose(x, bare[name], atol=1e-6)


def test_a_text_does_not_depend_on_its_batch(run, vectors):
  both, alone = run(vectors), run(vectors, rows=slice(1, 2))
  for name, x in alone.items():
    np.testing.assert_allclose(both[name][1:], x, atol=1e-6)


def test_the_paper_activates_the_sums_too():
  streams = Streams(*(jnp.asarray(g((1, 3, 4), c)) for c in (0, 1)))
  fusions = [Fusion(EXACT, 5, act) for act in (False, True)]
  params = fusions[0].init(jax.random.key(0), streams)
  code, paper = (fusion.apply(params, streams) for fusion in fusions)
  for x, y in zip(code, paper, strict=True):
    np.testing.assert_allclose(jax.nn.gelu(x, approximate=False), y, atol=1e-6)
