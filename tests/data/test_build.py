"""`python -m data.build` as a user runs it."""

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

import data.build
from luke_jax.cli import main, script

DUMMY = Path(__file__).resolve().parents[2] / "data/record/dummy_data"


def build(arguments):
  return script(data.build.main, "python -m data.build", arguments)


@pytest.mark.filterwarnings("always")
def test_a_dataset_is_built_checked_and_not_built_twice(tmp_path, capsys):
  command = ["record", "--manual-dir", str(DUMMY), "--output", str(tmp_path)]
  assert build(command) == 0
  said = capsys.readouterr()
  folder = tmp_path / "record/1.0.0"
  assert json.loads(said.out) == {"folder": str(folder), "examples": {"train": 3, "dev": 1}}
  assert said.err.splitlines() == [
    f"luke-jax: warning: {DUMMY}/train.json: 3 questions; expected 100730, as published",
    f"luke-jax: warning: {DUMMY}/dev.json: 1 questions; expected 10000, as published",
  ]
  assert main(["data", "check", f"{folder}:dev", "--task", "cloze"]) == 0
  assert capsys.readouterr().out == f"{folder}:dev: examples: 1; faults: 0; with answers: 1\n"
  assert main(["data", "check", f"{folder}:tset", "--task", "cloze"]) == 2
  assert "no such split; expected one of train, dev" in capsys.readouterr().out
  assert build(command) == 2
  assert "exists; expected another --output, or no such folder" in capsys.readouterr().err


@pytest.mark.filterwarnings("always")
def test_faulty_examples_are_left_out_where_asked(tmp_path, capsys):
  files = tmp_path / "files"
  shutil.copytree(DUMMY, files)
  text = (files / "train.json").read_text()
  (files / "train.json").write_text(text.replace("On foot, @placeholder", "On foot, she"))
  command = ["record", "--manual-dir", str(files), "--output", str(tmp_path)]
  assert build(command) == 2
  error = capsys.readouterr().err
  assert "passage 1, question p1-q1: query: @placeholder 0 times" in error
  assert "Traceback" not in error and not list(tmp_path.glob("record/*"))
  assert build([*command, "--skip-bad"]) == 0
  said = capsys.readouterr()
  assert json.loads(said.out)["examples"] == {"train": 2, "dev": 1}
  assert "luke-jax: left out: " in said.err


@pytest.mark.parametrize(
  ("name", "line"),
  [
    ("recrod", "'recrod': no such dataset; expected one of conll2003, .*, perhaps record"),
    ("sample_wiki", "'sample_wiki': no such dataset; expected one of"),
    ("squad", "train-v1.1.json: no such file; expected it as data/squad/README.md says"),
  ],
)
def test_what_cannot_be_built(name, line, tmp_path, capsys):
  output = tmp_path / "datasets"
  arguments = ["--manual-dir", str(tmp_path), "--output", str(output)]
  assert build([name, *arguments]) == 2
  assert re.search(line, capsys.readouterr().err)
  assert not output.exists()


def test_without_its_extra_a_dataset_says_how_to_get_it(tmp_path, monkeypatch, capsys):
  monkeypatch.setitem(sys.modules, "tensorflow_datasets", None)
  (tmp_path / "dataset_info.json").write_text("{}")
  for run, command in (
    (build, ["record", "--manual-dir", str(DUMMY), "--output", str(tmp_path)]),
    (main, ["data", "check", f"{tmp_path}:dev", "--task", "cloze"]),
  ):
    assert run(command) == 2
    said = "".join(capsys.readouterr())
    assert "tensorflow_datasets: not installed; expected it to " in said
    assert "pip install 'luke_jax[datasets]'" in said and "Traceback" not in said
