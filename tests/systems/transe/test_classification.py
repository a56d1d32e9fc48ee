"""True or false by a threshold of the distance."""

from pathlib import Path

import numpy as np
import pytest

from luke_jax.errors import InputError
from luke_jax.graph.triples import Graph, Ids, read_graph
from luke_jax.systems.transe import ranking

SAMPLE = Path(__file__).parents[3] / "data" / "sample_graph"


def test_every_relation_has_the_threshold_that_is_right_most_often():
  relations = np.array([0, 0, 0, 0, 1, 1])
  distances = np.array([1.0, 2.0, 3.0, 9.0, 10.0, 20.0])
  truths = np.array([True, True, False, False, True, False])
  valid = (relations, distances, truths)
  assert ranking.accuracy(valid, valid) == 1
  assert ranking.best_threshold(distances[:4], truths[:4]) == 2.5
  # Relation 2 has none of its own: 15 of all six is right on five.
  test = (np.array([2, 2]), np.array([2.4, 14.0]), np.array([True, False]))
  assert ranking.accuracy(valid, test) == 1


@pytest.mark.parametrize("truth", [True, False])
def test_one_kind_of_triples_has_a_threshold_beyond_them(truth):
  distances = np.array([1.0, 1.0, 2.0])
  limit = ranking.best_threshold(distances, np.full(3, truth))
  assert ((distances <= limit) == truth).all()


def test_between_equal_distances_there_is_no_threshold():
  limit = ranking.best_threshold(np.ones(3), np.array([True, False, False]))
  assert limit < 1


def test_false_triples_are_in_no_split():
  graph = read_graph(SAMPLE)
  true = graph.splits["train"]
  false = ranking.corrupted(graph, true, 0)
  assert len(np.unique(np.concatenate([false, graph.all]), axis=0)) > len(graph.all)
  both = {tuple(x) for x in false.tolist()} & {tuple(x) for x in graph.all.tolist()}
  assert not both and (false[:, 1] == true[:, 1]).all()


def test_a_graph_of_all_triples_has_no_false_ones():
  triples = np.array([(h, 0, t) for h in range(2) for t in range(2)], np.int32)
  graph = Graph(Ids("ab"), Ids("r"), {"train": triples})
  with pytest.raises(InputError, match="every triple is true"):
    ranking.corrupted(graph, triples, 0)


def test_distances_are_those_of_the_triples():
  entity, relation = np.array([[0.6, 0.8], [0.0, 1.0]]), np.array([[-0.5, 0.1]])
  triples = np.array([[0, 0, 1]])
  found = [ranking.triple_distances((entity, relation), triples, norm) for norm in (1, 2)]
  np.testing.assert_allclose(np.concatenate(found), [0.2, 0.141421], atol=1e-6)
