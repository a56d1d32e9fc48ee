"""Experiments that fine-tune a model on a user's files, with the settings of its authors."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import jax

from luke_jax.convert.published import optimizer_of
from luke_jax.convert.sources import read_backbone
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.heads.kinds import heads_of
from luke_jax.inference.settings import processor_of
from luke_jax.models.system import Recipe, System
from luke_jax.models.table import SIZES
from luke_jax.pipeline.batches import Data
from luke_jax.runs.models import model_directory
from luke_jax.runs.starts import start_model
from luke_jax.tasks.files import Faults
from luke_jax.tasks.fine_tuning import FineTunedTask
from luke_jax.tasks.known import is_known, task_class, tasks_with
from luke_jax.text.entity_vocab import SPECIAL_ENTITIES
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.experiment_files import load_experiment
from luke_jax.training.optimizer import Optimizer, Schedule
from luke_jax.training.overrides import override

WIDTHS = range(64, 513, 64)  # of rows
# Of adapters, whose matrices begin at zero: at the rates of kernels they stay near it.
WITH_ADAPTERS = {"learning_rate": 1e-3, "bias_correction": True}


def task_experiment(
  kind: str | type,
  files: tuple[Path, Path],
  start: Path,
  assignments: Sequence[str],
  *,
  system: type[System] | None = None,
) -> Experiment:
  """Returns the recipe for a task, a name or a user's own class, on files of train and dev.

  `assignments` change its fields; `system` is that of the start, if it is the user's own.
  """
  start = model_directory(start)
  of_task = [text for text in assignments if text.startswith("task.")]
  train, dev = map(str, files)
  plain = plain_experiment(kind)
  system = type(read_backbone(start, system).config)
  check_able(plain.task, system, start)
  recipe = system.recipes.get(plain.task.name, Recipe())
  named: Any = plain.task
  on_files = dataclasses.replace(named, train=train, dev=dev, text=str(start), **recipe.task)
  task: Any = override(dataclasses.replace(plain, task=on_files), of_task).task
  faults = Faults(skip=task.skip_bad)
  examples = task.read_examples(train, faults)
  if not task.labels:
    task = dataclasses.replace(task, labels=task.found_labels(examples))
  model = start_model(start, task, task.entity_table, system=system)
  room = min(task.words, model.config.room_for_words)
  task = dataclasses.replace(task, words=room)
  rows = task.features(processor_of(model, task), task.check(examples, faults), faults)
  if not rows:
    raise InputError(f"{train}: no examples with answers; expected one at least")
  if not any(text.startswith("task.words") for text in of_task):
    longest = max(len(row.input_ids) for row in rows)
    fitting = [width for width in (*WIDTHS, room) if longest <= width <= room]
    task = dataclasses.replace(task, words=min(fitting))
  experiment = _with_recipe(model.config.for_fine_tuning, task, str(start))
  chosen = override(experiment, assignments)
  own: Mapping[str, Any] = WITH_ADAPTERS if chosen.optimizer.adapter else optimizer_of(start)
  optimizer = dataclasses.replace(experiment.optimizer, **own)
  experiment = dataclasses.replace(experiment, optimizer=optimizer)
  batch = chosen.data.batch_size
  every = f"run.evaluate_every={math.ceil(len(rows) / batch)}"  # once an epoch, unless changed
  return consistent(override(experiment, [every, *assignments]))


def check_able(task: Any, system: type[System], start: Path) -> None:
  """Raises InputError for a system without a head for one of the tasks that have names."""
  if is_known(type(task)) and task.name not in tasks_with(heads_of(system)):
    able = ", ".join(tasks_with(heads_of(system)))
    raise InputError(
      f"{start}: a {system.title}, which has no head for {task.name}; expected one of {able}, or"
      " another model"
    )


def plain_experiment(kind: str | type) -> Experiment:
  """Returns the recipe for a task, a name or a user's own class, without files and a start."""
  chosen = task_class(kind) if isinstance(kind, str) else kind
  if not issubclass(chosen, FineTunedTask):
    expected = f"{FineTunedTask.__module__}.FineTunedTask"
    raise InputError(f"task {chosen.__name__}: no task; expected a subclass of {expected}")
  return _with_recipe(SIZES["tiny"], chosen(), None)


def start_sizes(task: Any, start: Path, system: type[System] | None = None) -> Any:
  """Returns the sizes of the model that a task, a class or a value, trains from a directory."""
  config = read_backbone(start, system).config
  if task.entity_table == "special" and config.decoders.entities:
    config = config.with_entities(len(SPECIAL_ENTITIES), SPECIAL_ENTITIES.pad_id)
  added = len(config.added_words(task.name, task.new_words))
  return dataclasses.replace(config, vocab_size=config.vocab_size + added)


def _with_recipe(config: Any, task: Any, start: str | None) -> Experiment:
  recipe = config.recipes.get(task.name, Recipe())
  devices = jax.device_count()
  sizes = math.lcm(recipe.batch_size, devices), math.lcm(32, devices)
  return Experiment(
    model=config,
    task=task,
    data=Data(*sizes, lengths=recipe.lengths),
    optimizer=Optimizer(
      learning_rate=recipe.learning_rate,
      beta2=recipe.beta2,
      max_gradient_norm=recipe.max_gradient_norm,
      frozen=(*recipe.frozen, *config.unread),
      **recipe.optimizer,
    ),
    schedule=Schedule(warmup_ratio=recipe.warmup_ratio, decay=recipe.decay),
    run=Run(epochs=recipe.epochs, start=start, best_metric=task.metric),
  )


def read_experiment(file: Path, assignments: Sequence[str]) -> Experiment:
  """Returns the experiment of a file, changed."""
  return consistent(override(load_experiment(file), assignments))


def consistent(experiment: Experiment) -> Experiment:
  """Returns an experiment whose model has no entities without what only entities have."""
  backbone = experiment.backbone
  if backbone.entities or not isinstance(experiment.task, FineTunedTask):
    return experiment
  tables = backbone.config.layout.entities
  frozen = tuple(
    pattern
    for pattern in experiment.optimizer.frozen
    if not any(table.startswith(pattern) for table in tables)
  )
  return dataclasses.replace(
    experiment,
    model=backbone.config.with_entities(0, None),
    optimizer=dataclasses.replace(experiment.optimizer, frozen=frozen),
  )
