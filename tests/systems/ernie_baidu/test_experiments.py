"""The files of experiments/ernie_baidu: published rows, and the stages of pretraining."""

import dataclasses
import subprocess
from pathlib import Path

import pytest

from luke_jax.training.experiment import experiment_and_notes, load_experiment

FOLDER = Path(__file__).parents[3] / "experiments" / "ernie_baidu"
ROWS = sorted(path for path in FOLDER.glob("*.py") if "pretraining" not in path.stem)
# Rate, batch, epochs, length and decay of the authors' scripts, and dev and test as published.
RECIPES = {
  "chn_senti_corp": ((5e-5, 24, 10, 256, 0.01), (95.2, 95.4)),
  "dbqa": ((2e-5, 64, 3, 512, 0.01), (95.0, 95.1, 82.3, 82.7)),
  "lcqmc": ((2e-5, 32, 3, 128, 0.0), (89.7, 87.4)),
  "msra_ner": ((5e-5, 16, 3, 256, 0.01), (95.0, 93.8)),
  "xnli": ((1e-4, 512, 3, 128, 0.01), (79.9, 78.4)),
  "xnli_characters": ((1e-4, 512, 3, 128, 0.01), (77.7, 76.8)),
  "xnli_phrases": ((1e-4, 512, 3, 128, 0.01), (78.3, 77.3)),
  "xnli_entities": ((1e-4, 512, 3, 128, 0.01), (78.7, 77.6)),
}


@pytest.mark.parametrize("path", ROWS, ids=lambda path: path.stem)
def test_a_row_says_what_was_published(path):
  experiment, paper = experiment_and_notes(path, "PAPER")
  recipe, scores = RECIPES[path.stem]
  optimizer, task = experiment.optimizer, experiment.task
  assert (
    optimizer.learning_rate,
    experiment.data.batch_size,
    experiment.run.epochs,
    task.words,
    optimizer.weight_decay,
  ) == recipe
  assert experiment.schedule.warmup_steps == 0
  text = path.read_text(encoding="utf-8").split('"""')[1]
  assert f"luke-jax experiment run experiments/ernie_baidu/{path.name} --seeds" in text
  assert all(str(score) in text for score in scores)
  assert {paper[name] for name in ("accuracy", "mrr", "f1") if name in paper} <= set(scores)
  unverified = path.stem.startswith("xnli_")
  assert unverified == ("unverified" in paper["table"]) == ("not verified" in text)
  assert task.network(experiment.backbone).head.labels == len(task.labels)
  assert experiment.run.start == task.text
  page = (FOLDER.parents[1] / "docs" / "ernie-baidu.md").read_text(encoding="utf-8")
  (line,) = (line for line in page.splitlines() if f"ernie_baidu/{path.name})" in line)
  assert all(str(score) in line for score in scores)
  assert unverified == ("unverified" in line)


def test_stages_differ_by_their_masks_and_starts():
  names = ("characters", "phrases", "entities")
  stages = [load_experiment(FOLDER / f"pretraining_{name}.py") for name in names]
  assert [stage.task.mixture for stage in stages] == [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
  assert [stage.run.start for stage in stages] == [None, "ernie-characters", "ernie-phrases"]
  whole = load_experiment(FOLDER / "pretraining.py")
  assert (whole.task.mask_mode, whole.task.unit_shares) == ("file", (1.1,))
  assert whole.data.batch_size * whole.task.words == 8 * 8192
  for stage in stages:
    assert (stage.model, stage.optimizer, stage.data) == (whole.model, whole.optimizer, whole.data)


def test_a_tiny_ernie_has_the_same_model_in_its_tasks():
  tiny = FOLDER.with_name("tiny_ernie")
  made = {name: load_experiment(tiny / f"{name}.py") for name in ("pretraining", "ner", "topics")}
  without = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
  assert len({dataclasses.replace(x.model, **without) for x in made.values()}) == 1
  for name, experiment in made.items():
    labels = getattr(experiment.task, "labels", ())
    assert len(labels) == {"pretraining": 0, "ner": 7, "topics": 7}[name]
    assert experiment.task.words <= experiment.model.max_position_embeddings
    assert f"experiments/tiny_ernie/{name}.py" in (tiny / f"{name}.py").read_text(encoding="utf-8")
  assert subprocess.run(["bash", "-n", tiny / "run.sh"]).returncode == 0
