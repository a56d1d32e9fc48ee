"""Learning curves: what each part trains on, and what is said of them."""

import dataclasses
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from luke_jax.cli import train
from luke_jax.errors import InputError
from luke_jax.inference.settings import settings_of
from luke_jax.models.table import SIZES
from luke_jax.runs import training
from luke_jax.tasks.running import Running
from luke_jax.tasks.task_rows import used_share
from luke_jax.tasks.typing.task import EntityTyping
from luke_jax.training.experiment import Experiment, Run

ONE = Experiment(
  SIZES["tiny"],
  EntityTyping(train="train.jsonl", held_out=0.1),
  run=Run(epochs=4, evaluate_every=30, best_metric="f1", minutes=10),
)


@given(st.integers(1, 300), st.floats(0.01, 1), st.floats(0.01, 1))
def test_a_smaller_share_is_a_part_of_a_larger_one(count, one, other):
  few, many = (used_share(list(range(count)), x) for x in sorted((one, other)))
  assert few and set(few) <= set(many)
  assert len(many) == max(1, round(max(one, other) * count))


def test_each_share_is_scored_and_the_model_is_of_all(tmp_path, monkeypatch):
  runs = []

  def run(experiment, folder, **_):
    runs.append((experiment, folder))
    score = experiment.task.used / 2
    return {"status": "done", "model": str(folder / "model"), "dev/f1": score}

  monkeypatch.setattr(training, "run", run)
  summary = training.learning_curve(ONE, tmp_path)
  assert summary["model"] == str(tmp_path / "model")
  assert summary["curve"] == {"25%": 0.125, "50%": 0.25, "75%": 0.375, "100%": 0.5}
  assert [folder.name for _, folder in runs[1:]] == ["25", "50", "75"]
  quarter, whole = runs[1][0].run, runs[0][0].run
  assert (whole.epochs, whole.evaluate_every, whole.minutes) == (4, 30, 4)
  assert (quarter.epochs, quarter.evaluate_every, quarter.minutes) == (7, 13, 1)
  assert "used" not in settings_of(runs[1][0].task)


def test_a_dev_that_cannot_tell_is_told_of_before_the_first_step(monkeypatch):
  for count, warned in ((20, 1), (50, 0)):
    monkeypatch.setattr(Running, "records", lambda *_, n=count: range(n))
    with warnings.catch_warnings(record=True) as found:
      warnings.simplefilter("always")
      train._warn_of_small_dev(ONE)
    assert len(found) == warned and all("20 examples of dev" in str(x.message) for x in found)


def test_a_run_that_stops_ends_the_curve(tmp_path, monkeypatch):
  monkeypatch.setattr(training, "run", lambda *_, **__: {"status": "preempted"})
  assert training.learning_curve(ONE, tmp_path)["status"] == "preempted"


def test_what_has_no_score_has_no_curve(tmp_path):
  unscored = dataclasses.replace(ONE, run=Run(steps=4))
  with pytest.raises(InputError, match="--curve: expected it for a task"):
    training.learning_curve(unscored, tmp_path)


@pytest.mark.parametrize(("before", "said"), [(0.4, "should help"), (0.496, "will hardly help")])
def test_the_last_quarter_says_whether_more_examples_help(before, said):
  assert training.verdict({"75%": before, "100%": 0.5}, 50).endswith(f"more of them {said}")


def test_few_examples_of_dev_say_nothing_of_more():
  assert training.verdict({"75%": 0.3, "100%": 0.5}, 6).startswith("6 examples of dev do not tell")
