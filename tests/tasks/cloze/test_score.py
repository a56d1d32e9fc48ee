"""Exact match and F1 of the best candidates."""

import pytest

from luke_jax.errors import InputError
from luke_jax.tasks.cloze.files import parse
from luke_jax.tasks.cloze.score import evaluate, score, score_file
from luke_jax.tasks.predictions import Answer

TEXT = "The U.S. met Ana Lopez and Bob."
ENTITIES = [[4, 8], [13, 22], [27, 30]]


def question(id, *answers):
  value = {"text": TEXT, "query": "@placeholder met", "entities": ENTITIES}
  return parse(value | {"answers": list(answers)}, id, id)


def test_questions_without_an_answer_score_0():
  scores = score([["Ana"], ["Bob"], ["Cy Lo"], ["Di"]], ["ana", None, "Cy", "Bob"])
  assert scores == {"exact_match": 1 / 4, "f1": pytest.approx((1 + 2 / 3) / 4)}
  assert next(iter(scores)) == "exact_match"


def test_a_file_of_predictions_by_id():
  examples = [question("a", [13, 22]), question("b", [27, 30]), question("c", [4, 8], [27, 30])]
  scores = score_file(examples, {"c": "us", "a": "Lopez", "stranger": "Bob"})
  assert scores == {"exact_match": 1 / 3, "f1": pytest.approx((1 + 2 / 3) / 3)}
  with pytest.raises(InputError, match="b: answers: none; expected one at least"):
    score_file([question("b")], {})


def test_evaluation_shows_the_surest_mistake_first():
  examples = [question(id, [13, 22]) for id in "abcd"]
  right, wrong = Answer("Ana Lopez", 13, 22, 0.9), Answer("Bob", 27, 30, 0.8)
  found = evaluate(examples, [[right, wrong], [wrong._replace(score=0.3), right], [wrong], []])
  assert found.scores == {"exact_match": 1 / 4, "f1": 1 / 4}
  assert [mistake.id for mistake in found.mistakes] == ["c", "b", "d"]
  worst = found.mistakes[0]
  assert (worst.gold, worst.predicted, worst.score) == ("Ana Lopez", "Bob", 0.8)
  assert "@placeholder" in worst.question and worst.text == examples[2].text
  shown = {mark.outcome: worst.text[mark.start : mark.end] for mark in worst.marks}
  assert shown == {"missed": "Ana Lopez", "wrong": "Bob"}
