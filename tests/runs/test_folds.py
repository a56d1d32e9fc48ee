"""Cross-validation: what each part trains on, and what is told of all of them."""

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from luke_jax.cli import train
from luke_jax.cli.task_inputs import FileOptions
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.inference.settings import Calibration, settings_of
from luke_jax.models.table import SIZES
from luke_jax.runs import training
from luke_jax.runs.models import calibration_of
from luke_jax.tasks.task_rows import Share, numbers_of_dev
from luke_jax.tasks.typing.task import EntityTyping
from luke_jax.training.directory import DEV
from luke_jax.training.experiment import Experiment, Run

ONE = Experiment(
  SIZES["tiny"],
  EntityTyping(train="train.jsonl", held_out=0.1),
  run=Run(epochs=2, evaluate_every=3, best_metric="f1", minutes=6, patience=2),
)


@given(st.lists(st.tuples(st.integers(0, 300), st.lists(st.sampled_from("abc"))), min_size=2))
def test_each_example_is_held_out_once_and_equal_texts_together(told):
  parts = min(4, len({key for key, _ in told}))
  sets = [numbers_of_dev(told, Share(1 / parts, number)) for number in range(parts)]
  assert all(len(dev) < len(told) for dev in sets)
  if parts > 1:
    assert sorted(x for dev in sets for x in dev) == list(range(len(told)))
    keys = [{told[x][0] for x in dev} for dev in sets]
    assert sum(map(len, keys)) == len(set.union(*keys))
  alone = [(None, labels) for _, labels in told]
  shares = [numbers_of_dev(alone, Share(1 / 3, number)) for number in range(3)]
  assert sum(map(len, shares)) == len(told) if len(told) > 2 else len(shares[0]) < 2


def test_labels_of_few_examples_stand_on_both_sides_and_others_in_proportion():
  told = [(f"often {x}", ["often"]) for x in range(160)]
  told += [(f"{label} {x}", [label, "often"]) for label in "abcdef" for x in range(4)]
  told += [("once", ["once"]), *((f"none {x}", []) for x in range(15))]
  dev = numbers_of_dev(told, Share(0.1))
  labels = [label for x in dev for label in told[x][1]]
  assert len(dev) == 20 and set("abcdef") <= set(labels) and "once" not in labels
  assert 17 <= labels.count("often") <= 20 and all(labels.count(x) == 1 for x in "abcdef")
  # A file that grows keeps most of its dev.
  names = {told[x][0] for x in dev}
  grown = [*told, *((f"new {x}", ["often"]) for x in range(10))]
  assert len(names & {grown[x][0] for x in numbers_of_dev(grown, Share(0.1))}) > 10
  # Where one text has all questions, they cannot stay together.
  assert len(numbers_of_dev([("passage", [])] * 30, Share(0.1))) == 3


def test_parts_are_scored_and_the_model_is_of_all(tmp_path, monkeypatch):
  runs = []

  def run(experiment, folder, **_):
    runs.append((experiment, folder))
    scores = {} if len(runs) == 1 else {"dev/f1": len(runs) / 10}
    return {"status": "done", "model": str(folder / "model"), **scores}

  monkeypatch.setattr(training, "run", run)
  summary = training.cross_validated(ONE, tmp_path, 2)
  assert summary["model"] == str(tmp_path / "model")
  assert summary["folds"]["dev/f1"]["mean"] == pytest.approx(0.25)
  assert summary["folds"]["dev/f1"]["deviation"] == pytest.approx(0.0707, abs=1e-4)
  (whole, place), *held = runs
  assert place == tmp_path and not whole.engine.scored and whole.run.best_metric is None
  assert [folder.name for _, folder in held] == ["1", "2"]
  assert [x.task.fold for x, _ in held] == [0, 1] and held[0][0].task.held_out == 0.5
  assert {x.run.minutes for x, _ in runs} == {2}


def test_scores_are_fitted_to_the_answers_of_the_parts(tmp_path, monkeypatch):
  rng, written = np.random.default_rng(0), []

  def run(experiment, folder, **_):
    if experiment.task.held_out:
      scores = rng.uniform(0.5, 1, 80)
      answers = [[x, bool(y)] for x, y in zip(scores, rng.random(80) < 0.6, strict=True)]
      (folder / DEV).parent.mkdir(parents=True)
      (folder / DEV).write_text(json.dumps({"answers": answers}))
    return {"status": "done", "dev/f1": 0.5}

  monkeypatch.setattr(training, "run", run)
  monkeypatch.setattr(training, "write_model", lambda *x: written.append(x) or {"model_step": 3})
  summary = training.cross_validated(ONE, tmp_path, 2)
  assert [x[0] for x in written] == [tmp_path] and summary["model_step"] == 3
  (entry, sure) = calibration_of(ONE.task, Path(tmp_path)).values()
  assert Calibration(*entry).score(0.95) == pytest.approx(0.6, abs=0.1) and sure is None


def test_parts_share_the_time_that_is_left(tmp_path, monkeypatch):
  """Of six minutes, in seconds; a training that an earlier process ended takes none."""
  now, begins = [1000.0], []
  took = iter([130, 115, 120])
  monkeypatch.setattr(training.time, "perf_counter_ns", lambda: round(1e9 * now[0]))

  def run(*_, begun):
    begins.append(begun / 1e9)
    now[0] += next(took)
    return {"status": "done", "dev/f1": 0.5}

  monkeypatch.setattr(training, "run", run)
  training.cross_validated(ONE, tmp_path, 2, begun=990 * 10**9)
  assert begins == [990, 1110, 1230]
  begins.clear()
  took = iter([1, 1, 1])
  training.cross_validated(ONE, tmp_path, 2)
  assert begins == [1365, 1366, 1367]


def test_what_cannot_be_parted_is_refused(tmp_path):
  chosen = dataclasses.replace(ONE, task=dataclasses.replace(ONE.task, dev="dev.jsonl"))
  with pytest.raises(InputError, match="--folds: 3; expected it for a task without a file of dev"):
    training.cross_validated(chosen, tmp_path, 3)
  with pytest.raises(InputError, match="--folds: 1; expected 2 or more"):
    train.train(Path("ner"), output=tmp_path, folds=1, form=FileOptions(), cluster=train.Cluster())


def test_a_model_does_not_know_which_part_it_was_scored_on():
  saved = settings_of(dataclasses.replace(ONE.task, fold=1))
  assert "fold" not in saved and "held_out" not in saved
