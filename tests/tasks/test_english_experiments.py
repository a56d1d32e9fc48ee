"""The files of experiments/english and families start from the real BERT where weights allow."""

from pathlib import Path

import pytest

from luke_jax.models.keys import flatten
from luke_jax.models.network import abstract_params
from luke_jax.runs.starts import start_params
from luke_jax.training.experiment import load_experiment

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
FILES = sorted(
  file for room in ("english", "families") for file in (EXPERIMENTS / room).glob("*.py")
)
# By the end of a file's name; others are BERTs.
SYSTEMS = {"luke": "luke", "ernie": "ernie_thu", "roberta": "roberta", "r": "xlm_roberta"}
FRESH = ("roberta", "xlm_roberta")  # no weights of theirs are among the free data


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_every_file_has_the_parameters_of_its_start(file, minilm, tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  reviews = tmp_path / "datasets" / "fine_food" / "train.ss"
  reviews.parent.mkdir(parents=True)
  reviews.write_text("ana\t\tbread\t\t5\t\tgood bread .\n")  # its users have vectors
  names = tmp_path / "datasets" / "english" / "ner" / "train.jsonl"
  names.parent.mkdir(parents=True)
  names.write_text('{"tokens": ["Ana", "sang"], "tags": ["B-PER", "O"]}\n')  # shares of labels
  experiment = load_experiment(file)
  system = experiment.backbone.config
  assert system.name == SYSTEMS.get(file.stem.rpartition("_")[2], "bert")
  assert (system.name in FRESH) == (experiment.run.start is None)
  if system.name in FRESH:
    return
  params = flatten(start_params(Path(experiment.run.start), experiment))
  expected = flatten(abstract_params(experiment.task.network(experiment.backbone)))
  assert {path: x.shape for path, x in params.items()} == {
    path: x.shape for path, x in expected.items()
  }
  assert (experiment.backbone.entities > 0) == (system.name == "luke")
