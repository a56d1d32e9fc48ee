"""What scores mean: calibration error, surest answers, thresholds for a precision or a recall."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from luke_jax.tasks.calibration import (
  BINS,
  Answered,
  Wanted,
  bins_of,
  calibration_error,
  coverage_of,
  threshold_for,
  threshold_for_recall,
  wanted_of,
)
from luke_jax.tasks.evaluation import Evaluation, false_answers

ANSWERS = st.lists(st.builds(Answered, st.floats(0, 1), st.booleans()), max_size=60)


def drawn(count, seed=0, offset=0.0):
  """Answers that are right as often as their scores say, less an offset."""
  rng = np.random.default_rng(seed)
  scores = rng.uniform(0, 1, count)
  return [Answered(float(x), bool(rng.random() < x - offset)) for x in scores]


def test_the_error_is_that_of_scores_that_say_too_much():
  assert calibration_error(drawn(20000)) < 0.02
  assert calibration_error(drawn(20000, offset=0.3)) == pytest.approx(0.3, abs=0.06)
  assert calibration_error([Answered(0.9, True)] * 9 + [Answered(0.9, False)]) == pytest.approx(0)
  assert calibration_error([Answered(0.2, True), Answered(0.6, False)]) == pytest.approx(0.7)
  assert calibration_error([]) == 0 and coverage_of([]) == []


def test_false_answers_are_those_of_examples_with_nothing_to_find():
  assert false_answers(["a", "", "", ""], ["", "", "b", ""]) == {"false_answers": 1 / 3}
  assert false_answers(["a"], [""]) == {} == false_answers([], [])


@given(ANSWERS)
def test_parts_and_the_surest_answers_are_of_all(answers):
  parts = bins_of(answers)
  assert sum(x.count for x in parts) == len(answers) and len(parts) <= BINS
  assert 0 <= calibration_error(answers) <= 1
  rows = coverage_of(answers)
  assert [x.count for x in rows] == sorted({x.count for x in rows})
  for row in rows:
    chosen = [x.right for x in answers if x.score >= row.threshold]
    assert row.count == len(chosen) and row.precision == pytest.approx(np.mean(chosen))
  if answers:
    assert rows[-1].coverage == 1


def test_a_threshold_has_its_precision_on_other_answers():
  """In 19 of 20 draws; here all of a hundred seeds are drawn and most of them hold."""
  held = []
  for seed in range(100):
    kept = threshold_for(drawn(400, seed), 0.8)
    if kept is not None:
      later = [x.right for x in drawn(4000, 1000 + seed) if x.score >= kept.threshold]
      held.append(np.mean(later) >= 0.8 - 0.01)
  assert len(held) > 75 and np.mean(held) > 0.95


def test_few_or_bad_answers_have_no_threshold():
  assert threshold_for([Answered(1.0, True)] * 58, 0.95) is None  # 59 right ones would tell
  assert threshold_for([Answered(1.0, True)] * 59, 0.95).coverage == 1
  assert threshold_for([Answered(0.9, False)] * 500, 0.5) is None
  assert threshold_for([], 0.9) is None


def texts(count, seed):
  """Texts with up to four names, each found with some score or not at all."""
  rng = np.random.default_rng(seed)
  names = rng.integers(0, 5, count)
  return [Wanted(int(n), tuple(rng.uniform(0, 1, rng.binomial(n, 0.99)))) for n in names]


def test_a_threshold_finds_its_share_in_other_texts():
  """In the mean over draws; twenty texts make it a little careful."""
  shares = []
  for seed in range(400):
    told = threshold_for_recall(texts(20, seed), 0.7)
    (*_, later) = (x for x in texts(30, 1000 + seed) if x.count)
    shares.append(sum(x >= told.threshold for x in later.scores) / later.count)
  assert 0.7 <= np.mean(shares) < 0.8


def test_a_threshold_for_a_recall_is_the_highest_that_holds():
  answers = [[Answered(0.9, True), Answered(0.8, False), Answered(0.7, True)], []] + [[]] * 3
  wanted = wanted_of(answers, [2, 0, 0, 0, 0])
  assert wanted[0] == Wanted(2, (0.9, 0.7)) and wanted[1] == Wanted(0, ())
  assert threshold_for_recall(wanted, 0.25)[:2] == (0.9, 0.5)
  assert threshold_for_recall(wanted, 0.5)[:2] == (0.7, 1.0)  # one more text could have nothing
  assert threshold_for_recall(wanted, 0.6) is None  # which one text cannot tell
  assert threshold_for_recall([], 0.5) is None and threshold_for_recall(wanted[1:], 0.5) is None


def test_answers_are_kept_in_json():
  evaluation = Evaluation({"f1": 1.0}, answers=(Answered(0.25, True), Answered(0.5, False)))
  assert Evaluation.from_json(evaluation.as_json()).answers == evaluation.answers
  del (old := evaluation.as_json())["answers"]  # of a run by an earlier version
  assert Evaluation.from_json(old).answers == ()
