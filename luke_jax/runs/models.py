"""Models that runs make."""

import dataclasses
import warnings
from collections.abc import Sequence
from typing import Any

from luke_jax.convert.adapters import adapter_backbone, is_adapter_directory, save_adapter
from luke_jax.convert.card import with_record
from luke_jax.convert.loading import read_model
from luke_jax.convert.parts import ModelParts, Start
from luke_jax.convert.reading import named_directory
from luke_jax.convert.saving import save
from luke_jax.convert.text_side import add_second_mask, read_text_side
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.heads.kinds import make_head
from luke_jax.inference.predicting import predictions
from luke_jax.inference.settings import KEY, task_of, trained_model
from luke_jax.models.adapters import merge_adapters
from luke_jax.models.network import Network
from luke_jax.models.system import Backbone
from luke_jax.runs.calibration import calibrate, calibration_of, with_calibration
from luke_jax.runs.notes import run_record
from luke_jax.tasks.files import Faults
from luke_jax.tasks.fine_tuning import FineTunedTask
from luke_jax.tasks.label_checks import checked_to_score, counted_as_missed
from luke_jax.training.directory import CONFIG, read_json
from luke_jax.training.experiment import Experiment
from luke_jax.training.export import is_run, read_experiment, read_run
from luke_jax.training.task import Task

# In a run's folder: the directory of the model that it made, and of what is new in that.
MODEL, ADAPTER = "model", "adapter"
# Settings of a run by which its model is scored: else it reads as much as it has room for.
SCORED_BY = ("words", "mentions")


def run_model(run: Path, own: Experiment | None = None) -> tuple[ModelParts, dict[str, Any]]:
  """Returns the model of a run's best checkpoint, and the record of the run.

  `own` is the experiment, where its task or its system is the user's own.
  """
  experiment, step, params = read_run(run, own)
  backbone = Backbone(experiment.model)
  record = run_record(run, step, experiment)
  if isinstance(experiment.task, FineTunedTask):
    task = with_calibration(experiment.task, run)
    model = trained_model(task, task.network(backbone), params)
    ours = {**model.rest[KEY], **calibration_of(task, run)}
    model = dataclasses.replace(model, rest={**model.rest, KEY: ours}, start=_start(experiment))
    return model, record
  return _pretrained(experiment, backbone, merge_adapters(params, type(backbone.config))), record


def write_model(run: Path, experiment: Experiment, splits: Sequence[str] = ()) -> dict[str, Any]:
  """Writes the model of a run as a directory in its folder, scored on the files of `splits`.

  Returns the entries of a summary for it: its place, its step, and its scores, not the last step's.
  """
  model, record = run_model(run, experiment)
  if calibrate(model, experiment, run):
    model, record = run_model(run, experiment)
  scores = dict(record["scores"])
  for split in splits:
    if file := experiment.task.splits.get(split):
      scores[split] = _scored(model, experiment.task, file)
  model = with_record(model, {**record, "scores": scores})
  whole = not (model.network.head and model.network.head.reads_start)
  if whole:
    save(model, run / MODEL)
  if model.start:
    save_adapter(model, run / ADAPTER)
  named = {f"{split}/{name}": x for split, all in scores.items() for name, x in all.items()}
  return {**named, "model": str(run / (MODEL if whole else ADAPTER)), "model_step": record["step"]}


def _scored(model: ModelParts, task: Task, file: str) -> dict[str, float]:
  """Returns the scores of a model on a file of its task."""
  assert isinstance(task, FineTunedTask)
  of_run: dict[str, Any] = {name: x for name, x in vars(task).items() if name in SCORED_BY}
  settings = dataclasses.replace(task_of(model), **of_run)
  faults = Faults(skip=task.skip_bad)
  examples, unknown = checked_to_score(settings, task.read_examples(file, faults), faults)
  predicted = [prediction for _, prediction in predictions(model, settings, examples, faults)]
  faults.warn(file)
  evaluation = settings.evaluate(examples, predicted)
  if unknown:
    warnings.warn(f"{file}: {counted_as_missed(unknown, evaluation)}", stacklevel=2)
  return dict(evaluation.scores)


def export(
  run: Path, target: Path, own: Experiment | None = None, *, adapter: bool = False
) -> tuple[ModelParts, int]:
  """Writes the model of a run to a directory, or what is new in it as an adapter.

  Returns the model and the step of its checkpoint.
  """
  model, record = run_model(run, own)
  model = with_record(model, record)
  if adapter:
    save_adapter(model, target)
  else:
    save(model, target)
  return model, record["step"]


def model_directory(start: Path) -> Path:
  """Returns the directory itself, that of a model by its name, or that in the folder of a run."""
  if not is_run(start):
    return named_directory(start)
  if not (start / MODEL).is_dir():
    if is_adapter_directory(start / ADAPTER):
      return start / ADAPTER
    raise InputError(
      f"{start}: a run without {MODEL}; expected one that is done (the same luke-jax train command"
      f" goes on with it), or what luke-jax export {start} DIRECTORY writes of its best checkpoint"
    )
  return start / MODEL


def backbone_of(directory: Path) -> Path | None:
  """Returns the backbone of the adapter that a run made, where that is all it made."""
  if not is_run(directory) or not is_adapter_directory(directory / ADAPTER):
    return None
  if (directory / MODEL).is_dir():
    return None
  return start_weights(directory)


def start_weights(start: Path) -> Path:
  """Returns the directory of the weights of a start: the model itself, or an adapter's backbone.

  That is known of an adapter in the folder of its run, and of one for a published model.
  """
  directory = model_directory(start)
  if not is_adapter_directory(directory):
    return directory
  if is_run(run := directory.parent) and (origin := read_json(run / CONFIG)["run"]["start"]):
    return start_weights(Path(origin))
  return adapter_backbone(directory)


def _start(experiment: Experiment) -> Start | None:
  """Returns the origin of a run's adapters, if it trained any."""
  task, start = experiment.task, experiment.run.start
  if not isinstance(task, FineTunedTask) or not experiment.optimizer.adapter or start is None:
    return None
  entities = task.entity_table if experiment.backbone.entities else "none"
  added = experiment.model.added_words(task.name, task.new_words)
  directory = model_directory(Path(start))
  if is_adapter_directory(directory):  # which went on from there, over the same backbone
    directory = Path(task.text)
  return Start(directory, dict(added), entities)


def _pretrained(experiment: Experiment, backbone: Backbone, params: dict) -> ModelParts:
  task = experiment.task
  model = ModelParts(Network(backbone, make_head(task.head, backbone)), params)
  named, origin = task.text_directory, _origin(experiment)
  if named is not None:
    tokenizer, processor = read_text_side(backbone, Path(named), None, None)
    model = dataclasses.replace(model, tokenizer=tokenizer, processor=processor)
  elif origin is not None:
    first = read_model(origin)
    model = dataclasses.replace(model, tokenizer=first.tokenizer, processor=first.processor)
  # Without a second mask, transformers' tokenizer reads no vocabulary.
  return add_second_mask(model)


def _origin(experiment: Experiment) -> Path | None:
  """Returns the model directory that the first of the runs started from."""
  start = experiment.run.start
  while start is not None and is_run(Path(start)):
    start = read_experiment(Path(start)).run.start
  return None if start is None else named_directory(Path(start))
