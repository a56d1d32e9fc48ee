"""How answers are compared, and files of them."""

import json
import math

import pytest

from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.tasks.answers import exact_match, normalized, read_predictions, token_f1


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
  ("language", "text", "bare"),
  [
    ("en", "The “U.S.” $5 – an answer", "us 5 answer"),  # SQuAD's rules keep the dash and quotes
    ("de", "Den Turm (das Wahrzeichen) einer Stadt, the", "turm wahrzeichen stadt the"),
    ("es", "¿La torre de los Reyes? Un día", "torre de reyes día"),
    ("vi", "Những ngôi nhà của làng", "ngôi nhà làng"),
    ("hi", "यह एक नदी है।", "यह एक नदी है"),
    ("ar", "في البيت، الكبير", "في بيت كبير"),  # its article is a part of the word
    ("zh", "《红楼梦》 is 18世纪 的书。", "红 楼 梦 is 18 世 纪 的 书"),
  ],
)
def test_normalized_as_in_mlqa(language, text, bare):
  assert normalized(text, language) == bare


def test_characters_of_chinese_are_words():
  assert token_f1("在北京城", ["北京"], "zh") == pytest.approx(2 * (2 / 4) * 1 / (2 / 4 + 1))
  assert token_f1("在北京城", ["北京"]) == 0
  assert exact_match("《北京》", ["北京。"], "zh") and not exact_match("《北京》", ["北京。"])
  assert exact_match("der Turm", ["Turm"], "de") and not exact_match("the Turm", ["Turm"], "de")


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
