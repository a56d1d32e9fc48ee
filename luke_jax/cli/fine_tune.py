"""Experiments that fine-tune a model on a user's files."""

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax

from luke_jax.config import SIZES
from luke_jax.convert import Model
from luke_jax.convert.card import with_record
from luke_jax.convert.fine_tuning import Entities, fine_tuning_start
from luke_jax.errors import InputError
from luke_jax.inference.settings import processor_of, trained_model
from luke_jax.models.luke import ARCHITECTURES
from luke_jax.pipeline.batches import Data
from luke_jax.pipeline.metadata import tokenizer_hash
from luke_jax.results.run_notes import run_record
from luke_jax.tasks.files import Faults
from luke_jax.tasks.fine_tuning import processor, read_examples
from luke_jax.tasks.names import is_fine_tuned, task_class
from luke_jax.tasks.qa.task import FROZEN
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.export import is_run, read_run
from luke_jax.training.optimizer import Optimizer
from luke_jax.training.overrides import load_experiment, override

MODEL = "model"  # in a run's folder: the directory of what it made
UNTRAINED = ("luke/pooler",)  # no task's head reads it
WIDTHS = range(64, 513, 64)  # of rows


class Recipe(NamedTuple):
  """What the paper trained a task with (its appendix), and the metric that chooses a checkpoint."""

  learning_rate: float
  batch_size: int
  epochs: int
  metric: str
  frozen: tuple[str, ...] = UNTRAINED


RECIPES = {
  "typing": Recipe(1e-5, 4, 3, "f1"),
  "relations": Recipe(1e-5, 32, 5, "f1"),
  "ner": Recipe(1e-5, 8, 5, "f1"),
  "cloze": Recipe(1e-5, 32, 2, "exact_match"),
  # The head of questions has no pooler; the entities' table stays as it was pretrained.
  "qa": Recipe(1.5e-5, 48, 2, "f1", FROZEN),
}


def task_experiment(
  name: str, train: Path, dev: Path, start: Path, assignments: Sequence[str]
) -> Experiment:
  """The paper's recipe for a task, on files; `assignments` change its fields."""
  recipe, start = RECIPES[name], model_directory(start)
  asked = [text for text in assignments if text.startswith("task.")]
  bare = task_class(name)(train=str(train), dev=str(dev), text=str(start))
  task = override(Experiment(SIZES["tiny"], bare), asked).task
  faults = Faults(skip=task.skip_bad)
  examples = read_examples(task, str(train), faults)
  if not task.labels:
    task = dataclasses.replace(task, labels=task.found_labels(examples))
  model = start_model(start, task, task.entity_table)
  room = min(task.words, model.config.room_for_words)
  task = dataclasses.replace(task, words=room)
  rows = task.features(processor_of(model, task), task.check(examples, faults), faults)
  if not rows:
    raise InputError(f"{train}: no examples with answers; expected one at least")
  if not any(text.startswith("task.words") for text in asked):
    longest = max(len(row.input_ids) for row in rows)
    fitting = [width for width in (*WIDTHS, room) if longest <= width <= room]
    task = dataclasses.replace(task, words=min(fitting))
  batch = math.lcm(recipe.batch_size, jax.device_count())
  # The paper's models are pretrained with the original attention and fine-tuned with four queries.
  changes = {"num_labels": max(2, len(task.labels)), "use_entity_aware_attention": True}
  experiment = Experiment(
    model=dataclasses.replace(model.config, **changes),
    task=task,
    data=Data(batch_size=batch, evaluation_batch_size=math.lcm(32, jax.device_count())),
    optimizer=Optimizer(learning_rate=recipe.learning_rate, frozen=recipe.frozen),
    run=Run(epochs=recipe.epochs, start=str(start), best_metric=recipe.metric),
  )
  batch = override(experiment, assignments).data.batch_size
  every = f"run.evaluate_every={math.ceil(len(rows) / batch)}"  # once an epoch, unless told
  return consistent(override(experiment, [every, *assignments]))


def read_experiment(file: Path, assignments: Sequence[str]) -> Experiment:
  """The experiment of a file, changed."""
  return consistent(override(load_experiment(file), assignments))


def consistent(experiment: Experiment) -> Experiment:
  """A fine-tuned model that was told to have no entities, without what only entities have."""
  if experiment.model.entity_vocab_size or not is_fine_tuned(experiment.task):
    return experiment
  frozen = tuple(x for x in experiment.optimizer.frozen if "entity_embeddings" not in x)
  return dataclasses.replace(
    experiment,
    model=dataclasses.replace(experiment.model, use_entity_aware_attention=False),
    optimizer=dataclasses.replace(experiment.optimizer, frozen=frozen),
  )


def start_model(start: Path, task: Any, entities: Entities, **fields: Any) -> Model:
  """What a task's training starts from: a model directory, or the one in a run's folder."""
  return fine_tuning_start(
    model_directory(start),
    architecture=task.architecture,
    labels=task.labels,
    new_words=task.new_words,
    entities=entities,
    **fields,
  )


def model_directory(start: Path) -> Path:
  """The directory itself, or the model in the folder of a run."""
  if not is_run(start):
    return start
  if not (start / MODEL).is_dir():
    raise InputError(f"{start}: the folder of a run; expected what luke-jax export makes of it")
  return start / MODEL


def start_params(start: Path, experiment: Experiment) -> dict:
  """The parameters that an experiment of a fine-tuned task starts from."""
  model = experiment.model
  entities: Entities = experiment.task.entity_table if model.entity_vocab_size else "none"
  attention = model.use_entity_aware_attention
  read = start_model(start, experiment.task, entities, use_entity_aware_attention=attention)
  _check_text(start, read, experiment.task)
  return read.params


def _check_text(start: Path, model: Model, task: Any) -> None:
  """Refuses a model to which the ids of the task's rows would mean something else."""
  rows = processor(task)
  if model.tokenizer is None or tokenizer_hash(model.tokenizer) != tokenizer_hash(rows.tokenizer):
    raise InputError(
      f"run.start: {start}: another tokenizer than {task.text}; expected task.text's"
    )
  if model.processor and model.processor.entity_vocab.ids != rows.entity_vocab.ids:
    raise InputError(f"run.start: {start}: other entities than {task.text}; expected task.text's")


def write_model(run: Path) -> dict[str, Any]:
  """Writes what a run of a fine-tuned task made, as a model directory in its folder.

  Returns what a summary says of it: where it is, its step, and its scores, not the last step's.
  """
  model, record = run_model(run)
  with_record(model, record).save(run / MODEL)
  told = {f"dev/{name}": value for name, value in record["scores"].get("dev", {}).items()}
  return {**told, "model": str(run / MODEL), "model_step": record["step"]}


def run_model(run: Path) -> tuple[Model, dict[str, Any]]:
  """What a run of a fine-tuned task made, and the record of it."""
  experiment, step, params = read_run(run)
  config = dataclasses.replace(experiment.model, dtype="float32", attention="blocks", remat="none")
  module = ARCHITECTURES[experiment.task.architecture](config)
  return trained_model(experiment.task, config, module, params), run_record(run, step)
