"""Experiments that fine-tune a model on a user's files, with the settings of its authors."""

import dataclasses
import math
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from luke_jax import english
from luke_jax.convert.adapters import adapter_rank, is_adapter_directory
from luke_jax.convert.card import pools_means
from luke_jax.convert.parts import ModelParts
from luke_jax.convert.sources import read_backbone
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats.files import Faults
from luke_jax.heads.kinds import HEADS, heads_of
from luke_jax.inference.settings import processor_of
from luke_jax.models.system import Backbone, Recipe, System
from luke_jax.models.table import SIZES
from luke_jax.pipeline.batches import Data
from luke_jax.runs.models import model_directory, start_weights
from luke_jax.runs.rules import RULES, Facts, Reason, decided, task_settings
from luke_jax.runs.starts import fits, start_model
from luke_jax.tasks.contract import TextTask
from luke_jax.tasks.known import CLASSES, task_class
from luke_jax.tasks.running import checked, read_examples
from luke_jax.text import Row
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.experiment_files import load_experiment
from luke_jax.training.optimizer import Optimizer, Schedule
from luke_jax.training.overrides import override

FORM = "task.form"
# Candidates of a row whose words are read once for all of them.
MOST_TOGETHER = 1024
RANK = 16  # of adapters, for a task whose model has to be one


class Chosen(NamedTuple):
  """An experiment on a user's files, and why it has the settings that rules made."""

  experiment: Experiment
  reasons: list[Reason]


def task_experiment(
  kind: str | type,
  files: tuple[str | Path, Path | None],
  start: Path,
  assignments: Sequence[str],
  *,
  system: type[System] | None = None,
) -> Experiment:
  """Returns the experiment of a task, a name or a user's own class, on files of train and dev.

  Its settings suit the number and the lengths of the examples; `assignments` change them. `system`
  is that of the start, if it is the user's own.
  """
  return chosen_experiment(kind, files, start, assignments, system=system).experiment


def chosen_experiment(
  kind: str | type,
  files: tuple[str | Path, Path | None],
  start: Path,
  assignments: Sequence[str],
  *,
  system: type[System] | None = None,
) -> Chosen:
  """Returns the experiment of a task, as `task_experiment` does, with the reasons for it."""
  chosen = _class_of(kind)
  of_box = chosen.english_start and str(start) in english.BOXES
  task_start = (chosen.english_start, str(start))
  begun = english.directory(*task_start) if of_box else model_directory(start)
  weights = start_weights(begun)
  backbone = read_backbone(weights, system)
  chosen, assignments = in_form(chosen, backbone, assignments)
  check_able(chosen, type(backbone.config), weights)
  given = frozenset(text.partition("=")[0].strip() for text in assignments)
  first = Facts(plain_experiment(chosen), given, pools_means=pools_means(weights))
  suited, reasons = decided(first, (task_settings,))
  task, examples = _on_files(suited, files, weights, backbone.config, assignments)
  model = _start(weights, task, type(backbone.config), suited, assignments)
  task, rows = _rows(task, model, examples, by_data="task.entities" not in given)
  lengths = np.array([len(row.input_ids) for row in rows])
  experiment = changed(with_recipe(model.config.for_fine_tuning, task, str(begun)), assignments)
  facts = Facts(experiment, given, lengths, fits(model))
  experiment, more = decided(facts, RULES)
  return Chosen(consistent(experiment), [*reasons, *more])


def _class_of(kind: str | type) -> type[TextTask]:
  chosen = task_class(kind) if isinstance(kind, str) else kind
  if not (isinstance(chosen, type) and issubclass(chosen, TextTask)):
    name = chosen.__name__ if isinstance(chosen, type) else f"a {type(chosen).__name__}"
    expected = f"a name, such as ner, or a subclass of {TextTask.__module__}.TextTask"
    raise InputError(f"task {name}: no task; expected {expected}")
  return chosen


def _on_files(
  suited: Experiment,
  files: tuple[str | Path, Path | None],
  start: Path,
  system: System,
  assignments: Sequence[str],
) -> tuple[TextTask, list[Any]]:
  """Returns the task on files of train and dev, changed, and the examples to train on."""
  train, dev = (str(file or "") for file in files)
  recipe: dict[str, Any] = dict(system.recipes.get(suited.task.name, Recipe()).task)
  own: Any = suited.task
  named = dataclasses.replace(own, train=train, dev=dev, text=str(start), **recipe)
  of_task = [text for text in assignments if text.startswith("task.")]
  task = override(dataclasses.replace(suited, task=named), of_task).task
  assert isinstance(task, TextTask)
  faults = Faults(skip=task.skip_bad)
  examples = read_examples(task, task.train, faults)
  if not examples:
    raise InputError(f"{task.train}: no examples; expected one at least")
  of_dev = read_examples(task, task.dev, faults) if task.dev else []
  _ = task.of_examples(examples)  # which says if they are too few to learn from
  # A label that dev alone has is one that the model misses, and no fault of the files.
  task = task.of_examples([*examples, *of_dev])
  examples = checked(task, examples, faults)
  checked(task, of_dev, faults)  # whose faults should not wait for the model
  return task, examples


def _start(
  start: Path, task: TextTask, system: type[System], plain: Experiment, assignments: Sequence[str]
) -> ModelParts:
  """Returns the model that a training starts from, with sizes as the user has them."""
  model = start_model(start, task, task.entity_table, system=system, blank=True)
  of_model = [text for text in assignments if text.startswith("model.")]
  sizes = override(dataclasses.replace(plain, model=model.config), of_model).model
  return model.with_config(sizes, model.params)


def _rows(
  task: TextTask, model: ModelParts, examples: Sequence[Any], *, by_data: bool
) -> tuple[TextTask, list[Row]]:
  """Returns the rows of examples, and the task with room for their candidates by their number."""
  faults = Faults(skip=task.skip_bad)
  reading: Any = dataclasses.replace(task, words=min(task.words, model.config.room_for_words))
  own: Any = task
  with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of the parts to train and to score on there will be some
    processor = processor_of(model, reading)
    by_data &= task.candidates_by_data and processor.entity_reading == "independent"
    if by_data:
      reading = dataclasses.replace(reading, entities=MOST_TOGETHER)
    rows = reading.features(processor_of(model, reading), examples, faults)
  if not rows:
    raise InputError(f"{task.train}: no examples with answers; expected one at least")
  if by_data:
    most = max(len(row.entity_ids) for row in rows)
    own = dataclasses.replace(own, entities=min(MOST_TOGETHER, 64 * math.ceil(most / 64)))
  return own, rows


def changed(experiment: Experiment, assignments: Sequence[str]) -> Experiment:
  """Returns the experiment with a user's changes; who gives steps means no epochs."""
  if any(text.startswith("run.steps=") for text in assignments):
    assignments = ["run.epochs=null", *assignments]
  return override(experiment, assignments)


def in_form(
  task: type[TextTask], backbone: Backbone, assignments: Sequence[str]
) -> tuple[type[TextTask], list[str]]:
  """Returns the form of a task that suits a system or is asked for, and the other assignments."""
  others = [text for text in assignments if not text.startswith(f"{FORM}=")]
  chosen = [text.partition("=")[2] for text in assignments if text.startswith(f"{FORM}=")]
  forms = task.forms(backbone)
  if not forms and not chosen:
    return task, others
  form = chosen[-1] if chosen else next(iter(forms))
  if form not in forms:
    expected = f"one of {', '.join(sorted(forms))}" if forms else f"none for {task.name}"
    raise InputError(f"{FORM}: {form!r}; expected {expected}")
  fields = {x.name for x in dataclasses.fields(forms[form])}
  for other, of_other in forms.items():
    for name in (text.partition("=")[0] for text in others):
      own = name.removeprefix("task.")
      if own not in fields and own in {x.name for x in dataclasses.fields(of_other)}:
        raise InputError(
          f"{name}: a setting of {other}, and names are found by {form} here; expected"
          f" {FORM}={other} with it"
        )
  return forms[form], others


def check_able(task: type[TextTask], system: type[System], start: Path) -> None:
  """Raises InputError for a system that has none of the heads of a task, if these are known."""
  heads = heads_of(system)
  if any(kind in heads or kind not in HEADS for kind in task.heads):
    return
  able = ", ".join(x for x in CLASSES if any(head in heads for head in task_class(x).heads))
  raise InputError(
    f"{start}: a {system.title}, which has no head for {task.name}; expected one of {able}, or"
    " another model"
  )


def plain_experiment(kind: str | type) -> Experiment:
  """Returns the recipe for a task, a name or a user's own class, without files and a start."""
  return with_recipe(SIZES["tiny"], _class_of(kind)(), None)


def with_recipe(config: System, task: TextTask, start: str | None) -> Experiment:
  """Returns the experiment of a task by the recipe of a system's authors, if they have one."""
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
      adapter=_rank(start) if task.head in HEADS and HEADS[task.head].reads_start else 0,
      **recipe.optimizer,
    ),
    schedule=Schedule(warmup_ratio=recipe.warmup_ratio, decay=recipe.decay),
    run=Run(epochs=recipe.epochs, start=start, best_metric=task.metric),
  )


def _rank(start: str | None) -> int:
  """Returns the rank of the adapter that a training goes on from, or of a new one."""
  if start is None or not is_adapter_directory(Path(start)):
    return RANK
  return adapter_rank(Path(start))


def read_experiment(file: Path, assignments: Sequence[str]) -> Experiment:
  """Returns the experiment of a file, changed."""
  return consistent(override(load_experiment(file), assignments))


def consistent(experiment: Experiment) -> Experiment:
  """Returns an experiment whose model has no entities without what only entities have."""
  backbone = experiment.backbone
  if backbone.entities or not isinstance(experiment.task, TextTask):
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
