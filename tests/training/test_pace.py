"""Runs by the clock: the time they take, and how much of it goes into scores."""

import json
import time

import jax
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shared_programs import SharedProgram
from tiny_runs import experiment, left_at, logged

from luke_jax.errors import InputError
from luke_jax.tasks.synthetic import SyntheticPretraining
from luke_jax.training import loop as loops
from luke_jax.training import pace, scoring, watch
from luke_jax.training.directory import Ledger
from luke_jax.training.experiment import Run
from luke_jax.training.loop import train
from luke_jax.training.mesh import make_mesh
from luke_jax.training.pace import CLOSING, FORWARD, TimedPace


class Machine:
  """A run without a program, whose steps and scores take so long."""

  def __init__(self, start, step, score, slower=1.0):
    self.now, self.step, self.score, self.slower = 0.0, step, score, slower
    self.ledger = Ledger(clock=lambda: round(self.now * 1e9))
    self.scores = []
    with self.ledger.part("start"):
      self.now += start

  def run(self, seconds, first=0, guess=100, whole=0.0, thought=1.0, **options):
    """The step at which a run of so many seconds ends; scores are thought to take a share of it."""
    run = TimedPace(self.ledger, seconds, first, guess, **options)
    run.scoring(thought * self.score, thought * whole)
    step = first
    while True:
      if run.ready(step):
        run.plan(step)
      if run.due(step):
        with self.ledger.part("evaluation"):
          self.now += self.score
        run.scored(self.score)
        self.scores.append(step)
      if step == run.steps:
        return step
      assert step < run.steps < run.most
      # Halfway through, others begin to use the machine, or cease to.
      self.now += self.step * (self.slower if self.now > seconds / 2 else 1)
      step += 1


@given(st.floats(60, 3600), st.floats(1e-3, 0.02), st.floats(0.01, 3), st.sampled_from([0.5, 1, 2]))
def test_the_time_is_used_and_not_exceeded(seconds, step, score, slower):
  """Steps of up to a fiftieth of the time, scores of up to three of them."""
  machine = Machine(seconds / 10, step * seconds, score * step * seconds, slower)
  last = machine.run(seconds)
  assert 0.9 * seconds < machine.now + CLOSING < 1.1 * seconds
  assert machine.scores[-1] == last
  machine = Machine(seconds / 10, step * seconds, score * step * seconds, slower)
  last = machine.run(seconds, once=True)
  assert 0.9 * seconds < machine.now + CLOSING < 1.1 * seconds
  assert machine.scores == [last]
  # The last score comes in any case.
  share = machine.score * (len(machine.scores) - 1) / seconds
  assert share <= 0.1 and len(machine.scores) <= 20


def test_time_is_left_for_what_reads_dev_again():
  machine = Machine(start=10, step=0.5, score=6)
  with machine.ledger.part("compile"):
    machine.now += 9
  machine.run(120, again=0.5)
  assert 110 < machine.now + CLOSING + 0.5 * (6 + 9 / FORWARD) < 125


@pytest.mark.parametrize("thought", [1, 0.5, 2])
def test_time_is_left_for_all_of_dev_where_a_part_chooses(thought):
  machine = Machine(start=10, step=0.5, score=1)
  machine.run(120, whole=20, thought=thought)
  assert 110 < machine.now + CLOSING + 20 < 125 and len(machine.scores) > 3


def test_a_run_without_time_takes_one_step():
  machine = Machine(start=100, step=1, score=1)
  assert machine.run(60) == 1


def test_a_run_that_goes_on_has_the_rest_of_the_time():
  machine = Machine(start=30, step=0.1, score=0.5)
  assert machine.run(60, first=200) < 200 + 260


@pytest.fixture
def shared(monkeypatch):
  """The programs are those of other files' tests, on one device."""
  monkeypatch.setattr(loops, "make_mesh", lambda shape: make_mesh(shape, jax.devices()[:1]))
  monkeypatch.setattr(loops, "Program", SharedProgram)


def test_a_run_ends_once_scores_are_no_better(shared, tmp_path, monkeypatch):
  """Also one that was stopped in between."""
  scores = iter([0.0, 0.1, 0.3, 0.2, 0.3, 0.1])  # the first tells only which metrics there are
  found = staticmethod(lambda *_: {"word_likelihood": next(scores)})
  monkeypatch.setattr(SyntheticPretraining, "score", found)
  run = {"evaluate_every": 2, "best_metric": "word_likelihood", "patience": 2}
  chosen = experiment(run=run)
  with monkeypatch.context() as stopped:
    stopped.setattr(watch.Watch, "due", left_at(7))
    assert train(chosen, tmp_path)["status"] == "preempted"
  summary = train(chosen, tmp_path)
  assert summary["status"] == "done" and summary["step"] == 8
  assert train(chosen, tmp_path)["step"] == 8


def test_a_run_of_some_seconds_ends_and_is_done(shared, tmp_path, monkeypatch):
  """Its programs are those of the run before, lest compiling takes all of its time."""
  monkeypatch.setattr(pace, "CLOSING", 0.0)
  train(experiment(run={"best_metric": "word_likelihood"}), tmp_path / "before")
  chosen = experiment(run={"minutes": 0.04, "best_metric": "word_likelihood"})
  summary = train(chosen, tmp_path / "run")
  assert summary["status"] == "done" and summary["step"] == summary["steps"]
  rates = [line["learning_rate"] for line in logged(tmp_path / "run") if "loss" in line]
  assert 0 <= rates[-1] < max(rates)
  again = train(chosen, tmp_path / "run")
  assert again["step"] == summary["step"]
  assert json.loads((tmp_path / "run/ledger.json").read_text())["done"] == summary["step"]


@pytest.mark.parametrize(
  ("fields", "message"),
  [
    ({"minutes": 0}, "run.minutes: 0; expected a number above 0"),
    ({"patience": 2}, "run.patience: 2; expected run.best_metric with it"),
    ({"tolerance": -0.1}, "run.tolerance: -0.1; expected a number from 0"),
    ({"patience": 0, "best_metric": "f1"}, "run.patience: 0; expected a whole number from 1"),
  ],
)
def test_what_makes_no_sense_is_refused(fields, message):
  with pytest.raises(InputError, match=message):
    Run(steps=3, **fields)


def test_a_signal_ends_a_pass_over_dev(shared, tmp_path, monkeypatch):
  """Which is made before the next step by the run that goes on."""
  chosen = experiment(run={"evaluate_every": 6, "best_metric": "word_likelihood"})
  put, batches = scoring._put, []

  def interrupted(*given):
    batches.append(None)
    watch._active[-1].stop = {"status": "interrupted", "signal": "SIGINT", "time": time.monotonic()}
    put(*given)

  with monkeypatch.context() as stopped:
    stopped.setattr(scoring, "_put", interrupted)
    summary = train(chosen, tmp_path)
  assert summary["status"] == "interrupted" and summary["step"] == 6
  assert len(batches) == 4  # the arrays of one batch
  assert train(chosen, tmp_path)["status"] == "done"
  assert [x["step"] for x in logged(tmp_path) if "dev/word_likelihood" in x] == [6, 12]


def test_a_run_without_dev_has_no_scores(shared, tmp_path, monkeypatch):
  monkeypatch.setattr(SyntheticPretraining, "scored", False)
  chosen = experiment(run={"evaluate_every": 6})
  assert train(chosen, tmp_path)["status"] == "done"
  assert not [x for x in logged(tmp_path) if "dev/word_likelihood" in x]
  best = experiment(run={"best_metric": "word_likelihood"})
  with pytest.raises(InputError, match=r"task.dev: empty; expected a file of examples, or run"):
    train(best, tmp_path / "other")
