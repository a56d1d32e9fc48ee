"""Relations that a model of facts is asked for by their words."""

import dataclasses

import numpy as np
import pytest
from sample_models import save_start

from luke_jax.convert.parts import Start
from luke_jax.errors import InputError
from luke_jax.inference.predicting import asked, predict
from luke_jax.inference.settings import settings_of
from luke_jax.inference.text_vectors import RIDGE, _mapped
from luke_jax.models.keys import LoadReport, flatten, unflatten
from luke_jax.runs.starts import start_model
from luke_jax.tasks.facts.task import Facts

TEXT = "Marta Oduya was born in Castrel and works for the harbour of Castrel."
NAMES = [[0, 11, "PER"], [24, 31, "LOC"], [46, 68, "ORG"]]
TASK = Facts(labels=("born in", "lives in", "works for"), types=("LOC", "ORG", "PER"), words=64)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
  """A model with random numbers, whose answers have scores around a half."""
  directory = save_start(tmp_path_factory.mktemp("models") / "start")
  made = start_model(directory, dataclasses.replace(TASK, text=str(directory)), "none")
  rng = np.random.default_rng(0)
  params = {x: y + rng.normal(0, 0.1, y.shape) for x, y in flatten(made.params).items()}
  parts = {"labels": TASK.labels, "rest": settings_of(TASK), "report": LoadReport()}
  start = Start(directory, {}, "none")
  return dataclasses.replace(made, params=unflatten(params), start=start, **parts)


def scores(model, labels=None):
  given = {} if labels is None else {"labels": labels}
  found = predict(model, TEXT, names=NAMES, threshold=0.0, **given)
  return {(*x.names, x.label): x.score for x in found}


def test_learnt_ones_have_the_scores_that_they_have_without_words(model):
  every = scores(model)
  some = scores(model, ["works for", "born in"])
  assert {x for *_, x in some} == {"works for", "born in"}
  assert some == pytest.approx({x: y for x, y in every.items() if x[2] != "lives in"}, abs=1e-6)


def test_the_order_in_which_they_are_given_changes_nothing(model):
  labels = {"works for": None, "employer": "works for a firm", "born in": "a place of birth"}
  found = scores(model, labels)
  assert found == scores(model, dict(reversed(labels.items()))) and len(found) > 6
  assert found != scores(model, ["works for", "employer", "born in"])  # descriptions are read


def test_vectors_are_those_of_a_ridge_regression():
  rng = np.random.default_rng(0)
  words, learnt, given = (rng.normal(size=x) for x in ((7, 5), (7, 3), (4, 5)))
  middle, target = words.mean(0), learnt.mean(0)
  known = words - middle
  map_ = np.linalg.solve(known.T @ known + RIDGE * np.eye(5), known.T @ (learnt - target))
  np.testing.assert_allclose(_mapped(words, learnt, given), (given - middle) @ map_ + target)


@pytest.mark.parametrize(
  ("labels", "fault"),
  [
    (["knows", "knows"], "labels: 'knows': twice; expected each label once"),
    ([], "labels: none; expected some"),
    ("knows", "expected a list of labels"),
  ],
)
def test_bad_input_is_a_line(model, labels, fault):
  with pytest.raises(InputError, match=fault):
    predict(model, TEXT, names=NAMES, labels=labels)


def test_a_whole_model_is_without_what_reads_them(model):
  with pytest.raises(InputError, match="without the one that reads them; expected an adapter"):
    asked(dataclasses.replace(model, start=None), ["knows"])
