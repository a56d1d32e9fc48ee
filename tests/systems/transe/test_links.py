"""Link prediction: its losses, its rows, and vectors that find what was left out."""

import dataclasses
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from luke_jax.errors import InputError
from luke_jax.models.system import Backbone
from luke_jax.pipeline.batches import Data
from luke_jax.systems.transe import TransEConfig
from luke_jax.systems.transe.task import LinkPrediction, Loss, adam, each_loss, total_loss
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.loop import train
from luke_jax.training.optimizer import Schedule

SAMPLE = Path(__file__).parents[3] / "data" / "sample_graph"
TASK = LinkPrediction(graph=str(SAMPLE), chunk=32, negatives=16)
BACKBONE = Backbone(TransEConfig(100, 4, hidden_size=8))
NONE = jnp.zeros((1, 1), bool)


def test_the_golden_hinge():
  """Distances .2 and 1.5: no loss with the margin 1, .7 with the margin 2."""
  for margin, expected in ((1.0, 0.0), (2.0, 0.7)):
    loss = Loss("margin", margin, 1.0, 1)
    found = each_loss(loss, jnp.array([0.2]), jnp.array([[1.5]]), NONE)
    np.testing.assert_allclose(found, [expected], atol=1e-6)


def test_self_adversarial_losses_are_those_of_the_formula():
  positive, negative = np.array([2.0]), np.array([[3.0, 5.0, 1.0]])
  loss = Loss("self_adversarial", 4.0, 0.5, 1)
  weights = np.exp(0.5 * (4 - negative[0])) / np.exp(0.5 * (4 - negative[0])).sum()
  far = -(weights * np.log(1 / (1 + np.exp(-(negative[0] - 4))))).sum()
  near = -np.log(1 / (1 + np.exp(-(4 - positive))))
  found = each_loss(loss, jnp.array(positive), jnp.array(negative), jnp.zeros((1, 3), bool))
  np.testing.assert_allclose(found, (near + far) / 2, rtol=1e-6)


def test_softmax_is_the_cross_entropy_of_negated_distances():
  found = each_loss(
    Loss("softmax", 1.0, 1.0, 2), jnp.array([1.0]), jnp.array([[2.0, 3.0]]), jnp.zeros((1, 2), bool)
  )
  expected = -np.log(np.exp(-1.0) / np.exp([-1.0, -2.0, -3.0]).sum())
  np.testing.assert_allclose(found, [expected], rtol=1e-6)


@pytest.mark.parametrize("name", ["self_adversarial", "margin", "softmax"])
def test_known_negatives_change_nothing(name):
  loss = Loss(name, 3.0, 1.0, 1)
  positive, negative = jnp.array([1.0]), jnp.array([[2.0, 0.5]])
  alone = each_loss(loss, positive, negative[:, :1], jnp.zeros((1, 1), bool))
  found = each_loss(loss, positive, negative, jnp.array([[False, True]]))
  np.testing.assert_allclose(found, alone, rtol=1e-6)


def test_the_derivative_of_the_sum_is_that_of_its_parts():
  rng = np.random.default_rng(0)
  shapes = ((2, 3), (2, 3, 5), (2, 4, 5), (2, 3))
  *vectors, weights = (jnp.asarray(rng.random(shape), jnp.float32) for shape in shapes)
  known, loss = jnp.asarray(rng.random((2, 3, 4)) < 0.3), Loss("self_adversarial", 2.0, 1.0, 1)

  def plain(vectors):
    positive, queries, negatives = vectors
    negative = jnp.abs(queries[:, :, None] - negatives[:, None]).sum(-1)
    each = jax.vmap(lambda p, n, k: each_loss(loss, p, n, k))(positive, negative, known)
    return (weights * each).sum()

  expected = jax.value_and_grad(plain)(vectors)
  found = jax.value_and_grad(lambda v: 2 * total_loss(loss, v, weights, known) / 2)(vectors)
  jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6), found, expected)


def test_rows_hold_every_triple_once_and_mark_known_negatives():
  records = TASK.records(BACKBONE, "train")
  rngs = [np.random.default_rng(i) for i in range(len(records))]
  rows = TASK.rows(BACKBONE, [records[i] for i in range(len(records))], rngs)
  assert {name: (x.shape[1:], x.dtype) for name, x in rows.items()} == {
    name: (shape.shape, shape.dtype) for name, shape in TASK.row_shapes(BACKBONE).items()
  }
  real = rows["weights"] > 0
  seen = np.stack([rows[x][real] for x in ("heads", "relations", "tails")], axis=1)
  train = TASK.source.graph.splits["train"]
  assert len(seen) == len(train)
  np.testing.assert_array_equal(np.unique(seen, axis=0), np.unique(train, axis=0))
  known = {tuple(x) for x in train.tolist()}
  row, column, negative = (int(x[0]) for x in np.nonzero(rows["known"]))
  h, r, t = (int(rows[x][row, column]) for x in ("heads", "relations", "tails"))
  entity = int(rows["negatives"][row, negative])
  assert ((entity, r, t) if rows["replace_head"][row, column] else (h, r, entity)) in known


def test_pairs_with_many_answers_weigh_less():
  source = TASK.source
  heads, relations, tails = source.graph.splits["train"].T
  same_tails = [
    ((heads == h) & (relations == r)).sum() for h, r in zip(heads, relations, strict=True)
  ]
  same_heads = [
    ((tails == t) & (relations == r)).sum() for t, r in zip(tails, relations, strict=True)
  ]
  expected = 1 / np.sqrt(np.array(same_tails) + same_heads + 6)
  np.testing.assert_allclose(source.weights, expected, rtol=1e-6)


def test_vectors_in_the_unit_ball_are_cut_only_if_they_are_longer():
  rows = jnp.array([[0.3, 0.4], [3.0, 4.0]])
  ball = dataclasses.replace(TASK, unit_ball=True)
  np.testing.assert_allclose(ball.bounded_rows(rows), [[0.3, 0.4], [0.6, 0.8]], rtol=1e-6)
  np.testing.assert_array_equal(TASK.bounded_rows(rows), rows)


def test_sizes_of_another_graph_are_refused():
  with pytest.raises(InputError, match=r"model\.entity_vocab_size: 7; expected 100"):
    TASK.records(Backbone(TransEConfig(7, 4)), "train")


def test_a_graph_without_valid_is_scored_on_some_of_train():
  one = dataclasses.replace(TASK, graph=str(SAMPLE / "train.txt"), dev_triples=10, dev_chunk=4)
  assert len(one.records(BACKBONE, "dev")) == 3
  assert one.evaluation_row_shapes(BACKBONE)["bitmaps"].shape == (4, 2, 13)


ORIGINAL = {"objective": "margin", "margin": 1.0, "corruption": "bern", "unit_ball": True}


@pytest.mark.slow
@pytest.mark.parametrize(
  "changes, metric, least",
  [
    ({"margin": 2.0}, "hits_1", 0.95),
    (
      {"objective": "margin", "margin": 1.0, "corruption": "bern", "unit_ball": True},
      "hits_3",
      0.7,
    ),
  ],
  ids=["self-adversarial", "original"],
)
def test_a_grid_is_learned(changes, metric, least, tmp_path, one_device):
  """Ranks of the triples left out, which are the opposite of ones in train.

  In the unit ball vectors of relations are short, so that an entity is often nearest to itself.
  """
  task = LinkPrediction(graph=str(SAMPLE), chunk=32, negatives=64, dev_chunk=21, **changes)
  summary = train(
    Experiment(
      model=TransEConfig(100, 4, hidden_size=32),
      task=task,
      data=Data(batch_size=2, evaluation_batch_size=1),
      optimizer=adam(1e-2),
      schedule=Schedule(warmup_ratio=0.0),
      run=Run(epochs=100, log_every=100),
    ),
    tmp_path / "run",
  )
  assert summary[f"dev/{metric}"] >= least
