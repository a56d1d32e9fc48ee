"""`luke-jax train` and `luke-jax export` by hand: two stages from a model directory and back."""

import json
import types

import numpy as np
import pytest
from tiny import tiny_model

import luke_jax
from luke_jax.cli import main
from luke_jax.cli.train import _print_end

pytestmark = pytest.mark.usefixtures("one_device")

EXPERIMENT = """
import dataclasses
import luke_jax
from luke_jax.pipeline.batches import Data
from luke_jax.tasks.synthetic import SyntheticPretraining
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer

def config():
  return Experiment(
    model=luke_jax.load({start!r}).config,
    task=SyntheticPretraining(pages=64, words=16, entities=4, mention=2),
    data=Data(batch_size=8, evaluation_batch_size=8),
    optimizer=Optimizer(learning_rate=1e-2, frozen=("luke/pooler", "luke/encoder")),
    run=Run(steps=2, start={start!r}),
  )
"""


@pytest.fixture
def file(tmp_path):
  tiny_model().save(tmp_path / "model")
  path = tmp_path / "tiny.py"
  path.write_text(EXPERIMENT.format(start=str(tmp_path / "model")))
  return path


@pytest.mark.slow
def test_two_stages_from_a_model_directory_and_back(file, tmp_path, capsys):
  first, second = str(tmp_path / "first"), str(tmp_path / "second")
  assert main(["train", str(file), "--output", first]) == 0
  summary = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
  assert (summary["status"], summary["step"]) == ("done", 2)
  thawed = ["--set", "run.start=" + first, "--set", "optimizer.frozen=luke/pooler"]
  assert main(["train", str(file), "--output", second, *thawed]) == 0
  assert main(["export", second, str(tmp_path / "exported")]) == 0
  before, after = luke_jax.load(tmp_path / "model"), luke_jax.load(tmp_path / "exported")
  assert after.architecture == "LukeForMaskedLM" and not after.report.missing
  assert after.processor is not None  # from the directory that the first stage began with
  pooler = [model.params["luke"]["pooler"]["dense"]["kernel"] for model in (before, after)]
  np.testing.assert_array_equal(*pooler)
  table = [model.params["luke"]["entity_embeddings"]["entity"] for model in (before, after)]
  assert table[0]["embedding"].shape == table[1]["embedding"].shape
  assert not np.array_equal(table[0]["embedding"], table[1]["embedding"])


@pytest.mark.parametrize(
  ("arguments", "line"),
  [
    (["--output", "s3://bucket/run"], "--output: s3:/bucket/run; expected a folder"),
    (["--output", "run", "--set", "run.step=3"], "run.step: no such field; expected"),
    (["--output", "run", "--columns", "_,word"], "task.columns: no such field; expected"),
    (["--output", "run", "--process", "1"], "expected all three or none"),
    (["--output", "run", "--set", "run.start=gone"], "run.start: gone: no such file or directory"),
  ],
)
def test_bad_input_is_one_line(arguments, line, file, tmp_path, monkeypatch, capsys):
  monkeypatch.chdir(tmp_path)
  assert main(["train", str(file), *arguments]) == 2
  error = capsys.readouterr().err
  assert line in error and "Traceback" not in error
  assert not (tmp_path / "run").exists()


def test_a_curve_by_few_examples_is_printed_without_a_verdict(tmp_path, capsys):
  records = {"dev": range(6)}
  trained = types.SimpleNamespace(
    backbone=None, engine=types.SimpleNamespace(records=lambda _, split: records[split])
  )
  summary = {"status": "done", "curve": {"75%": 0.3, "100%": 0.5}}
  _print_end(summary, tmp_path, trained)
  printed = capsys.readouterr().out
  assert "75% 0.300, 100% 0.500" in printed and "6 examples of dev do not tell" in printed
