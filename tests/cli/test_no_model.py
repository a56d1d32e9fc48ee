"""A model that is not there: one line with its place and the commands that get one."""

import pytest

from luke_jax.cli import main

TASK = ["ner", "--train", "a.conll", "--dev", "a.conll", "--output", "run"]
EXPERIMENT = """
import luke_jax.training.experiment as parts
from luke_jax.models.table import SIZES
from luke_jax.tasks.synthetic import SyntheticPretraining

def config():
  return parts.Experiment(SIZES["tiny"], SyntheticPretraining(), run=parts.Run(steps=1))
"""
COMMANDS = [
  ["train", *TASK, "--model", "MODEL"],
  ["train", "experiment.py", "--output", "run", "--set", "run.start=MODEL"],
  ["experiment", "run", "experiment.py", "--output", "runs", "--set", "run.start=MODEL"],
  ["evaluate", "ner", "MODEL", "a.conll"],
  ["predict", "ner", "MODEL", "Ana lives."],
  ["try", "MODEL", "--no-browser"],
  ["convert", "MODEL", "target"],
  ["predict-masks", "MODEL", "Ana [MASK]."],
  ["data", "check", "a.conll", "--task", "ner", "--model", "MODEL"],
]


@pytest.fixture
def here(tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  (tmp_path / "a.conll").write_text("Ana B-PER\n\n")
  (tmp_path / "experiment.py").write_text(EXPERIMENT)
  return tmp_path


def refused(command, model, capsys):
  assert main([word.replace("MODEL", model) for word in command]) == 2
  line = capsys.readouterr().err
  assert line.count("\n") == 1
  return line


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_the_place_and_the_remedy(command, here, capsys):
  line = refused(command, "nofolder", capsys)
  assert "nofolder: no such file or directory; expected a model's directory" in line
  assert "`luke-jax get english`" in line
  assert line.count("`luke-jax get english-base`") == 1 and "mpnet" not in line
  assert "`hf download studio-ousia/luke-base --local-dir luke-base`" in line
  assert not {"run", "runs", "target"} & {path.name for path in here.iterdir()}


@pytest.mark.parametrize("command", [COMMANDS[0], COMMANDS[3]], ids=" ".join)
def test_a_folder_or_a_file_that_is_no_model(command, here, capsys):
  (here / "empty").mkdir()
  line = refused(command, "empty", capsys)
  assert "empty: no config.json" in line and "`luke-jax get english`" in line
  assert "a.conll: " in refused(command, "a.conll", capsys)


@pytest.mark.parametrize(
  ("name", "remedy"),
  [
    ("bert-base-uncased", "google-bert/bert-base-uncased --local-dir bert-base-uncased`"),
    ("electra-base-discriminator", "google/electra-base-discriminator --local-dir electra-base-di"),
    ("mluke-base", "studio-ousia/mluke-base --local-dir mluke-base`"),
    ("hfl/rbt3", "hfl/rbt3 --local-dir hfl/rbt3`"),
    ("runs/rbt3", "studio-ousia/luke-base --local-dir luke-base`"),
    ("englsh", "; perhaps english"),
  ],
)
def test_the_command_is_that_of_the_name(name, remedy, here, capsys):
  (here / "runs").mkdir()
  assert remedy in refused(COMMANDS[0], name, capsys)


def test_files_of_authors_are_to_be_converted_before_training(here, capsys):
  (here / "archive").mkdir()
  (here / "archive" / "metadata.json").write_text("{}")
  line = refused(COMMANDS[0], "archive", capsys)
  assert "archive: no config.json; " in line and "`luke-jax convert SOURCE DIRECTORY`" in line
