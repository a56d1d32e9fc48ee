"""`luke-jax data build` and `luke-jax data check` as a user runs them."""

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from luke_jax.cli import main

REPOSITORY = Path(__file__).resolve().parents[2]
DUMMY = REPOSITORY / "data/record/dummy_data"


@pytest.fixture
def root(monkeypatch):
  monkeypatch.chdir(REPOSITORY)
  monkeypatch.setattr(sys, "path", sys.path.copy())


@pytest.mark.filterwarnings("always")
def test_a_dataset_is_built_checked_and_not_built_twice(root, tmp_path, capsys):
  command = ["data", "build", "record", "--manual-dir", str(DUMMY), "--output", str(tmp_path)]
  assert main(command) == 0
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
  assert main(command) == 2
  assert "exists; expected another --output, or no such folder" in capsys.readouterr().err


@pytest.mark.filterwarnings("always")
def test_faulty_examples_are_left_out_where_asked(root, tmp_path, capsys):
  files = tmp_path / "files"
  shutil.copytree(DUMMY, files)
  text = (files / "train.json").read_text()
  (files / "train.json").write_text(text.replace("On foot, @placeholder", "On foot, she"))
  command = ["data", "build", "record", "--manual-dir", str(files), "--output", str(tmp_path)]
  assert main(command) == 2
  error = capsys.readouterr().err
  assert "passage 1, question p1-q1: query: @placeholder 0 times" in error
  assert "Traceback" not in error and not list(tmp_path.glob("record/*"))
  assert main([*command, "--skip-bad"]) == 0
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
def test_what_cannot_be_built(root, name, line, tmp_path, capsys):
  output = tmp_path / "datasets"
  arguments = ["--manual-dir", str(tmp_path), "--output", str(output)]
  assert main(["data", "build", name, *arguments]) == 2
  assert re.search(line, capsys.readouterr().err)
  assert not output.exists()


def test_builders_are_in_the_repository(tmp_path, monkeypatch, capsys):
  monkeypatch.chdir(tmp_path)
  assert main(["data", "build", "squad", "--manual-dir", str(tmp_path)]) == 2
  assert "builders.py: no such file; expected the repository's root" in capsys.readouterr().err


def test_every_fault_of_a_file_with_its_line(tmp_path, capsys):
  path = tmp_path / "types.jsonl"
  lines = [
    {"text": "Ana sings.", "span": [0, 3], "labels": ["person", "singer"]},
    {"text": "Ana sings.", "span": [0, 30], "labels": []},
    {"text": "Bob sings.", "span": [0, 3], "labels": ["person"]},
    {"text": "Bob sings.", "span": [0, 3], "lables": ["person"]},
  ]
  path.write_text("".join(json.dumps(line) + "\n" for line in lines) + "{\n")
  assert main(["data", "check", str(path), "--task", "typing"]) == 2
  faults = capsys.readouterr().out.splitlines()
  summary = faults.pop()
  assert [fault.split(":")[1] for fault in faults] == [" line 2", " line 4", " line 5"]
  assert summary == f"{path}: examples: 2; faults: 3; labels: person 2, singer 1"
  path.write_text("".join(json.dumps(line) + "\n" for line in lines[::2]))
  assert main(["data", "check", str(path), "--task", "typing"]) == 0
  assert capsys.readouterr().out.count("\n") == 1


@pytest.mark.parametrize(
  ("name", "content", "line"),
  [
    ("empty.jsonl", "", "no examples; expected one at least"),
    ("broken.json", "{", "expected JSON"),
  ],
)
def test_a_file_that_has_nothing(name, content, line, tmp_path, capsys):
  (tmp_path / name).write_text(content)
  assert main(["data", "check", str(tmp_path / name), "--task", "relations"]) == 2
  fault, summary = capsys.readouterr().out.splitlines()
  assert line in fault and summary.endswith("examples: 0; faults: 1")


def test_a_file_that_is_not_there(tmp_path, capsys):
  assert main(["data", "check", str(tmp_path / "gone.jsonl"), "--task", "relations"]) == 2
  told = capsys.readouterr()
  assert not told.out and told.err.count("\n") == 1
  assert "gone.jsonl: no such file; expected a file of examples" in told.err


def test_labels_of_relations_and_of_columns(tmp_path, capsys):
  tacred = REPOSITORY / "data/tacred/dummy_data/dev.json"
  assert main(["data", "check", str(tacred), "--task", "relations"]) == 0
  assert capsys.readouterr().out.endswith("labels: per:spouse 1, no_relation 1\n")
  conll = REPOSITORY / "data/conll2003/dummy_data/eng.train"
  assert main(["data", "check", str(conll), "--task", "ner"]) == 0
  assert capsys.readouterr().out.endswith("examples: 2; faults: 0; labels: LOC 4, PER 1, ORG 1\n")
