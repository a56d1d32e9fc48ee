"""The metrics: by hand, and against plain counting."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.tasks.evaluation import Mark
from luke_jax.tasks.predictions import Span, Types
from luke_jax.tasks.typing.files import TypingExample
from luke_jax.tasks.typing.score import (
  best_threshold,
  evaluate,
  read_predictions,
  score,
  score_file,
)


def test_by_hand():
  gold = [{"person", "pilot"}, {"place"}, set(), {"event"}]
  predicted = [{"person", "place"}, {"place"}, {"event"}, set()]
  found = score(gold, predicted)
  # Of four labels two are right, and of the four in gold.
  assert found["f1"] == found["precision"] == found["recall"] == 0.5
  # Means: precision of 1/2, 1 and 0; recall of 1/2, 1 and 0.
  assert found["macro_precision"] == found["macro_recall"] == 0.5
  assert found["strict_accuracy"] == 1 / 4 and found["strict_f1"] == 1 / 3
  assert next(iter(found)) == "f1"


def test_nothing_predicted_is_worth_nothing():
  assert set(score([{"person"}], [set()]).values()) == {0}
  assert score([set()], [set()])["strict_accuracy"] == 1


labels = st.sets(st.sampled_from("abc"))
pairs = st.lists(st.tuples(labels, labels), min_size=1)


@given(pairs)
def test_the_micro_scores_count_labels(some):
  gold, predicted = zip(*some, strict=True)
  right = sum(x in g and x in p for g, p in some for x in "abc")
  wrong = sum(x not in g and x in p for g, p in some for x in "abc")
  missed = sum(x in g and x not in p for g, p in some for x in "abc")
  f1 = 2 * right / (2 * right + wrong + missed) if right else 0
  assert score(gold, predicted)["f1"] == pytest.approx(f1)


logits = st.fixed_dictionaries({x: st.sampled_from([-3.0, -1.0, 0.0, 0.5, 2.0]) for x in "abc"})


@given(st.lists(st.tuples(labels, logits), min_size=1))
def test_no_threshold_beats_the_best(some):
  gold, rows = zip(*some, strict=True)

  def f1(threshold):
    return score(gold, [{x for x in row if row[x] > threshold} for row in rows])["f1"]

  threshold, best = best_threshold(gold, rows)
  assert best == pytest.approx(max(map(f1, (-4, -2, -0.5, 0.25, 1, 3))))
  assert f1(threshold) == pytest.approx(best)


def test_the_best_threshold_lies_between_two_logits():
  gold = [{"a"}, {"b"}]
  assert best_threshold(gold, [{"a": 2.0, "b": -1.0}, {"a": -2.0, "b": 1.0}]) == (0, 1)
  assert best_threshold(gold, [{"a": -2.0}, {"b": -2.0}]) == (-3, 1)
  assert best_threshold([set()], [{"a": 2.0}]) == (0, 0)


def example(id, *labels):
  return TypingExample(id, f"FILE: line {id}", "Ana flew", (0, 3), labels)


def types(**logits):
  spans = [Span("Ana", 0, 3, label, logit / 10) for label, logit in logits.items() if logit > 0]
  return Types(tuple(spans), logits)


def test_an_evaluation_says_where_the_scores_come_from():
  examples = [example("1", "person"), example("2", "person"), example("3")]
  predictions = [types(person=5, place=-5), types(person=-1, place=2), types(person=-6, place=3)]
  found = evaluate(examples, predictions, ("person", "place", "event"))
  assert found.scores["f1"] == pytest.approx(2 * (1 / 3) * (1 / 2) / (1 / 3 + 1 / 2))
  # Above 4 one label is right of one, and of two; above -3 two are right, of four.
  assert found.scores["best_threshold"] == 4
  assert found.scores["best_threshold_f1"] == pytest.approx(2 / 3)
  assert found.scores["false_answers"] == 1
  assert found.labels["person"] == {"precision": 1, "recall": 0.5, "f1": 2 / 3, "count": 2}
  assert found.labels["event"]["count"] == 0
  assert [(x.id, x.gold, x.predicted, x.score) for x in found.mistakes] == [
    ("3", "nothing", "place", 0.3),
    ("2", "person", "place", 0.2),
  ]
  assert found.mistakes[0].marks == (Mark(0, 3, "place", "wrong"),)
  assert found.mistakes[1].marks == (Mark(0, 3, "place", "wrong"), Mark(0, 3, "person", "missed"))


def test_predictions_are_read_by_id(tmp_path):
  path = tmp_path / "predictions.jsonl"
  path.write_text('{"id": "b", "labels": ["a", "a"], "scores": [1, 1]}\n{"labels": []}\n')
  assert read_predictions(path, Faults()) == {"b": {"a"}, "2": set()}
  path.write_text('{"id": "b"}\n')
  with pytest.raises(InputError, match="line 1: labels: missing; expected a list"):
    read_predictions(path, Faults())


def test_an_example_without_a_prediction_has_no_labels():
  found = score_file([example("a", "person"), example("b", "place")], {"b": {"place"}})
  assert (found["precision"], found["recall"]) == (1, 0.5)


def test_predictions_that_fit_no_example_are_refused():
  with pytest.raises(InputError, match="'c': of no example"):
    score_file([example("a")], {"c": set()})
  with pytest.raises(InputError, match="FILE: line a: labels: missing"):
    score_file([TypingExample("a", "FILE: line a", "Ana", (0, 3))], {})
