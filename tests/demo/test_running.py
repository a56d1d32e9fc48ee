"""The steps of the demo, what they need, and what it refuses."""

import re
from pathlib import Path

import pytest

from luke_jax.cli import main
from luke_jax.demo.report import FRESH, check_repository, steps
from luke_jax.errors import InputError
from luke_jax.training.experiment_files import load_experiment

ROOT = Path(__file__).parents[2]


def test_an_interrupted_demo_says_how_it_goes_on(tmp_path, monkeypatch, capsys):
  def interrupted(*_):
    raise KeyboardInterrupt

  monkeypatch.setattr("luke_jax.cli.demo.run_steps", interrupted)
  assert main(["demo", "--output", str(tmp_path)]) == 130
  assert capsys.readouterr().err == "luke-jax: interrupted; the same command continues\n"


def test_types_are_learnt_twice_with_and_without_pretraining(tmp_path):
  check_repository()
  todo = {step.name: step for step in steps(tmp_path)}
  assert f"run.start={tmp_path / 'luke'}" in todo["typing"].arguments
  assert "run.start=null" in todo["typing" + FRESH].arguments
  before = list(todo)
  for step in todo.values():
    assert all(before.index(need) < before.index(step.name) for need in step.needs)


def test_minilm_is_fetched_where_it_is_missing(tmp_path, monkeypatch):
  monkeypatch.setenv("LUKE_JAX_CACHE", str(tmp_path / "empty"))
  todo = {step.name: step for step in steps(tmp_path)}
  assert todo["english"].arguments == ("get", "english")
  assert todo["relations"].needs == todo["names"].needs == ("english",)


@pytest.mark.parametrize("text", ["A" * 2001, "Ana \udcff"])
def test_a_text_that_cannot_be_read_is_refused_at_once(text, tmp_path, capsys):
  assert main(["demo", text, "--output", str(tmp_path / "out")]) == 2
  said = capsys.readouterr().err
  assert said.startswith("luke-jax: TEXT: ") and said.count("\n") == 1
  assert not (tmp_path / "out").exists()


def test_without_its_files_it_says_what_is_missing(tmp_path, monkeypatch):
  monkeypatch.setattr("luke_jax.demo.report.REPOSITORY", tmp_path)
  with pytest.raises(InputError, match="no data/sample_wiki; expected what a wheel of luke_jax or"):
    check_repository()


def test_a_wheel_has_all_that_the_steps_read(tmp_path):
  packed = {
    str(file.relative_to(ROOT))
    for line in (ROOT / "MANIFEST.in").read_text("utf-8").splitlines()
    for file in ROOT.glob(line.removeprefix("include "))
  }
  folders = {str(folder) for file in packed for folder in Path(file).parents}
  words = {word for step in steps(tmp_path) for word in step.arguments}
  read = {word for word in words if word.startswith(("data/", "experiments/"))}
  rows, read = {x for x in read if ".py" in x}, {x.partition(":")[0] for x in read}
  for experiment in {row.partition(":")[0] for row in rows}:
    text = (ROOT / experiment).read_text("utf-8")
    read |= set(re.findall(r'"(data/[^"{]+)"', text)) - {"data/sample_model"}  # which steps replace
    read |= {str(Path(experiment).with_name(x)) for x in re.findall(r'with_name."(.*?):', text)}
  (sample,) = (row for row in rows if "sample" in row)
  task = load_experiment(ROOT / sample).task
  read |= {task.train, task.dev, task.test}
  assert len(read) > 8 and read <= packed | folders
