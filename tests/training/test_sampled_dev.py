"""Runs whose checkpoint a part of dev chooses: all of dev is scored once, at the end."""

import dataclasses
import json

import jax
import numpy as np
import pytest
from shared_programs import SharedProgram
from tiny_runs import experiment, left_at, logged

from luke_jax.runs.notes import run_record
from luke_jax.tasks.synthetic import SyntheticPretraining
from luke_jax.training import loop as loops
from luke_jax.training import scoring, watch
from luke_jax.training.export import read_run
from luke_jax.training.loop import train
from luke_jax.training.mesh import make_mesh

RUN = {"evaluate_every": 4, "best_metric": "word_likelihood"}
WHOLE, PART = 32, 8  # rows


@pytest.fixture
def scored(monkeypatch):
  """The rows of each score, with the sum of what is predicted; the second of three is the best."""
  records, found = SyntheticPretraining.records, []
  best = iter([0.0, 0.1, 0.3, 0.2, 0.2, 0.2])  # the first tells only which metrics there are

  def of_split(self, backbone, split):
    of_dev = records(self, backbone, "dev" if split == "sample" else split)
    return dataclasses.replace(of_dev, count=PART) if split == "sample" else of_dev

  def score(_, rows, predictions):
    total = float(sum(np.sum(x) for x in jax.tree.leaves(predictions)))
    found.append((len(rows), total))
    return {"word_likelihood": next(best) if len(rows) == PART or total == 0 else 0.25}

  monkeypatch.setattr(SyntheticPretraining, "choosing", "sample")
  monkeypatch.setattr(SyntheticPretraining, "records", of_split)
  monkeypatch.setattr(SyntheticPretraining, "score", score)
  monkeypatch.setattr(loops, "make_mesh", lambda shape: make_mesh(shape, jax.devices()[:1]))
  monkeypatch.setattr(loops, "Program", SharedProgram)
  return found


def test_the_best_checkpoint_is_scored_on_all_of_dev(scored, tmp_path):
  chosen = experiment(run=RUN)
  summary = train(chosen, tmp_path)
  assert [rows for rows, _ in scored] == [WHOLE, PART, PART, PART, WHOLE]
  assert summary["dev/word_likelihood"] == 0.25
  assert [x["dev/word_likelihood"] for x in logged(tmp_path) if "dev/word_likelihood" in x] == [
    0.1,
    0.3,
    0.2,
  ]
  kept = json.loads((tmp_path / "whole.json").read_text())
  assert kept == {"step": 8, "scores": {"word_likelihood": 0.25}}
  assert run_record(tmp_path, 8, chosen)["scores"] == {"dev": kept["scores"]}
  again = train(chosen, tmp_path)
  assert again["dev/word_likelihood"] == 0.25 and len(scored) == 5


def test_a_run_that_goes_on_scores_the_same_rows(scored, tmp_path, monkeypatch):
  """And one that is asked to end while all of dev is scored does that when it goes on."""
  put = scoring._put

  def interrupted(batch, array, part):
    put(batch, array, part)
    if len(array) == WHOLE:
      watch._active[-1].stop = {"status": "interrupted", "signal": "SIGINT", "time": 0.0}

  with monkeypatch.context() as stopped:
    stopped.setattr(watch.Watch, "due", left_at(6))
    assert train(experiment(run=RUN), tmp_path)["status"] == "preempted"
  with monkeypatch.context() as stopped:
    stopped.setattr(scoring, "_put", interrupted)
    assert train(experiment(run=RUN), tmp_path)["status"] == "interrupted"
  assert not (tmp_path / "whole.json").exists()
  assert train(experiment(run=RUN), tmp_path)["status"] == "done"
  assert [rows for rows, _ in scored] == [WHOLE, PART, PART, PART, WHOLE]


@pytest.mark.parametrize(
  ("tolerance", "step"), [(0.09, 8), pytest.param(0.11, 12, marks=pytest.mark.slow)]
)
def test_scores_that_differ_by_little_keep_the_last_checkpoint(scored, tmp_path, tolerance, step):
  train(experiment(run=RUN | {"tolerance": tolerance}), tmp_path)
  assert json.loads((tmp_path / "whole.json").read_text())["step"] == step
  assert read_run(tmp_path)[1] == step
