"""Scores of labels, sets and numbers: those of scikit-learn and scipy, and sums written out."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.tasks.classification import score
from luke_jax.tasks.classification.files import TextExample
from luke_jax.tasks.predictions import Label, Labels, Number

GOLDENS = json.loads((Path(__file__).parents[2] / "goldens" / "labels.json").read_text())


@pytest.mark.parametrize("case", GOLDENS["measures"], ids=lambda case: str(case["seed"]))
def test_scores_are_those_of_scikit_learn_and_scipy(case):
  rng = np.random.default_rng(case["seed"])
  gold, predicted = rng.integers(0, 4, 30), rng.integers(0, 4, 30)
  predicted = np.where(rng.random(30) < 0.5, gold, predicted)
  sets = rng.random((2, 12, 4)) < 0.4
  numbers = [rng.normal(size=30).round(1).tolist() for _ in range(2)]
  found = score.score_labels([str(x) for x in gold], [str(x) for x in predicted])
  two = [["01"[int(x > 1)] for x in side] for side in (gold, predicted)]
  of_two = score.score_labels(*two, "1")
  of_sets = score.score_sets(*([set(np.flatnonzero(x).astype(str)) for x in s] for s in sets))
  of_numbers = score.score_numbers(*numbers)
  assert found | {"micro_f1": found["accuracy"]} == pytest.approx(
    {name: case[name] for name in ("accuracy", "micro_f1", "macro_f1", "matthews", "rmse")}
  )
  assert of_two["f1"] == pytest.approx(case["binary_f1"])
  assert of_two["matthews"] == pytest.approx(case["binary_matthews"])
  for name in ("micro_f1", "macro_f1", "accuracy"):
    assert of_sets[name] == pytest.approx(case[f"sets_{name}"])
  for name in ("pearson", "spearman"):
    assert of_numbers[name] == pytest.approx(case[name])


def test_ratings_have_an_error_too():
  found = score.score_labels(list("0423"), list("0224"))
  assert (found["accuracy"], found["rmse"]) == (0.5, pytest.approx(1.118034, abs=1e-6))
  assert "rmse" not in score.score_labels(list("0101"), list("0111"))
  assert "rmse" not in score.score_labels(list("abca"), list("abcb"))


def test_ranks_by_question():
  groups, relevant = list("aaabbbcc"), [0, 1, 1, 0, 0, 1, 0, 0]
  scores = [0.9, 0.2, 0.5, 0.1, 0.3, 0.3, 0.2, 0.1]
  # 2nd of a; of b the one before has the same score; c has no answer.
  assert score.mean_reciprocal_rank(groups, relevant, scores) == pytest.approx((1 / 2 + 1 / 2) / 3)
  assert score.mean_reciprocal_rank([], [], []) == 0.0


def test_what_is_constant_has_no_correlation():
  assert score.pearson([1, 2, 3], [4, 4, 4]) == 0.0
  assert score.score_labels(list("ab"), list("aa"))["matthews"] == 0.0


def example(id, *labels, qid=None, pair=None):
  return TextExample(id, f"FILE: line {id}", f"text {id}", pair, labels, qid)


def predicted(**scores):
  best = sorted(scores, key=lambda name: -scores[name])
  return Labels((Label(best[0], scores[best[0]]),), scores)


def test_evaluation_of_one_label():
  examples = [example("1", "x"), example("2", "y", pair="more"), example("3", "y")]
  found = score.evaluate(
    examples, [predicted(x=0.7, y=0.3), predicted(x=0.9, y=0.1), predicted(x=0.6, y=0.4)], ""
  )
  assert found.scores["accuracy"] == pytest.approx(1 / 3)
  assert found.confusion == {("x", "x"): 1, ("y", "x"): 2}
  assert found.labels["x"] == {"precision": 1 / 3, "recall": 1.0, "f1": 0.5, "count": 1}
  first, second = found.mistakes  # the one it was surest of first
  assert (first.id, first.gold, first.predicted, first.score) == ("2", "y", "x", 0.9)
  assert (first.question, first.text, second.question) == ("text 2", "more", "")


def test_ranking_counts_where_there_are_questions():
  examples = [example("1", "0", qid="a"), example("2", "1", qid="a"), example("3", "1", qid="b")]
  chances = [{"0": 0.4, "1": 0.6}, {"0": 0.6, "1": 0.4}, {"0": 0.9, "1": 0.1}]
  found = score.evaluate(examples, [predicted(**x) for x in chances], "1")
  assert found.scores["mrr"] == pytest.approx((1 / 2 + 1) / 2)
  assert score.positive_of(("0", "1")) == "1" and score.positive_of(("a", "b")) == ""


def test_evaluation_of_several_labels_and_of_numbers():
  both = Labels((Label("x", 0.9), Label("y", 0.8)), {"x": 0.9, "y": 0.8, "z": 0.1})
  found = score.evaluate_sets(
    [example("1", "x"), example("2")], [both, Labels((), {})], ("x", "y", "z")
  )
  assert found.scores["micro_f1"] == pytest.approx(2 / 3) and found.scores["accuracy"] == 0.5
  assert found.scores["false_answers"] == 0  # of the text without a label
  assert set(found.labels) == {"x", "y", "z"}
  (mistake,) = found.mistakes
  assert (mistake.gold, mistake.predicted, mistake.score) == ("x", "x, y", 0.8)
  found = score.evaluate_numbers(
    [example("1", "1"), example("2", "2"), example("3", "3.5")], [Number(1), Number(4), Number(3)]
  )
  assert found.scores["rmse"] == pytest.approx(math.sqrt((4 + 0.25) / 3))
  assert [x.id for x in found.mistakes] == ["2", "3"]


def test_files_of_predictions(tmp_path):
  path = tmp_path / "p.jsonl"
  examples = [example("1", "x"), example("2", "y")]
  path.write_text('{"id": "1", "label": "x"}\n{"id": "2", "label": "x"}\n')
  found = score.score_file(examples, score.read_predictions(path, Faults()))
  assert found["accuracy"] == 0.5
  path.write_text('{"id": "1", "label": "x"}\n')  # one is missing, and so wrong
  assert score.score_file(examples, score.read_predictions(path, Faults()))["accuracy"] == 0.5
  path.write_text('{"id": "1", "labels": ["x", "y"]}\n{"id": "2", "labels": ["y"]}\n')
  found = score.score_file(examples, score.read_predictions(path, Faults()))
  assert found["micro_f1"] == pytest.approx(0.8)
  path.write_text('{"id": "1", "number": 1}\n{"id": "2", "number": 2.5}\n')
  numbers = [example("1", "1"), example("2", "3")]
  found = score.score_file(numbers, score.read_predictions(path, Faults()))
  assert found["rmse"] == pytest.approx(math.sqrt(0.125))
  path.write_text('{"id": "1", "number": 1}\n')
  with pytest.raises(InputError, match=r"id '2': no number; expected one for each example"):
    score.score_file(numbers, score.read_predictions(path, Faults()))
  path.write_text('{"id": "1"}\n')
  with pytest.raises(InputError, match=r"line 1: no label, labels or number"):
    score.read_predictions(path, Faults())
