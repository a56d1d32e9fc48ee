"""Scores as shares of right answers: which scores change, and what a run finds them to mean."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_models import ROOT

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.inference.settings import Calibration
from luke_jax.model import load
from luke_jax.runs.models import ENOUGH_ANSWERS, calibration_of
from luke_jax.tasks.labels.task import LabelledNames
from luke_jax.tasks.ner.task import NamedEntities
from luke_jax.tasks.predictions import Answer, Label, Labels, Number, Span, TaggedSpans, Types

SPAN = Span("Ana", 0, 3, "PER", 0.9)
HALF = Calibration(0.5, -1.0)
LOWER = 1 / (1 + math.exp(1 - 0.5 * math.log(9)))  # of .9


@pytest.mark.parametrize(
  ("prediction", "score"),
  [
    ([SPAN], lambda x: x[0].score),
    (Types((SPAN,), {}), lambda x: x[0].score),
    (TaggedSpans((SPAN,), (), ()), lambda x: x[0].score),
    (Labels((Label("a", 0.9),), {"a": 0.9}), lambda x: x[0].score),
    (SPAN, lambda x: x.score),
    ([Answer("Ana", 0, 3, 0.9)], lambda x: x[0].score),
  ],
)
def test_the_scores_of_all_answers_change(prediction, score):
  assert score(HALF.scored(prediction)) == pytest.approx(LOWER)
  assert Calibration().scored(prediction) is prediction


def test_numbers_and_empty_predictions_stay():
  assert HALF.scored(Number(3.0)) == Number(3.0) and HALF.scored([]) == []


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0.01, 10), st.floats(-5, 5))
def test_surer_answers_stay_surer(one, other, slope, offset):
  made = Calibration(slope, offset)
  assert (made.score(one) - made.score(other)) * (one - other) >= 0
  assert 0 <= made.score(one) <= 1


@pytest.fixture(scope="module")
def model():
  return load(ROOT / "data/sample_model")


@pytest.mark.parametrize("entry", [[0, 1], [1], "x", [1, None], [float("nan"), 0]])
def test_a_calibration_that_is_none_is_told(model, entry):
  model.rest["luke_jax"] = {"calibration": entry}
  with pytest.raises(InputError, match="expected a slope and an offset"):
    Calibration.of(model)
  model.rest["luke_jax"] = {"calibration": [0.5, -1]}
  assert Calibration.of(model) == HALF


def test_enough_answers_on_dev_say_what_scores_mean(tmp_path):
  task, run = NamedEntities(labels=("NIL", "PER")), Path(tmp_path)
  assert calibration_of(task, run) == {}
  for count, told in ((ENOUGH_ANSWERS - 1, False), (400, True)):
    answers = [[0.9, int(i % 2)] for i in range(count)]
    (tmp_path / "dev.json").write_text(json.dumps({"answers": answers}))
    assert bool(calibration_of(task, run)) == told
  found = calibration_of(task, run)
  (slope, offset), sure = found["calibration"], found["sure"]
  assert sure is None  # for half of the answers are right
  assert Calibration(slope, offset).score(0.9) == pytest.approx(0.5, abs=0.02)
  assert calibration_of(LabelledNames(), run) == {}
  answers = [[x, int(x > 0.5 or i % 2)] for i in range(200) for x in (0.2, 0.8)]
  (tmp_path / "dev.json").write_text(json.dumps({"answers": answers}))
  found = calibration_of(task, run)
  assert found["sure"] == round(Calibration(*found["calibration"]).score(0.8), 4)
