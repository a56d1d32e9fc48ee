"""The models that runs leave, and how often their answers are right at a score."""

import dataclasses
import json
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
from luke_jax.files import Path, write_json
from luke_jax.formats.files import Faults
from luke_jax.heads.kinds import make_head
from luke_jax.inference.predicting import predictions, reader_for
from luke_jax.inference.settings import ENTRY, KEY, SURE, Calibration, task_of, trained_model
from luke_jax.models.adapters import merge_adapters
from luke_jax.models.network import Network
from luke_jax.models.system import Backbone
from luke_jax.runs.notes import run_record
from luke_jax.tasks.calibration import (
  ENOUGH_ANSWERS,
  LEAST_SCORE,
  Answered,
  calibration_error,
  fitted,
  threshold_for,
)
from luke_jax.tasks.contract import TextTask
from luke_jax.tasks.label_checks import checked_to_score, counted_as_missed
from luke_jax.tasks.running import examples_of, read_examples
from luke_jax.training.directory import CONFIG, DEV, FOLDS, read_json
from luke_jax.training.experiment import Experiment
from luke_jax.training.export import is_run, read_experiment, read_run
from luke_jax.training.task import Settings

# In a run's folder: the directory of the model that it made, and of what is new in that.
MODEL, ADAPTER = "model", "adapter"
# Settings of a run by which its model is scored: else it reads as much as it has room for.
SCORED_BY = ("words", "mentions")
FILE = "calibration.json"  # of a run
MOST_EXAMPLES = 500  # of dev that settings are chosen on
PARTS = 5  # by which the error of fitted scores is measured
SURE_SHARE = 0.9  # least share of the sure answers that are right


def with_calibration(task: TextTask, run: Path) -> TextTask:
  """Returns a task with what a run found its scores to mean, if it looked."""
  if not (run / FILE).is_file():
    return task
  settings = json.loads((run / FILE).read_text(encoding="utf-8"))
  lists = {name: tuple(x) for name, x in settings.items() if isinstance(x, list)}
  return dataclasses.replace(task, **settings | lists)


def calibration_of(task: TextTask, run: Path) -> dict[str, object]:
  """Returns the entries of config.json by which scores are shares of right answers, if dev tells.

  Without dev the parts of a cross-validation do. Tasks with thresholds of their own have none.
  """
  if not task.calibrated:
    return {}
  files = [run / DEV] if (run / DEV).is_file() else sorted(run.glob(f"{FOLDS}/*/{DEV}"))
  answers = [Answered(*x) for file in files for x in read_json(file).get("answers", ())]
  if len(answers) < ENOUGH_ANSWERS:
    return {}
  calibration, sure = measured(answers)
  return {ENTRY: list(calibration), SURE: sure}


def measured(answers: Sequence[Answered]) -> tuple[Calibration, float | None]:
  """Returns the meaning of scores, and the one from which answers are sure, if any are."""
  calibration = Calibration(*(round(x, 6) for x in fitted(answers)))
  sure = threshold_for(answers, SURE_SHARE)
  return calibration, round(calibration.score(sure.threshold), 4) if sure else None


def error_by_parts(answers: Sequence[Answered]) -> float:
  """Returns the calibration error of answers, each part's scores fitted to the other parts."""
  scored: list[Answered] = []
  for part in range(PARTS):
    others = [x for number, x in enumerate(answers) if number % PARTS != part]
    calibration = Calibration(*fitted(others))
    scored += [Answered(calibration.score(x.score), x.right) for x in answers[part::PARTS]]
  return calibration_error(scored)


def plain(task: TextTask) -> TextTask:
  """Returns a task whose scores are as they are computed, and which answers most of all."""
  if task.calibrated:
    return task
  own: Any = task
  return dataclasses.replace(own, slope=1.0, offset=0.0, threshold=LEAST_SCORE)


def refitted(task: Any, calibration: Calibration) -> dict[str, float]:
  """Returns settings with which a task has other scores and the answers that it had."""
  least = Calibration(1 / task.slope, -task.offset / task.slope).score(task.threshold)
  return {**calibration._asdict(), "threshold": round(calibration.score(least), 6)}


def reads_again(experiment: Experiment) -> float:
  """Returns the share of dev that `calibrate` reads after a training."""
  task = experiment.task
  if not isinstance(task, TextTask) or task.calibrated or not experiment.engine.scored:
    return 0.0
  return min(1.0, MOST_EXAMPLES / len(examples_of(task, "dev")))


def calibrate(model: ModelParts, experiment: Experiment, run: Path) -> bool:
  """Writes the settings that a task has chosen on dev, such as thresholds; returns whether any."""
  task = experiment.task
  if not isinstance(task, TextTask) or task.calibrated:
    return False
  dev = examples_of(task, "dev")[:MOST_EXAMPLES] if experiment.engine.scored else ()
  read = reader_for(model, Faults(skip=task.skip_bad))
  settings = task_of(model).tuned(read, dev, examples_of(task, "train"))
  if settings:
    write_json(run / FILE, dict(settings))
  return bool(settings)


def run_model(run: Path, own: Experiment | None = None) -> tuple[ModelParts, dict[str, Any]]:
  """Returns the model of a run's best checkpoint, and the record of the run.

  `own` is the experiment, where its task or its system is the user's own.
  """
  experiment, step, params = read_run(run, own)
  backbone = Backbone(experiment.model)
  record = run_record(run, step, experiment)
  if isinstance(experiment.task, TextTask):
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
    if file := experiment.engine.splits.get(split):
      scores[split] = _scored(model, experiment.task, file)
  model = with_record(model, {**record, "scores": scores})
  whole = not (model.network.head and model.network.head.reads_start)
  if whole:
    save(model, run / MODEL)
  if model.start:
    save_adapter(model, run / ADAPTER)
  named = {f"{split}/{name}": x for split, all in scores.items() for name, x in all.items()}
  return {**named, "model": str(run / (MODEL if whole else ADAPTER)), "model_step": record["step"]}


def _scored(model: ModelParts, task: Settings, file: str) -> dict[str, float]:
  """Returns the scores of a model on a file of its task."""
  assert isinstance(task, TextTask)
  of_run: dict[str, Any] = {name: x for name, x in vars(task).items() if name in SCORED_BY}
  settings = dataclasses.replace(task_of(model), **of_run)
  faults = Faults(skip=task.skip_bad)
  examples, unknown = checked_to_score(settings, read_examples(task, file, faults), faults)
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
  if not isinstance(task, TextTask) or not experiment.optimizer.adapter or start is None:
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
  named, origin = experiment.engine.text_directory, _origin(experiment)
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
