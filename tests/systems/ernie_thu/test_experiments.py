"""The files of experiments/ernie_thu: rows of the paper's tables, on files in the authors' form."""

import json
from pathlib import Path

import pytest

from luke_jax.training.experiment import experiment_and_notes, load_experiment

FOLDER = Path(__file__).parents[3] / "experiments" / "ernie_thu"
ROWS = sorted(path for path in FOLDER.glob("*.py") if "pretraining" not in path.stem)
# Rate, batch, epochs, length, share of the steps in which the rate rises, threshold of links.
RECIPES = {
  "few_rel": (2e-5, 32, 10, 256, 0.1, 0.0),
  "tacred": (2e-5, 32, 4, 256, 0.0, 0.4),
  "open_entity": (2e-5, 16, 10, 128, 0.1, 0.3),
  "figer": (2e-5, 2048, 3, 256, 0.2, 0.3),
}
RELATION = {"text": "Ada saw it", "ents": [["Q1", 0, 3], ["Q2", 8, 10]]}
TYPING = {"sent": "Ada saw it", "start": 0, "end": 3, "ents": [["Q1", 0, 3, 0.4]]}


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  relations = [RELATION | {"label": label} for label in ("P1", "NA")]
  typing = [TYPING | {"labels": ["/person"]}]
  for name, items in (("fewrel", relations), ("tacred", relations), ("FIGER", typing)):
    (tmp_path / "ernie-data" / name).mkdir(parents=True)
    (tmp_path / "ernie-data" / name / "train.json").write_text(json.dumps(items))


@pytest.mark.parametrize("path", ROWS, ids=lambda path: path.stem)
def test_a_row_says_what_the_paper_says(path):
  experiment, paper = experiment_and_notes(path, "PAPER")
  recipe = RECIPES[path.stem.split("_without")[0]]
  schedule, task = experiment.schedule, experiment.task
  ratio = 0.0 if schedule.warmup_steps == 0 else schedule.warmup_ratio
  assert (
    experiment.optimizer.learning_rate,
    experiment.data.batch_size,
    experiment.run.epochs,
    task.words,
    ratio,
    task.link_threshold,
  ) == recipe
  assert schedule.decay == "constant"
  assert experiment.optimizer.frozen == experiment.model.unread
  text = path.read_text().split('"""')[1]
  assert f"luke-jax experiment run experiments/ernie_thu/{path.name} --seeds" in text
  scores = [value for name, value in paper.items() if name not in ("table", "method", "split")]
  assert all(f"{score:.2f}" in text for score in scores)
  names = set(task.engine().row_shapes(experiment.backbone))
  assert ("entity_vectors" in names) == (path.stem != "few_rel_without_entities")
  assert task.network(experiment.backbone).head.labels == len(task.labels)


def test_labels_are_those_of_the_training_file():
  assert load_experiment(FOLDER / "tacred.py").task.labels == ("NA", "P1")
  figer = load_experiment(FOLDER / "figer.py")
  assert (figer.task.labels, figer.task.at_least_one) == (("/person",), True)
  assert figer.data.batch_size == 64 * figer.run.accumulation


def test_pretraining_and_its_ablation_differ_by_the_loss_of_entities():
  whole, without = (
    load_experiment(FOLDER / f"pretraining{name}.py") for name in ("", "_without_entity_loss")
  )
  assert whole.task.predict_entities
  assert not without.task.predict_entities
  assert (whole.model, whole.data, whole.run) == (without.model, without.data, without.run)
  assert (whole.data.batch_size, whole.optimizer.learning_rate, whole.run.epochs) == (512, 5e-5, 1)
  shapes = whole.engine.row_shapes(whole.backbone)
  assert shapes["entity_vectors"].shape == (256, 100)
