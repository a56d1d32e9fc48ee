"""Triple classification: true or false by a threshold of the distance, one for each relation."""

import numpy as np

from luke_jax.errors import InputError
from luke_jax.graph.known import Known
from luke_jax.graph.triples import Graph


def triple_distances(
  vectors: tuple[np.ndarray, np.ndarray], triples: np.ndarray, norm: int
) -> np.ndarray:
  """Returns the distances |h + r - t| of triples (T, 3)."""
  (entity, relation), (heads, relations, tails) = vectors, triples.T
  differences = np.asarray(entity[heads]) + relation[relations] - entity[tails]
  return np.linalg.norm(np.asarray(differences, np.float32), norm, axis=1)


def corrupted(graph: Graph, triples: np.ndarray, seed: int) -> np.ndarray:
  """Returns for each triple one with another head or tail that is in no split."""
  rng, facts = np.random.default_rng(seed), Known(graph.all)
  false, remaining = triples.copy(), np.arange(len(triples))
  for _ in range(100):
    columns = rng.choice([0, 2], len(remaining))
    false[remaining] = triples[remaining]
    false[remaining, columns] = rng.integers(0, len(graph.entities), len(remaining))
    remaining = remaining[facts.contains(false[remaining])]
    if not len(remaining):
      return false
  raise InputError("negatives: every triple is true; expected some that are in no split")


def accuracy(
  valid: tuple[np.ndarray, np.ndarray, np.ndarray],
  test: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> float:
  """Returns the share of test triples that thresholds chosen on valid classify correctly.

  Each split is relations, distances and truths (T,). A relation that valid lacks has the threshold
  of all relations.
  """
  relations, distances, truths = valid
  shared = best_threshold(distances, truths)
  thresholds = {
    relation: best_threshold(distances[relations == relation], truths[relations == relation])
    for relation in np.unique(relations)
  }
  limits = np.array([thresholds.get(relation, shared) for relation in test[0]])
  return float(((test[1] <= limits) == test[2]).mean())


def best_threshold(distances: np.ndarray, truths: np.ndarray) -> float:
  """Returns the distance up to which calling triples true is right most often."""
  order = np.argsort(distances)
  values, signs = distances[order], np.where(truths[order], 1, -1)
  right = np.concatenate([[0], np.cumsum(signs)])
  # Between equal distances there is no threshold.
  right[1:-1][values[1:] == values[:-1]] = np.iinfo(right.dtype).min
  place = int(right.argmax())
  edges = np.concatenate([[values[0] - 1], values, [values[-1] + 1]])
  return float((edges[place] + edges[place + 1]) / 2) if place else float(edges[0])
