"""The tables of the tasks in experiments/: the rows of the papers."""

import dataclasses
import shutil
from pathlib import Path

import jax
import numpy as np
import pytest
from experiment_rows import EXPERIMENTS, row_name, rows_of
from sample_models import WIDTHS, sample_file, save_roberta, save_start, without_sums

import luke_jax
from experiments.results.table import read_results
from luke_jax.cli import experiment as experiments
from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.models.table import SIZES
from luke_jax.tasks.known import task_class
from luke_jax.tasks.linking.knowledge import About, lines_of, write_knowledge
from luke_jax.tasks.linking.names import Meanings
from luke_jax.tasks.qa.task import linked
from luke_jax.training.experiment_files import experiment_and_paper, load_experiment

ROOT = Path(__file__).parents[2]
TABLES = ("entity_typing", "relations", "ner", "cloze", "qa", "linking")
PATHS = [path for table in TABLES for path in rows_of(table)]
# facts of the paper's appendix: learning rate, batch, epochs.
RECIPES = {
  "typing": (1e-5, 4, 3),
  "relations": (1e-5, 32, 5),
  "ner": (1e-5, 8, 5),
  "cloze": (1e-5, 32, 2),
  "qa": (1.5e-5, 48, 2),
  "linking": (2e-5, 16, 2),  # of Yamada et al. (2022)
}
# Those of the paper, and where each starts.
ROBERTAS = {"roberta-large": "roberta-large", "roberta-control": "roberta-large-control"}


def name_of(path):
  return path.name.replace(".py:", "-")


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch):
  monkeypatch.chdir(ROOT)


def known(folder):
  """Knowledge of one entity, which a linker's rows cannot do without."""
  write_knowledge(
    folder / "known", lines_of([About("A")]), (np.eye(1),), Meanings.of({"A": {0: 1}}), {}
  )
  return str(folder / "known")


@pytest.mark.parametrize("path", PATHS, ids=name_of)
def test_a_row_says_what_the_paper_says(path, tmp_path):
  experiment, paper = experiment_and_paper(path)
  task = experiment.task
  recipe = (experiment.optimizer.learning_rate, experiment.data.batch_size, experiment.run.epochs)
  assert recipe == RECIPES[task.name]
  assert {"table", "method", "split"} <= paper.keys()
  assert getattr(task, paper["split"])
  if task.name == "linking":
    task = dataclasses.replace(task, knowledge=known(tmp_path))
  head = task.network(experiment.backbone).head
  assert getattr(head, "labels", 0) == len(task.labels)
  assert set(task.engine().row_shapes(experiment.backbone)) >= {"input_ids", "labels"}


def test_the_ablations_differ_from_luke_in_what_they_are_named_for():
  names = ("luke-large", "original-attention", "no-entities")
  large, original, none = (load_experiment(EXPERIMENTS / f"ner.py:{name}") for name in names)
  assert large.model.use_entity_aware_attention
  assert original.model == dataclasses.replace(large.model, use_entity_aware_attention=False)
  assert "entity_ids" in large.engine.row_shapes(large.backbone)
  assert not [x for x in none.engine.row_shapes(none.backbone) if x.startswith("entity_ids")]
  for other in (original, none):
    assert (other.task, other.data, other.run) == (large.task, large.data, large.run)


@pytest.mark.parametrize(
  "path", [path for path in PATHS if row_name(path) in ROBERTAS], ids=name_of
)
def test_the_rows_of_roberta_are_a_roberta_with_the_words_of_the_task(path):
  """No markers of entities but where LUKE's records were read, and all else as for LUKE."""
  row, large = (
    load_experiment(path.with_name(path.name.replace(row_name(path), name)))
    for name in (row_name(path), "luke-large")
  )
  words = 50265 + 2 * (row_name(path) == "roberta-control") + len(row.task.new_words)
  assert row.model == dataclasses.replace(SIZES["roberta-large"], vocab_size=words)
  assert row.optimizer == dataclasses.replace(large.optimizer, frozen=())
  words_only = {"mentions": ""} if row.task.name == "qa" else {}
  assert row.task == dataclasses.replace(large.task, text=row.run.start, **words_only)
  assert row.run == dataclasses.replace(large.run, start=ROBERTAS[row_name(path)])
  assert (row.running, row.data) == (large.running, large.data)


@pytest.fixture(scope="module")
def starts(tmp_path_factory):
  """Tiny models by the names of those that the rows start from."""
  folder = tmp_path_factory.mktemp("rows")
  luke = save_start(folder / "luke")
  control = save_roberta(folder / "control", markers=True)
  return {
    "luke-base": luke,
    "luke-large": luke,
    "roberta-large": save_roberta(folder / "roberta"),
    "roberta-large-control": control,
  }


def smoke(experiment, start, folder):
  """The same experiment of a tiny model on a part of the sample tasks, for a few steps."""
  task, model = experiment.task, experiment.model
  files = {split: str(folder / f"{split}.jsonl") for split in ("train", "dev", "test")}
  for split, file in files.items():
    lines = sample_file(task.name, split).read_text(encoding="utf-8").splitlines(keepends=True)
    Path(file).write_text("".join(lines[:96]), encoding="utf-8")  # enough for each label
  bare = task_class(task.name)(**files)
  examples = bare.read(Path(files["train"]), Faults())
  entities = {} if task.name in ("typing", "relations") else {"entities": 32}
  if task.name == "qa":
    entities["mentions"] = ""
  fields = files | {"text": str(start), "labels": bare.found_labels(examples), "words": 64}
  task = dataclasses.replace(task, **fields, **entities)
  sizes = {**WIDTHS, "vocab_size": 2000 + model.vocab_size - 50265}  # so many more than RoBERTa's
  if experiment.backbone.entities:
    sizes["entity_vocab_size"] = 4 if model.entity_vocab_size == 4 else 5
  fitting = {name: size for name, size in sizes.items() if hasattr(model, name)}
  model = dataclasses.replace(model, **fitting)
  run = dataclasses.replace(
    experiment.run, epochs=None, steps=2, evaluate_every=None, start=str(start)
  )
  data = dataclasses.replace(experiment.data, batch_size=4, evaluation_batch_size=32)
  return dataclasses.replace(experiment, model=model, task=task, run=run, data=data)


# One row of each way of its task; the others differ from it in numbers, which the tests above read.
QUICK = "qa-luke-large"
LATER = {
  *("entity_typing-luke-large", "relations-luke-large", "ner-luke-large", "cloze-luke-large"),
  *("entity_typing-luke-base", "relations-original-attention", "qa-no-entities"),
  *("cloze-roberta-large", "ner-roberta-control"),
}
ROWS = [
  pytest.param(path, marks=() if name_of(path) == QUICK else pytest.mark.slow)
  for path in PATHS
  if name_of(path) in {QUICK, *LATER}
]


@pytest.mark.slow
@pytest.mark.parametrize("path", ROWS, ids=name_of)
def test_a_tiny_form_of_a_row_runs(path, starts, tmp_path, one_device, monkeypatch, capsys):
  experiment, paper = experiment_and_paper(path)
  start = starts[experiment.run.start]
  if row_name(path) == "no-entities":  # nor has the directory any
    start = shutil.copytree(start, tmp_path / "words")
    without_sums(start)
    (start / "entity_vocab.json").unlink()
  chosen = smoke(experiment, start, tmp_path)
  monkeypatch.setattr(experiments, "experiment_and_paper", lambda *_: (chosen, paper))
  experiments.experiment_run(path, seeds="3", output=tmp_path / "out")
  (result,) = read_results([tmp_path / "out"])
  assert result.seed == 3 and result.steps == 2 and result.paper == paper
  assert set(result.scores) == {"dev", "test"}
  headline = next(name for name in (*paper, "f1") if name in ("f1", "exact_match"))
  assert 0 <= result.scores[paper["split"]][headline] <= 1
  assert len(result.data) == 3 and result.versions["jax"] == jax.__version__
  model = tmp_path / "out" / "seed-3" / "model"
  assert luke_jax.load(model).system is type(experiment.model)
  card = (model / "README.md").read_text(encoding="utf-8")
  assert "\n| dev |" in card and "\n| test |" in card and "| seed | 3 |" in card
  capsys.readouterr()
  experiments.experiment_run(path, seeds="3", output=tmp_path / "out")  # done: nothing trains
  assert capsys.readouterr().out.startswith("seed 3: dev ")


def test_a_row_of_questions_stops_without_its_table_of_mentions():
  """Without entities in the texts it would measure another row."""
  task = load_experiment(EXPERIMENTS / "qa.py:luke-large").task
  with pytest.raises(InputError, match=r"enwiki-2016/mentions: no .*expected"):
    linked([], task.mentions)
