"""Measures of labels, numbers and rankings, as scikit-learn and scipy define them."""

from collections.abc import Mapping, Sequence

import numpy as np

Counts = Mapping[tuple[str, str], int]  # by gold and predicted label


def f1_of_sets(
  gold: Sequence[set[str]], predicted: Sequence[set[str]], labels: Sequence[str]
) -> dict[str, dict[str, float]]:
  """Returns precision, recall, F1 and count of each label; 0 for a division by 0."""
  table = {}
  for label in labels:
    wanted, predictions = (np.array([label in x for x in side], bool) for side in (gold, predicted))
    right, positives, count = (int(x.sum()) for x in (wanted & predictions, predictions, wanted))
    table[label] = {
      "precision": right / positives if positives else 0.0,
      "recall": right / count if count else 0.0,
      "f1": 2 * right / (positives + count) if positives + count else 0.0,
      "count": count,
    }
  return table


def matthews(confusion: Counts) -> float:
  """Returns Matthews' correlation of any number of classes; 0 if one side is constant."""
  names = sorted({name for pair in confusion for name in pair})
  table = np.array([[confusion.get((g, p), 0) for p in names] for g in names], np.float64)
  gold, predicted, total = table.sum(1), table.sum(0), table.sum()
  covariance = np.trace(table) * total - gold @ predicted
  scale = np.sqrt((total**2 - gold @ gold) * (total**2 - predicted @ predicted))
  return float(covariance / scale) if scale else 0.0


def pearson(gold: Sequence[float], predicted: Sequence[float]) -> float:
  """Returns the correlation of numbers; 0 if one side is constant."""
  one, other = (np.asarray(x, np.float64) - np.mean(x) for x in (gold, predicted))
  scale = np.sqrt((one @ one) * (other @ other))
  return float(one @ other / scale) if scale else 0.0


def spearman(gold: Sequence[float], predicted: Sequence[float]) -> float:
  """Returns the correlation of ranks, equal numbers having the mean of theirs."""
  return pearson(_ranks(gold), _ranks(predicted))


def _ranks(values: Sequence[float]) -> list[float]:
  _, places, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
  last = counts.cumsum()
  return (last - (counts - 1) / 2)[places].tolist()


def root_mean_square(gold: Sequence[float], predicted: Sequence[float]) -> float:
  """Returns the root of the mean square of the differences, one mean for all."""
  return float(np.sqrt(np.mean(np.square(np.subtract(gold, predicted)))))


def mean_reciprocal_rank(
  groups: Sequence[str], relevant: Sequence[bool], scores: Sequence[float]
) -> float:
  """Returns the mean over groups of 1 / rank of the best relevant item; 0 where none is relevant.

  An irrelevant item with the same score ranks before a relevant one.
  """
  best: dict[str, float] = {}
  for group, wanted, score in zip(groups, relevant, scores, strict=True):
    best.setdefault(group, -np.inf)
    if wanted:
      best[group] = max(best[group], score)
  before = dict.fromkeys(best, 0)
  for group, wanted, score in zip(groups, relevant, scores, strict=True):
    before[group] += not wanted and score >= best[group]
  ranks = (1 / (before[group] + 1) if top > -np.inf else 0.0 for group, top in best.items())
  return float(np.mean(list(ranks))) if best else 0.0
