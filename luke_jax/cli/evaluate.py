"""`luke-jax evaluate`, `score` and `calibrate`."""

import dataclasses
import sys
from collections.abc import Sequence
from typing import Annotated, Any

from tyro.conf import OmitArgPrefixes, Positional, arg

from luke_jax import english
from luke_jax.cli import task_inputs
from luke_jax.cli.process import counted
from luke_jax.convert.parts import ModelParts
from luke_jax.errors import InputError
from luke_jax.files import Path, check_place, read_json_object, write_json, write_text
from luke_jax.formats.files import Faults
from luke_jax.inference.predicting import LEAST_SCORE_TOLD, asking, predictions, reader_for
from luke_jax.inference.settings import ENTRY, KEY, SURE, Calibration
from luke_jax.runs.models import error_by_parts, measured, model_directory, plain, refitted
from luke_jax.show.evaluation_page import page, tables
from luke_jax.tasks import calibration
from luke_jax.tasks.contract import TextTask
from luke_jax.tasks.evaluation import Evaluation
from luke_jax.tasks.known import TaskName, task_class, task_scores
from luke_jax.tasks.label_checks import checked_to_score, counted_as_missed
from luke_jax.tasks.ner.documents import NamesExample
from luke_jax.tasks.ner.score import other_labels, without_labels
from luke_jax.tasks.running import read_examples
from luke_jax.terminal import Console
from luke_jax.training.metrics import summary_line


@dataclasses.dataclass(frozen=True)
class Reports:
  """Options for reports of an evaluation."""

  mistakes: int = 5
  """Number of mistakes to show; the page shows ten times as many."""
  json: Path | None = None
  """File for the whole evaluation as JSON, every mistake included."""
  html: Path | None = None
  """File for the evaluation as a page of HTML."""

  def check(self) -> None:
    """Raises InputError for a negative number, and for files that cannot be written."""
    if self.mistakes < 0:
      raise InputError(f"--mistakes: {self.mistakes}; expected 0 or more")
    for output in filter(None, (self.json, self.html)):
      check_place(output)

  def write(self, evaluation: Evaluation, title: str) -> None:
    """Prints tables, and writes the files."""
    Console().print(tables(evaluation, self.mistakes))
    if self.json:
      write_json(self.json, evaluation.as_json())
    if self.html:
      write_text(self.html, page(evaluation, title, 10 * self.mistakes))


@dataclasses.dataclass(frozen=True)
class Aim:
  """Options for a threshold."""

  precision: float | None = None
  """Share of right answers, such as 0.95, to print the score from which they have it."""
  recall: float | None = None
  """Share of what there is to find, such as 0.9, to print the score from which answers have it."""

  def check(self) -> None:
    """Raises InputError for numbers that are no shares, and for two of them."""
    for name, share in vars(self).items():
      if share is not None and not 0 < share < 1:
        raise InputError(f"--{name}: {share:g}; expected a share above 0 and below 1")
    if None not in vars(self).values():
      raise InputError("--recall: beside --precision; expected one of them: both are a threshold")


def evaluate(
  task: Annotated[str, Positional, arg(metavar="TASK|EXPERIMENT")],
  directory: Annotated[Path, Positional, arg(metavar="DIRECTORY")],
  file: Annotated[Path, Positional, arg(metavar="FILE")],
  /,
  *,
  skip_bad: bool = False,
  only_labels_of_gold: bool = False,
  find_names: bool = False,
  reports: OmitArgPrefixes[Reports],
  aim: OmitArgPrefixes[Aim],
  reading: OmitArgPrefixes[task_inputs.ModelOptions],
  form: OmitArgPrefixes[task_inputs.FileOptions],
) -> None:
  """Scores a fine-tuned model on examples with known answers.

  Prints the task's official metric, figures for each label, which label was taken for which, and
  the mistakes that the model was surest of. The last line is the scores in JSON.

      luke-jax evaluate ner runs/ner test.conll --html report.html

  Args:
    task: typing, relations, ner, cloze, qa, classification, tagging, linking, labels or facts, or
      an experiment file that defines a task.
    directory: Directory or name of a model, or the folder of the run that made it.
    file: File of examples.
    skip_bad: Leaves out examples that are faulty, and counts them.
    only_labels_of_gold: Leaves out predicted names whose label the file never has.
    find_names: For linking: finds the names as well, instead of taking those of the file.
  """
  reports.check()
  aim.check()
  model, settings = reading.read(task, directory)
  settings = _finding(form.of(settings), find_names)
  faults = Faults(skip=skip_bad)
  examples, unknown = _read(settings, file, faults)
  settings = asking(model, settings, examples)
  found = predictions(model, settings, examples, faults, file=str(file))
  predicted = [x for _, x in counted(found, len(examples))]
  task_inputs.report_faults(faults)
  predicted = _with_labels_of(examples, predicted, settings, only_labels_of_gold)
  evaluation = settings.evaluate(examples, predicted)
  if unknown:
    print(counted_as_missed(unknown, evaluation), file=sys.stderr)
  reports.write(evaluation, f"{task}: {directory.name} on {file.name}")
  figures: dict[str, float | None] = {**evaluation.scores, "examples": len(examples)}
  if evaluation.answers:
    task_inputs.warn_of_scores(model, settings)
    figures["calibration_error"] = calibration.calibration_error(evaluation.answers)
  if aim.precision is not None:
    figures |= _for_precision(evaluation, aim.precision)
  if aim.recall is not None:
    if (everything := settings.with_threshold(LEAST_SCORE_TOLD)) != settings:
      again = predictions(model, everything, examples, Faults(skip=skip_bad))
      of_all = [x for _, x in counted(again, len(examples))]
      evaluation = everything.evaluate(examples, of_all)
    figures |= _for_recall(evaluation, aim.recall)
  print(summary_line(figures))


def _read(settings: TextTask, file: Path, faults: Faults) -> tuple[list[Any], list[str]]:
  """Returns a file's examples with answers, and those labels that the model does not know."""
  examples = read_examples(settings, str(file), faults)
  try:
    examples, unknown = checked_to_score(settings, examples, faults)
  except InputError as fault:
    raise InputError(f"{fault}; --skip-bad leaves such examples out") from None
  if not examples:
    task_inputs.report_faults(faults)
    raise InputError(f"{file}: no examples with answers; expected one at least")
  return examples, unknown


def _for_precision(evaluation: Evaluation, precision: float) -> dict[str, float | None]:
  """Returns the threshold for a precision, and says it."""
  answers = evaluation.answers
  kept = calibration.threshold_for(answers, precision)
  if kept is None:
    print(f"{len(answers)} answers do not tell from which score {precision:.0%} are right")
    return {"threshold": None}
  print(
    f"answers with a score of {kept.threshold:.4f} or more are right in {precision:.0%}, with a"
    f" certainty of {calibration.CERTAINTY:.0%}: {kept.count} of {len(answers)} answers,"
    f" {kept.precision:.1%} right"
  )
  return {"threshold": kept.threshold, "coverage": kept.coverage}


def _for_recall(everything: Evaluation, recall: float) -> dict[str, float | None]:
  """Returns the threshold for a recall, and says it and what it costs."""
  some = [x for x in everything.wanted if x.count]
  told = calibration.threshold_for_recall(some, recall)
  if told is None:
    found = sum(len(x.scores) / x.count for x in some) / max(1, len(some))
    print(
      f"no score has answers that find {recall:.0%} of what there is: all of them find {found:.1%},"
      f" in the mean of {len(some)} examples with something to find"
    )
    return {"threshold": None}
  kept = [x.right for x in everything.answers if x.score >= told.threshold]
  precision = sum(kept) / len(kept)
  print(
    f"answers with a score of {told.threshold:.4f} or more find {recall:.0%} of what there is in"
    f" an example, in the mean: {told.recall:.1%} in the {told.examples} that have something;"
    f" {precision:.1%} of {len(kept)} answers are right"
  )
  return {"threshold": told.threshold, "recall_of_examples": told.recall}


def _finding(settings: TextTask, find_names: bool) -> TextTask:
  """Returns the task, which finds the names that it links if it is told to."""
  if not find_names:
    return settings
  if "find" not in task_inputs.field_names(settings):
    raise InputError(f"--find-names: {settings.name} is given no names; expected it for linking")
  finding: Any = settings
  return dataclasses.replace(finding, find=True)


def _with_labels_of(
  examples: Sequence[Any], predicted: list[Any], settings: TextTask, only: bool
) -> list[Any]:
  """Returns names without labels that the file never has, or says how many such there are."""
  if not all(isinstance(example, NamesExample) for example in examples) or settings.reads_labels:
    if only:
      raise InputError(
        f"--only-labels-of-gold: of ner and tagging; expected none for {settings.name}"
      )
    return predicted
  others = other_labels(examples, predicted)
  if not others:
    return predicted
  counts = ", ".join(f"{label} {count}" for label, count in others.items())
  if only:
    print(f"left out: names with labels that the file never has: {counts}", file=sys.stderr)
    return without_labels(predicted, others)
  print(
    f"names with labels that the file never has count as mistakes: {counts};"
    " --only-labels-of-gold leaves them out",
    file=sys.stderr,
  )
  return predicted


def score(
  task: Annotated[TaskName, Positional, arg(metavar="TASK")],
  /,
  *,
  gold: Path,
  predictions: Path,
  skip_bad: bool = False,
  attributes: str = "",
  form: OmitArgPrefixes[task_inputs.FileOptions],
) -> None:
  """Scores any system's predictions by a task's official metric; prints JSON.

  Predictions are JSON lines with the ids of the examples, as `luke-jax predict` writes them, or
  files that the task's official script reads.

      luke-jax score qa --gold dev-v1.1.json --predictions answers.json

  Args:
    task: typing, relations, ner, cloze, qa, classification, tagging, linking, labels or facts.
    gold: File of examples with answers.
    predictions: File of predictions.
    skip_bad: Leaves out examples that are faulty, and counts them.
    attributes: For classification: names of attributes that texts have, such as user,product.
  """
  faults = Faults(skip=skip_bad)
  settings = task_inputs.with_attributes(form.of(task_class(task)()), attributes)
  examples = read_examples(settings, str(gold), faults)
  if not examples:
    raise InputError(f"{gold}: no examples; expected one at least")
  scores = task_scores(task)
  by_id = scores.read_predictions(predictions, faults)
  if not by_id:
    raise InputError(f"{predictions}: no predictions; expected one for each example")
  task_inputs.report_faults(faults)
  summary = dict(scores.score_file(examples, by_id)) | {"examples": len(examples)}
  print(summary_line(summary | {"predictions": len(by_id)}))


CONFIG = "config.json"


def calibrate(
  task: Annotated[str, Positional, arg(metavar="TASK|EXPERIMENT")],
  directory: Annotated[Path, Positional, arg(metavar="DIRECTORY")],
  file: Annotated[Path, Positional, arg(metavar="FILE")],
  /,
  *,
  skip_bad: bool = False,
  reading: OmitArgPrefixes[task_inputs.ModelOptions],
  form: OmitArgPrefixes[task_inputs.FileOptions],
) -> None:
  """Fits a model's scores to be shares of right answers on texts like a file's.

  Slope and offset of the scores' logits are kept in the model's config.json, and the score from
  which nine in ten answers are right; the answers stay the same. A training does so by itself on
  dev.

      luke-jax calibrate ner runs/ner dev.conll

  Args:
    task: typing, relations, ner, cloze, qa, classification, tagging, linking, labels or facts, or
      an experiment file that defines a task.
    directory: Directory or name of a model, or the folder of the run that made it.
    file: File of examples with answers, which nothing was trained on.
    skip_bad: Leaves out examples that are faulty, and counts them.
  """
  place = model_directory(directory) / CONFIG
  if Path(english.__file__).parent in place.parents:
    raise InputError(f"{directory}: in the box; expected a model of yours, or a copy")
  model, settings = reading.read(task, directory)
  settings = form.of(settings)
  faults = Faults(skip=skip_bad)
  examples, _ = checked_to_score(settings, read_examples(settings, str(file), faults), faults)
  asking_plainly = asking(model, plain(settings), examples)
  model = _without_calibration(model)
  found_in = predictions(model, asking_plainly, examples, faults, file=str(file))
  predicted = [x for _, x in counted(found_in, len(examples))]
  task_inputs.report_faults(faults)
  answers = asking_plainly.evaluate(examples, predicted).answers
  withheld = asking_plainly.answers_withheld(reader_for(model, faults), examples)
  answers = [*answers, *withheld]
  if len(answers) < calibration.ENOUGH_ANSWERS:
    raise InputError(
      f"{file}: {len(answers)} answers; expected {calibration.ENOUGH_ANSWERS} or more, to tell from"
    )
  found, sure = measured(answers)
  _write_calibration(place, settings, found, sure)
  errors = {"before": calibration.calibration_error(answers), "after": error_by_parts(answers)}
  figures = {**found._asdict(), SURE: sure, "answers": len(answers), **errors}
  print(
    f"calibration error {errors['before']:.3f} before, {errors['after']:.3f} after: each fifth of"
    " the answers by a fit to the other four"
  )
  if withheld:
    mean = sum(found.score(x.score) for x in withheld) / len(withheld)
    print(
      f"names whose entity is taken out: {len(withheld)} of the answers, of a mean score {mean:.3f}"
    )
  print(summary_line({**figures, "config": str(place)}))


def _write_calibration(place: Path, task: TextTask, found: Calibration, sure: float | None) -> None:
  """Writes the meaning of scores into a model's config.json."""
  config = read_json_object(place, "the config of a model")
  ours = config.get(KEY)
  entry = {**(ours if isinstance(ours, dict) else {})}
  if task.calibrated:
    entry |= {ENTRY: list(found), SURE: sure}
  else:
    entry["settings"] = entry.get("settings", {}) | refitted(task, found)
  write_json(place, {**config, KEY: entry})


def _without_calibration(model: ModelParts) -> ModelParts:
  """Returns a model whose scores are as they are computed."""
  ours = model.rest.get(KEY)
  if not isinstance(ours, dict) or ENTRY not in ours:
    return model
  kept = {name: x for name, x in ours.items() if name != ENTRY}
  return dataclasses.replace(model, rest={**model.rest, KEY: kept})
