"""The rows of experiments/ernie_baidu.py: published rows, and the stages of pretraining."""

import dataclasses
import subprocess

import pytest
from experiment_rows import EXPERIMENTS, row_name, rows_of

from luke_jax.training.experiment_files import experiment_and_paper, load_experiment

FILE = "ernie_baidu.py"
ROWS = [path for path in rows_of("ernie_baidu") if "pretraining" not in path.name]
# Rate, batch, epochs, length and decay of the authors' scripts, and dev and test as published.
RECIPES = {
  "chn-senti-corp": ((5e-5, 24, 10, 256, 0.01), (95.2, 95.4)),
  "dbqa": ((2e-5, 64, 3, 512, 0.01), (95.0, 95.1, 82.3, 82.7)),
  "lcqmc": ((2e-5, 32, 3, 128, 0.0), (89.7, 87.4)),
  "msra-ner": ((5e-5, 16, 3, 256, 0.01), (95.0, 93.8)),
  "xnli": ((1e-4, 512, 3, 128, 0.01), (79.9, 78.4)),
  "xnli-characters": ((1e-4, 512, 3, 128, 0.01), (77.7, 76.8)),
  "xnli-phrases": ((1e-4, 512, 3, 128, 0.01), (78.3, 77.3)),
  "xnli-entities": ((1e-4, 512, 3, 128, 0.01), (78.7, 77.6)),
}


@pytest.mark.parametrize("path", ROWS, ids=row_name)
def test_a_row_says_what_was_published(path):
  experiment, paper = experiment_and_paper(path)
  recipe, scores = RECIPES[row_name(path)]
  optimizer, task = experiment.optimizer, experiment.task
  assert (
    optimizer.learning_rate,
    experiment.data.batch_size,
    experiment.run.epochs,
    task.words,
    optimizer.weight_decay,
  ) == recipe
  assert experiment.schedule.warmup_steps == 0
  assert {paper[name] for name in ("accuracy", "mrr", "f1") if name in paper} <= set(scores)
  unverified = row_name(path).startswith("xnli-")
  assert unverified == ("unverified" in paper["table"])
  assert task.network(experiment.backbone).head.labels == len(task.labels)
  assert experiment.run.start == task.text
  page = (EXPERIMENTS.parent / "docs" / "ernie-baidu.md").read_text(encoding="utf-8")
  (line,) = (line for line in page.splitlines() if f"[{path.name}]" in line)
  assert all(str(score) in line for score in scores)
  assert unverified == ("unverified" in line)


def test_stages_differ_by_their_masks_and_starts():
  names = ("characters", "phrases", "entities")
  stages = [load_experiment(EXPERIMENTS / f"{FILE}:pretraining-{name}") for name in names]
  assert [stage.task.mixture for stage in stages] == [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
  assert [stage.run.start for stage in stages] == [None, "ernie-characters", "ernie-phrases"]
  whole = load_experiment(EXPERIMENTS / f"{FILE}:pretraining")
  assert (whole.task.mask_mode, whole.task.unit_shares) == ("file", (1.1,))
  assert whole.data.batch_size * whole.task.words == 8 * 8192
  for stage in stages:
    assert (stage.model, stage.optimizer, stage.data) == (whole.model, whole.optimizer, whole.data)


def test_a_tiny_ernie_has_the_same_model_in_its_tasks():
  made = {row_name(path): load_experiment(path) for path in rows_of("tiny_ernie")}
  without = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
  assert len({dataclasses.replace(x.model, **without) for x in made.values()}) == 1
  for name, experiment in made.items():
    labels = getattr(experiment.task, "labels", ())
    assert len(labels) == {"pretraining": 0, "ner": 7, "topics": 7}[name]
    assert experiment.task.words <= experiment.model.max_position_embeddings
  assert subprocess.run(["bash", "-n", EXPERIMENTS / "tiny_ernie.sh"]).returncode == 0
