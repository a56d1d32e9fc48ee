import io
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from luke_jax.show.evaluation_page import page
from luke_jax.show.evaluations import as_json, tables
from luke_jax.show.marked import terminal_text
from luke_jax.show.predictions import shown
from luke_jax.tasks.evaluation import Evaluation, Mark, Mistake
from luke_jax.tasks.predictions import Answer, Mention, Relation, Span
from luke_jax.tasks.typing.files import Example

TEXT = "Ana & <Bert> live in Oslo."
MISTAKE = Mistake("7", TEXT, (Mark(0, 3, "head"), Mark(6, 12, "tail")), "none", "a<b", 0.93)
EVALUATION = Evaluation(
  {"f1": 0.5, "precision": 0.25},
  {"a<b": {"precision": 0.5, "recall": 1.0, "f1": 0.667, "count": 3}},
  {("a<b", "a<b"): 3, ("a<b", "none"): 2},
  [MISTAKE],
)


def test_the_page_stands_alone_and_tells_all(read):
  reader = read(page(EVALUATION, "relations: a & b", 5))
  for told in ("relations: a & b", "0.5000", "a<b", "Ana", "<Bert>", "predicted: a<b (0.93)"):
    assert told in reader.text


def test_an_evaluation_of_scores_alone_has_a_page(read):
  assert "1.0000" in read(page(Evaluation({"f1": 1.0}), "qa", 5)).text


def test_the_terminal_tells_all():
  console = Console(file=io.StringIO(), width=100)
  console.print(tables(EVALUATION, 5))
  told = console.file.getvalue()
  for expected in (
    "0.5000",
    "a<b",
    "2",
    "[Ana head] & [<Bert> tail] live",
    "predicted: a<b (0.93)",
  ):
    assert expected in told


def test_json_tells_all():
  value = json.loads(json.dumps(as_json(EVALUATION)))
  assert value["scores"] == {"f1": 0.5, "precision": 0.25}
  assert value["confusion"][1] == {"gold": "a<b", "predicted": "none", "count": 2}
  assert value["mistakes"][0]["marks"][1] == {"start": 6, "end": 12, "name": "tail"}


MARKS = st.lists(
  st.tuples(st.integers(0, 20), st.integers(1, 8)).map(lambda p: Mark(p[0], p[0] + p[1], "x"))
)


@given(st.text("ab <&é\n", min_size=28, max_size=40), MARKS)
def test_marks_change_nothing_of_the_text(text, marks):
  assert re.sub(r"\[| x\]", "", terminal_text(text, marks).plain) == text


@pytest.mark.parametrize(
  ("prediction", "told"),
  [
    ([Span("Oslo", 21, 25, "place", 0.9)], "Oslo place"),
    ([], "nothing"),
    (
      Relation(Mention("Ana", 0, 3), Mention("Oslo", 21, 25), "lives_in", 0.8),
      "Ana | lives_in | Oslo  0.80",
    ),
    ([Answer("Oslo", 21, 25, 0.7), Answer("", 0, 0, 0.1)], "Oslo 0.70, (no answer) 0.10"),
    ([Answer("", 0, 0, 0.6)], "(no answer) 0.60"),
  ],
)
def test_every_kind_of_prediction_is_shown(prediction, told):
  assert told in shown(Example("1", "here", TEXT, (0, 3)), prediction).plain
