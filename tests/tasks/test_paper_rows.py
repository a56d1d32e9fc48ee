"""The files of experiments/typing and the other tasks: a row of the paper's tables each."""

import dataclasses
import shutil
from pathlib import Path

import jax
import pytest
from sample_models import WIDTHS, save_start

from luke_jax.cli import experiment_run
from luke_jax.results.records import read_results
from luke_jax.tasks.files import Faults
from luke_jax.tasks.names import CLASSES, task_class
from luke_jax.training import loop
from luke_jax.training.mesh import make_mesh
from luke_jax.training.overrides import experiment_and_notes, load_experiment

ROOT = Path(__file__).parents[2]
FILES = [path for task in CLASSES for path in sorted((ROOT / "experiments" / task).glob("*.py"))]
# facts of the paper's appendix: learning rate, batch, epochs.
RECIPES = {
  "typing": (1e-5, 4, 3),
  "relations": (1e-5, 32, 5),
  "ner": (1e-5, 8, 5),
  "cloze": (1e-5, 32, 2),
  "qa": (1.5e-5, 48, 2),
}


def name_of(path):
  return f"{path.parent.name}-{path.stem}"


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch):
  monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_row_says_what_the_paper_says(path):
  experiment, paper = experiment_and_notes(path, "PAPER")
  task = experiment.task
  assert task.name == path.parent.name
  recipe = (experiment.optimizer.learning_rate, experiment.data.batch_size, experiment.run.epochs)
  assert recipe == RECIPES[task.name]
  assert {"table", "method", "split"} <= paper.keys()
  assert getattr(task, paper["split"])
  text = path.read_text()
  assert f"luke-jax experiment run experiments/{task.name}/{path.name} --seeds" in text
  scores = [value for name, value in paper.items() if name not in ("table", "method", "split")]
  assert all(str(score) in text.split('"""')[1] for score in scores)
  assert experiment.model.num_labels == (len(task.labels) or 2)
  assert set(task.row_shapes(experiment.model)) >= {"input_ids", "labels"}


def test_the_ablations_differ_from_luke_in_what_they_are_named_for():
  folder = ROOT / "experiments" / "ner"
  large = load_experiment(folder / "luke_large.py")
  original = load_experiment(folder / "original_attention.py")
  assert large.model.use_entity_aware_attention
  assert original.model == dataclasses.replace(large.model, use_entity_aware_attention=False)
  none = load_experiment(folder / "no_entities.py")
  assert "entity_ids" in large.task.row_shapes(large.model)
  assert not [x for x in none.task.row_shapes(none.model) if x.startswith("entity_ids")]
  for other in (original, none):
    assert (other.task, other.data, other.run) == (large.task, large.data, large.run)


@pytest.fixture(scope="module")
def start(tmp_path_factory):
  return save_start(tmp_path_factory.mktemp("rows") / "luke")


def smoke(experiment, start):
  """The same experiment of a tiny model on the sample tasks, for a few steps."""
  task, model = experiment.task, experiment.model
  files = {s: f"data/sample_tasks/{task.name}/{s}.jsonl" for s in ("train", "dev", "test")}
  bare = task_class(task.name)(**files)
  examples = bare.read(Path(files["train"]), Faults())
  entities = {} if task.name in ("typing", "relations") else {"entities": 32}
  fields = files | {"text": str(start), "labels": bare.found_labels(examples), "words": 64}
  task = dataclasses.replace(task, **fields, **entities)
  words = 2002 + sum(not word.startswith("<") for word in task.new_words)
  table = {0: 0, 4: 4}.get(model.entity_vocab_size, 5)
  labels = max(2, len(task.labels))
  sizes = {"vocab_size": words, "entity_vocab_size": table, "num_labels": labels}
  model = dataclasses.replace(model, **WIDTHS, **sizes)
  run = dataclasses.replace(
    experiment.run, epochs=None, steps=2, evaluate_every=None, start=str(start)
  )
  data = dataclasses.replace(experiment.data, batch_size=4, evaluation_batch_size=32)
  return dataclasses.replace(experiment, model=model, task=task, run=run, data=data)


# All of them run where slow tests do.
QUICK = ("cloze-luke_large", "qa-luke_large")
ROWS = [
  pytest.param(path, marks=() if name_of(path) in QUICK else pytest.mark.slow) for path in FILES
]


@pytest.mark.parametrize("path", ROWS, ids=name_of)
def test_a_tiny_form_of_every_row_runs(path, start, tmp_path, monkeypatch, capsys):
  experiment, paper = experiment_and_notes(path, "PAPER")
  monkeypatch.setattr(loop, "make_mesh", lambda shape: make_mesh(shape, jax.devices()[:1]))
  if not experiment.model.entity_vocab_size:  # nor has a language model's directory entities
    words = shutil.copytree(start, tmp_path / "words")
    (words / "entity_vocab.json").unlink()
    start = words
  chosen = smoke(experiment, start)
  monkeypatch.setattr(experiment_run, "experiment_and_notes", lambda *_: (chosen, paper))
  experiment_run.run(path, seeds="3", output=tmp_path / "out")
  (result,) = read_results([tmp_path / "out"])
  assert result.seed == 3 and result.steps == 2 and result.paper == paper
  assert set(result.scores) == {"dev", "test"}
  headline = next(name for name in (*paper, "f1") if name in ("f1", "exact_match"))
  assert 0 <= result.scores[paper["split"]][headline] <= 1
  assert len(result.data) == 3 and result.versions["jax"] == jax.__version__
  card = (tmp_path / "out" / "seed-3" / "model" / "README.md").read_text(encoding="utf-8")
  assert "\n| dev |" in card and "\n| test |" in card and "| seed | 3 |" in card
  capsys.readouterr()
  experiment_run.run(path, seeds="3", output=tmp_path / "out")  # it is done: nothing trains
  assert str(paper["table"]) in capsys.readouterr().out
