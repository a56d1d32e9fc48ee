"""The rows of experiments/ernie_thu.py: those of the paper, on files in the authors' form."""

import json

import pytest
from experiment_rows import EXPERIMENTS, row_name, rows_of

from luke_jax.training.experiment_files import experiment_and_paper, load_experiment

FILE = "ernie_thu.py"
ROWS = [path for path in rows_of("ernie_thu") if "pretraining" not in path.name]
# Rate, batch, epochs, length, share of the steps in which the rate rises, threshold of links.
RECIPES = {
  "few-rel": (2e-5, 32, 10, 256, 0.1, 0.0),
  "tacred": (2e-5, 32, 4, 256, 0.0, 0.4),
  "open-entity": (2e-5, 16, 10, 128, 0.1, 0.3),
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


@pytest.mark.parametrize("path", ROWS, ids=row_name)
def test_a_row_says_what_the_paper_says(path):
  experiment, paper = experiment_and_paper(path)
  recipe = RECIPES[row_name(path).split("-without")[0]]
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
  scores = [value for name, value in paper.items() if name not in ("table", "method", "split")]
  page = (EXPERIMENTS.parent / "docs" / "ernie-thu.md").read_text("utf-8")
  (line,) = (line for line in page.splitlines() if line.startswith(f"| [{path.name}]"))
  assert f"{scores[-1]:.2f}" in line
  names = set(task.engine().row_shapes(experiment.backbone))
  assert ("entity_vectors" in names) == (row_name(path) != "few-rel-without-entities")
  assert task.network(experiment.backbone).head.labels == len(task.labels)


def test_labels_are_those_of_the_training_file():
  assert load_experiment(EXPERIMENTS / f"{FILE}:tacred").task.labels == ("NA", "P1")
  figer = load_experiment(EXPERIMENTS / f"{FILE}:figer")
  assert (figer.task.labels, figer.task.at_least_one) == (("/person",), True)
  assert figer.data.batch_size == 64 * figer.run.accumulation


def test_pretraining_and_its_ablation_differ_by_the_loss_of_entities():
  whole, without = (
    load_experiment(EXPERIMENTS / f"{FILE}:pretraining{name}")
    for name in ("", "-without-entity-loss")
  )
  assert whole.task.predict_entities
  assert not without.task.predict_entities
  assert (whole.model, whole.data, whole.run) == (without.model, without.data, without.run)
  assert (whole.data.batch_size, whole.optimizer.learning_rate, whole.run.epochs) == (512, 5e-5, 1)
  shapes = whole.engine.row_shapes(whole.backbone)
  assert shapes["entity_vectors"].shape == (256, 100)
