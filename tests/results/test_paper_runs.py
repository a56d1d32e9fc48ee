"""What the check of a row says, and that it says it of the right things."""

import dataclasses
import json
from pathlib import Path

import pytest
from plan.texts import COLLECTIVES
from sample_models import WIDTHS, save_start

from experiments.results.check import RUNS, checks, main
from luke_jax.cli import script
from luke_jax.errors import InputError
from luke_jax.plan.chips import GIB
from luke_jax.plan.compiling import Compiled, Memory, OutOfMemory
from luke_jax.plan.hlo import parse
from luke_jax.training.experiment_files import load_experiment

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
TABLES = {"typing": "entity_typing"}  # others are named as their task
LINE = '{"text": "Castrel is a city.", "span": [0, 7], "labels": ["place"]}\n'


@pytest.fixture(scope="module")
def typing_row(tmp_path_factory):
  """The paper's row, with as many examples as it has, of a tiny model."""
  tmp_path = tmp_path_factory.mktemp("row")
  for split, count in RUNS["typing"].examples.items():
    (tmp_path / f"{split}.jsonl").write_text(LINE * count)
  start = str(save_start(tmp_path / "start"))
  large = load_experiment(EXPERIMENTS / "entity_typing.py:luke-large")
  files = {split: str(tmp_path / f"{split}.jsonl") for split in RUNS["typing"].examples}
  task = dataclasses.replace(large.task, text=start, words=64, **files)
  run = dataclasses.replace(large.run, start=start)
  return dataclasses.replace(
    large, task=task, run=run, model=dataclasses.replace(large.model, **WIDTHS)
  )


def wrong(experiment):
  return [check.what for check in checks(experiment) if check.right is False]


def test_a_row_that_has_all_it_needs(typing_row):
  found = {check.what: check for check in checks(typing_row)}
  assert wrong(typing_row) == []
  assert found["steps"].right and found["steps"].found == "1,499"
  assert found["task.train"].found == "1,998 examples"
  assert found["run.seed"].right is None


@pytest.mark.parametrize(
  ("group", "fields", "what"),
  [
    ("task", {"authors": False}, "task.authors"),
    ("run", {"epochs": 5}, "run.epochs"),
    ("run", {"best_metric": None}, "run.best_metric"),
    ("run", {"start": "nowhere"}, "run.start"),
    ("data", {"batch_size": 8}, "data.batch_size"),
    ("schedule", {"warmup_steps": 500}, "schedule.warmup_steps"),
    ("schedule", {"decay": "constant"}, "schedule.decay"),
    ("model", {"num_hidden_layers": 7}, "run.start"),
  ],
)
def test_what_deviates(typing_row, group, fields, what):
  changed = dataclasses.replace(getattr(typing_row, group), **fields)
  assert what in wrong(dataclasses.replace(typing_row, **{group: changed}))


def test_a_file_with_a_line_less(typing_row, tmp_path):
  (tmp_path / "dev.jsonl").write_text(LINE * 1997)
  task = dataclasses.replace(typing_row.task, dev=str(tmp_path / "dev.jsonl"))
  assert wrong(dataclasses.replace(typing_row, task=task)) == ["task.dev"]


@pytest.mark.parametrize("task", RUNS)
def test_the_files_of_the_rows_have_the_papers_settings(task, tmp_path, monkeypatch):
  """Without the data, what is missing is data, the pretrained model and the table of mentions."""
  monkeypatch.chdir(tmp_path)
  needed = [f"task.{split}" for split in RUNS[task].examples] + ["run.start"]
  needed += ["task.mentions"] if task == "qa" else []
  assert wrong(load_experiment(EXPERIMENTS / f"{TABLES.get(task, task)}.py:luke-large")) == needed


def test_the_command(tmp_path, monkeypatch, capsys):
  monkeypatch.chdir(tmp_path)
  assert script(main, "check", [str(EXPERIMENTS / "ner.py:no-entities")]) == 1
  summary = json.loads(capsys.readouterr().out.splitlines()[-1])
  assert summary["deviating"] == 4 and summary["equal"] == 8


@pytest.mark.parametrize("fits", [True, False])
def test_memory_by_the_planner(fits, tmp_path, monkeypatch, capsys):
  monkeypatch.chdir(tmp_path)
  used = Memory(GIB, 0, 0, 2 * GIB, 0)
  result = Compiled(parse(COLLECTIVES), used, 1.0) if fits else OutOfMemory(40 * GIB, 15, 1)
  monkeypatch.setattr("luke_jax.cli.plan.compile_in_child", lambda *_: result)
  row = str(EXPERIMENTS / "ner.py:no-entities")
  assert script(main, "check", [row, "--topology", "v5e:2x4"]) == 1
  lines = capsys.readouterr().out.splitlines()
  assert ("3.0 GiB" if fits else "40.0 GiB") in " ".join(lines)
  assert json.loads(lines[-1])["deviating"] == (4 if fits else 5)


def test_what_is_no_row_of_the_paper():
  with pytest.raises(InputError, match=r"task: no row of the paper; expected one of typing"):
    list(checks(load_experiment(EXPERIMENTS / "synthetic.py:tiny")))
