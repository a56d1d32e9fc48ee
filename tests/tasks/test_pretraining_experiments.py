"""The rows of experiments/pretraining.py: what the paper says, planned without a corpus."""

import pytest
from experiment_rows import EXPERIMENTS, row_name, rows_of
from flax.traverse_util import flatten_dict
from networks import network

from luke_jax.models.network import abstract_params
from luke_jax.systems.bert import RobertaConfig
from luke_jax.training.experiment_files import load_experiment
from luke_jax.training.optimizer import split_frozen

PATHS = rows_of("pretraining")
CONTROL = EXPERIMENTS / "pretraining.py:roberta-large-control"
DISAMBIGUATION = [EXPERIMENTS / f"pretraining.py:disambiguation{x}" for x in ("", "-stage1")]
STAGES = [path for path in PATHS if row_name(path).endswith("-stage1")]


def shapes(experiment):
  return {name: x.shape for name, x in experiment.engine.row_shapes(experiment.backbone).items()}


@pytest.mark.parametrize("path", PATHS, ids=row_name)
def test_a_row_is_an_experiment_without_a_corpus(path, tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  experiment = load_experiment(path)
  rows = shapes(experiment)
  assert experiment.run.steps and bool(experiment.optimizer.frozen) == (path != CONTROL)
  if row_name(path) != "tiny":
    words = 1 if path in DISAMBIGUATION else 77  # none is masked
    assert rows["input_ids"] == (512,) and rows["masked_positions"] == (words,)
  if row_name(path) != "tiny" and path != CONTROL:
    assert rows["entity_position_ids"] == (128, 30)


@pytest.mark.parametrize("path", STAGES, ids=row_name)
def test_the_first_stage_trains_what_belongs_to_entities(path):
  first = load_experiment(path)
  second = load_experiment(path.with_name(path.name.replace("-stage1", "")))
  assert first.optimizer.learning_rate == 5e-4
  steps = (4_866, 29_196) if path in DISAMBIGUATION else (second.run.steps,) * 2
  assert (first.run.steps, second.run.steps) == steps
  assert first.model == second.model and first.task == second.task
  params = abstract_params(network("LukeForMaskedLM", first.model))
  parts = split_frozen(params, first.optimizer.frozen)
  trained, frozen = (set(flatten_dict(part, sep="/")) for part in parts)
  assert all(path.startswith(("luke/entity_embeddings", "masked_entities")) for path in trained)
  assert not [path for path in frozen if "entit" in path]


def test_the_control_run_reads_words_only():
  experiment = load_experiment(CONTROL)
  assert type(experiment.model) is RobertaConfig and experiment.backbone.entities == 0
  assert not [name for name in shapes(experiment) if "entity" in name]
  params = abstract_params(network("RobertaForMaskedLM", experiment.model))
  assert "pooler" not in params["roberta"]  # nothing is there without a gradient, to be frozen
