"""The metrics are those of SQuAD's scripts."""

import dataclasses
import json
import math
import re
import string
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.tasks.predictions import Answer
from luke_jax.tasks.qa.files import QuestionExample
from luke_jax.tasks.qa.score import best_thresholds, evaluate, read_predictions, score, score_file

NONE = Answer("", 0, 0, 0.0)


def example(id="a", text="The old town of Rye", answers=((4, 12),)):
  return QuestionExample(id, f"here: {id}", text, "Where?", answers)


@pytest.mark.parametrize(
  ("golds", "answer", "exact", "f1"),
  [
    (["the Old town"], "old  town!", 1, 1),
    (["old town"], "old", 0, 2 / 3),
    (["x", "old town of Rye"], "old town", 0, 2 / 3),
    (["old old town"], "old town", 0, 0.8),  # the second "old" is missed
    (["Rye"], "", 0, 0),
    (["Rye"], None, 0, 0),
    (["18–20"], "1820", 0, 0),  # a dash beyond ASCII stays
    (["U.S."], "us", 1, 1),
    (["The"], "a", 1, 0),  # nothing is left of both: the scripts of 1.1 sees no common word
  ],
)
def test_one_question(golds, answer, exact, f1):
  assert score([golds], [answer]) == {"exact_match": exact, "f1": pytest.approx(f1)}


def test_questions_without_answers():
  gold = [["Rye"], ["the"], [], [], []]
  scores = score(gold, ["rye", "", "", "Rye", None])
  assert scores == {
    "exact_match": 3 / 5,  # of "the" nothing is left, so it is no answer
    "f1": 3 / 5,
    "has_answer_exact_match": 1,
    "has_answer_f1": 1,
    "no_answer_exact_match": 1 / 3,
    "no_answer_f1": 1 / 3,
    "false_answers": 1 / 3,  # nobody predicted anything for the last
  }


def plain_score(golds, answer, second):
  """As the scripts count, word for word."""

  def words(text):
    kept = "".join(c for c in text.lower() if c not in string.punctuation)
    return [w for w in re.split(r"\s+", kept) if w and w not in ("a", "an", "the")]

  best_exact = best_f1 = 0.0
  if second:
    golds = [gold for gold in golds if words(gold)] or [""]
  for gold in golds:
    one, other = words(answer), words(gold)
    best_exact = max(best_exact, float(one == other))
    common = sum((Counter(one) & Counter(other)).values())
    if second and not (one and other):
      f1 = float(one == other)
    else:
      f1 = 2 * common / (len(one) + len(other)) if common else 0.0
    best_f1 = max(best_f1, f1)
  return best_exact, best_f1


phrases = st.lists(st.sampled_from(["The", "a", "town", "Town.", "-", "18", "é"]), max_size=4).map(
  " ".join
)


@given(st.lists(st.tuples(st.lists(phrases, max_size=3), phrases), min_size=1, max_size=5))
def test_as_plainly_counted(questions):
  gold, predicted = zip(*questions, strict=True)
  second = not all(gold)
  pairs = [plain_score(*pair, second) for pair in questions]
  scores = score(gold, predicted)
  assert scores["exact_match"] == pytest.approx(sum(exact for exact, _ in pairs) / len(pairs))
  assert scores["f1"] == pytest.approx(sum(f1 for _, f1 in pairs) / len(pairs))


def told(text, odds):
  """An answer, and that there is none with odds against it."""
  share = 1 / (1 + math.exp(odds))
  return [Answer(text, 0, len(text), share), NONE._replace(score=1 - share)]


@given(
  st.lists(
    st.tuples(
      # Golds of which something is left: the script does not count others in its search either.
      st.lists(phrases.map("old {}".format), max_size=2),
      st.sampled_from(["old town", "18 town", "é"]),
      st.integers(-9, 9),
    ),
    min_size=1,
    max_size=6,
    unique_by=lambda question: question[2],
  )
)
def test_no_threshold_is_better_than_the_best(questions):
  gold = [[], *(golds for golds, _, _ in questions)]
  predictions = [told("x", 20), *(told(answer, odds) for _, answer, odds in questions)]

  def at(threshold):
    odds = [20, *(odds for _, _, odds in questions)]
    return score(
      gold, ["" if x > threshold else p[0].text for x, p in zip(odds, predictions, strict=True)]
    )

  found = best_thresholds(gold, predictions)
  for metric in ("exact_match", "f1"):
    tried = [at(threshold + 0.5)[metric] for threshold in range(-11, 22)]
    assert found[f"best_{metric}"] == pytest.approx(max(tried))
    threshold = found[f"best_{metric}_threshold"] + 1e-6
    assert at(threshold)[metric] == pytest.approx(max(tried))


def test_by_id():
  examples = [example("a"), example("b"), example("c")]
  predicted = {"a": "old town", "b": "town", "else": "old town"}
  assert score_file(examples, predicted) == {
    "exact_match": pytest.approx(1 / 3),
    "f1": pytest.approx(5 / 9),
  }
  with pytest.raises(InputError, match="here: d: answers: missing; expected a list"):
    score_file([example("d", answers=None)], predicted)


def test_files_of_predictions(tmp_path):
  lines = tmp_path / "p.jsonl"
  lines.write_text('{"id": "a", "answer": "x", "more": 1}\n{"id": "b", "answer": ""}\n')
  whole = tmp_path / "p.json"
  whole.write_text(json.dumps({"a": "x", "b": ""}))
  for path in (lines, whole):
    assert read_predictions(path, Faults()) == {"a": "x", "b": ""}


def test_mistakes_worst_first():
  examples = [example("right"), example("near"), example("sure"), example("none", answers=())]
  found = evaluate(
    examples,
    [
      [Answer("old town", 4, 12, 0.9)],
      [Answer("town", 8, 12, 0.9)],
      [Answer("Rye", 16, 19, 0.8)],
      [NONE._replace(score=0.6), Answer("Rye", 16, 19, 0.4)],
    ],
  )
  assert found.scores["exact_match"] == 0.5
  assert found.labels["no answer"] == {"exact_match": 1, "f1": 1, "count": 1}
  assert found.labels["has answer"]["count"] == 3
  assert [mistake.id for mistake in found.mistakes] == ["sure", "near"]
  worst = found.mistakes[0]
  assert (worst.gold, worst.predicted, worst.score) == ("old town", "Rye", 0.8)
  assert worst.question == examples[2].question and worst.text == examples[2].text
  assert [(worst.text[m.start : m.end], m.outcome) for m in worst.marks] == [
    ("Rye", "wrong"),
    ("old town", "missed"),
  ]


def test_answers_of_a_language_are_compared_as_in_mlqa():
  text = "Der Turm – das Wahrzeichen – der Stadt"
  examples = [
    dataclasses.replace(example(text=text, answers=((4, 8),)), language=language)
    for language in ("de", "")
  ]
  of_german, of_squad = ([x] for x in examples)
  assert score_file(of_german, {"a": "der Turm –"}) == {"exact_match": 1, "f1": 1}
  assert score_file(of_squad, {"a": "der Turm –"}) == {"exact_match": 0, "f1": 0.5}
  evaluation = evaluate(of_german, [[Answer("Der Turm –", 0, 10, 0.5)]])
  assert evaluation.scores["f1"] == 1 and evaluation.answers[0].right and not evaluation.mistakes
