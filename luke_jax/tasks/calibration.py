"""Meaning of scores: how often answers are right, and thresholds for a precision or a recall."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

SHARPEST = 1e-9  # beside 0 and 1, whose logits are endless
BINS = 10  # of the calibration error, with as many answers each
COVERAGES = (0.25, 0.5, 0.75, 0.9, 1.0)
CERTAINTY = 0.95  # of a threshold's precision
MOST_THRESHOLDS = 100  # thresholds at most
FEWEST_FIRST = 5  # times the fewest answers that can tell, where there are so many
STEPS, RIDGE = 50, 1.0  # of Newton's method, and what draws few answers to scores as they are
MOST_LOGIT = 30.0
LEAST_SCORE = 0.02  # score of the answers that are looked at
NEARLY_BEST = 0.01  # of F1, which a lower threshold may lose on dev
ENOUGH_ANSWERS = 100  # answers that say what scores mean


class Answered(NamedTuple):
  """An answer's score and whether it is right."""

  score: float
  right: bool


class Wanted(NamedTuple):
  """Number of things to find in an example, and the scores of those that were found."""

  count: int
  scores: tuple[float, ...]


class Bin(NamedTuple):
  """Answers of like scores: the mean of these, how many of them are right, and their number."""

  score: float
  right: float
  count: int


class Kept(NamedTuple):
  """The surest answers: their least score, share of all and number, and how many are right."""

  threshold: float
  coverage: float
  count: int
  precision: float


class Recalled(NamedTuple):
  """A threshold, the mean share that is found with it, and the examples that have something."""

  threshold: float
  recall: float
  examples: int


def share_right(score: float, slope: float, offset: float) -> float:
  """Returns how often answers of a score are right, by a line through the logits of scores."""
  sure = min(max(score, SHARPEST), 1 - SHARPEST)
  return 1 / (1 + math.exp(-slope * math.log(sure / (1 - sure)) - offset))


def fitted(answers: Sequence[Answered]) -> tuple[float, float]:
  """Returns slope and offset that make the logits of scores those of being right (Platt, 1999).

  Of too few answers, or of such that are all right or all wrong, scores stay as they are.
  """
  right = np.array([x.right for x in answers], float)
  if len(answers) < 10 or not 0 < right.mean() < 1:
    return 1.0, 0.0
  scores = np.clip([x.score for x in answers], 1e-6, 1 - 1e-6)
  inputs = np.stack([np.log(scores / (1 - scores)), np.ones(len(scores))], axis=1)
  weights = np.array([1.0, 0.0])
  for _ in range(STEPS):
    chances = 1 / (1 + np.exp(-np.clip(inputs @ weights, -MOST_LOGIT, MOST_LOGIT)))
    slopes = inputs.T @ (chances - right) + RIDGE * (weights - [1, 0])
    curves = (inputs * (chances * (1 - chances))[:, None]).T @ inputs + RIDGE * np.eye(2)
    step = np.linalg.solve(curves, slopes)
    weights -= step / max(1.0, float(np.linalg.norm(step)))  # far steps may go ever farther
  return float(max(weights[0], 1e-3)), float(weights[1])


def low_threshold(answers: Sequence[Answered], gold: float, nearly: float = NEARLY_BEST) -> float:
  """Returns the least score from which answers have nearly the best F1 over so many names.

  Other texts than those of dev have lower scores, so that a higher one would miss more there.
  """
  ranked = sorted(answers, key=lambda x: -x.score)
  right = np.cumsum([x.right for x in ranked])
  f1 = 2 * right / (np.arange(1, len(ranked) + 1) + gold)
  if not ranked:
    return 0.5
  last = int(np.flatnonzero(f1 >= f1.max() - nearly)[-1])
  return float(np.clip(ranked[last].score, LEAST_SCORE, 1 - 1e-6))


def wanted_of(answers: Iterable[Sequence[Answered]], counts: Iterable[int]) -> list[Wanted]:
  """Returns the right answers of each example: their number, and the scores of those given."""
  return [
    Wanted(count, tuple(x.score for x in of_one if x.right))
    for of_one, count in zip(answers, counts, strict=True)
  ]


def bins_of(answers: Sequence[Answered]) -> list[Bin]:
  """Returns the answers in order of their scores in parts of equal size."""
  if not answers:
    return []
  scores, right = np.array(sorted(answers, key=lambda x: x.score), float).T
  _, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
  right = (np.bincount(places, right) / counts)[places]  # equal scores are equally often right
  parts = (np.array_split(x, min(BINS, len(answers))) for x in (scores, right))
  return [Bin(float(x.mean()), float(y.mean()), len(x)) for x, y in zip(*parts, strict=True)]


def calibration_error(answers: Sequence[Answered]) -> float:
  """Returns the mean difference of scores and shares of right answers, of like scores together."""
  total = sum(x.count * abs(x.score - x.right) for x in bins_of(answers))
  return total / max(1, len(answers))


def coverage_of(answers: Sequence[Answered]) -> list[Kept]:
  """Returns the surest quarter of the answers, half, and so on; equal scores stay together."""
  if not answers:
    return []
  ranked = _Ranked.of(answers)
  found = (ranked.surest(share * len(answers)) for share in COVERAGES)
  return list({x.count: x for x in found}.values())


def threshold_for(answers: Sequence[Answered], precision: float) -> Kept | None:
  """Returns the most answers that have a precision; None if that cannot be told of any.

  It holds with a certainty of 95 %, if the answers to come are as independent and as hard as these.
  Thresholds are tried downwards until one is not that sure, so that trying several of them does not
  make it less true; from several times as many answers as can tell, lest one wrong answer ends it.
  """
  fewest = math.ceil(math.log(1 - CERTAINTY) / math.log(precision))
  best = None
  for kept in _tried(answers, fewest):
    wrong = round(kept.count * (1 - kept.precision))
    if _at_most(wrong, kept.count, 1 - precision) > 1 - CERTAINTY:
      break
    best = kept
  return best


def threshold_for_recall(wanted: Sequence[Wanted], recall: float) -> Recalled | None:
  """Returns the highest threshold with which a share is found; None if that cannot be told of any.

  By conformal risk control (Angelopoulos et al., 2024): with one more example of which all is
  missed, the mean share of what is missed is small enough. So it is, in the mean over such draws,
  for the next example that is drawn as these were and has something to find.
  """
  some = [x for x in wanted if x.count]
  gains = sorted(((score, 1 / x.count) for x in some for score in x.scores), reverse=True)
  found = np.cumsum([gain for _, gain in gains])
  enough = np.flatnonzero(len(some) + 1 - found <= (1 - recall) * (len(some) + 1) + 1e-9)
  if not len(enough):
    return None
  threshold = gains[enough[0]][0]
  with_it = sum(gain for score, gain in gains if score >= threshold)
  return Recalled(threshold, with_it / len(some), len(some))


def _at_most(wrong: int, count: int, rate: float) -> float:
  """Returns how probable it is that so many or fewer of `count` are wrong, each at a rate."""
  logs = [
    math.lgamma(count + 1)
    - math.lgamma(k + 1)
    - math.lgamma(count - k + 1)
    + k * math.log(rate)
    + (count - k) * math.log(1 - rate)
    for k in range(wrong + 1)
  ]
  return float(np.exp(logs).sum())


def _tried(answers: Sequence[Answered], fewest: int) -> Iterator[Kept]:
  if fewest <= len(answers):
    ranked, first = _Ranked.of(answers), max(fewest, min(FEWEST_FIRST * fewest, len(answers) // 4))
    for count in np.unique(np.linspace(first, len(answers), MOST_THRESHOLDS).round()):
      yield ranked.surest(count)


class _Ranked(NamedTuple):
  """Answers, the surest first."""

  scores: np.ndarray
  right: np.ndarray  # how many of them are, up to each

  @classmethod
  def of(cls, answers: Sequence[Answered]) -> "_Ranked":
    """Returns the answers in order."""
    scores, right = np.array(answers, float).T
    order = np.argsort(-scores, kind="stable")
    return cls(scores[order], right[order].cumsum())

  def surest(self, count: float) -> Kept:
    """Returns about so many of the surest answers, with all that have the score of the last."""
    total = len(self.scores)
    least = self.scores[min(total, max(1, round(count))) - 1]
    number = int(np.searchsorted(-self.scores, -least, side="right"))
    return Kept(float(least), number / total, number, float(self.right[number - 1] / number))
