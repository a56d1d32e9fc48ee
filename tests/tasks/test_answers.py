"""How answers are compared, and files of them."""

import json
import math

import pytest

from luke_jax.errors import InputError
from luke_jax.tasks.answers import exact_match, normalized, read_predictions, token_f1
from luke_jax.tasks.files import Faults


@pytest.mark.parametrize(
  ("text", "bare"),
  [
    ("The  U.S.,\nan  answer", "us answer"),
    ("theory of a-an", "theory of aan"),
    ("“Zürich” – Á.", "“zürich” – á"),  # only ASCII punctuation goes
    ("a. the?", ""),
    ("A\u00a0B", "b"),  # white space of any kind parts words
  ],
)
def test_normalized(text, bare):
  assert normalized(text) == bare


@pytest.mark.parametrize(
  ("answer", "golds", "exact", "f1"),
  [
    ("The Ana Lopez!", ["ana lopez"], True, 1.0),
    ("Ana", ["Ana Lopez", "Bob"], False, 2 / 3),
    ("Ana Ana", ["Ana Lopez"], False, 1 / 2),
    ("x y z", ["z x", "q"], False, 4 / 5),
    ("Bob", ["Ana", "bob."], True, 1.0),
    ("the", ["a"], True, 0.0),  # nothing is left of either, in which no word is the same
    ("", ["Ana"], False, 0.0),
    ("Ana", [], False, 0.0),
  ],
)
def test_an_answer_against_golds(answer, golds, exact, f1):
  assert exact_match(answer, golds) is exact
  assert math.isclose(token_f1(answer, golds), f1)


def test_predictions_in_both_forms(tmp_path):
  by_line, by_id = tmp_path / "answers.jsonl", tmp_path / "answers.json"
  answers = {"a": "Bob", "b": ""}
  by_line.write_text(
    "".join(json.dumps({"id": id, "answer": a, "score": 1}) + "\n" for id, a in answers.items())
  )
  by_id.write_text(json.dumps(answers))
  assert read_predictions(by_line, Faults()) == read_predictions(by_id, Faults()) == answers


@pytest.mark.parametrize(
  ("name", "content", "fault"),
  [
    ("a.jsonl", '{"id": "a"}', "line 1: answer: missing; expected a string"),
    ("a.json", '{"a": 3}', "a.json: a: 3; expected a string"),
    ("a.json", '["Bob"]', "a list; expected an object of id -> answer"),
  ],
)
def test_faulty_predictions(tmp_path, name, content, fault):
  (tmp_path / name).write_text(content)
  with pytest.raises(InputError, match=fault):
    read_predictions(tmp_path / name, Faults())
