"""The files of experiments/english start from the real BERT, in both systems."""

from pathlib import Path

import pytest

from luke_jax.models.keys import flatten
from luke_jax.models.network import abstract_params
from luke_jax.runs.starts import start_params
from luke_jax.training.experiment_files import load_experiment

FILES = sorted((Path(__file__).parents[2] / "experiments" / "english").glob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_every_file_has_the_parameters_of_its_start(file, minilm):
  experiment = load_experiment(file)
  family = experiment.backbone.family
  assert family.name == ("luke" if file.stem.endswith("_luke") else "bert")
  params = flatten(start_params(Path(experiment.run.start), experiment))
  expected = flatten(abstract_params(experiment.task.network(experiment.backbone)))
  assert {path: x.shape for path, x in params.items()} == {
    path: x.shape for path, x in expected.items()
  }
  assert (experiment.backbone.entities > 0) == (family.name == "luke")
