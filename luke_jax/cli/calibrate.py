"""`luke-jax calibrate`."""

import dataclasses
from typing import Annotated

from tyro.conf import OmitArgPrefixes, Positional, arg

from luke_jax import english
from luke_jax.cli.printing import counted
from luke_jax.cli.task_inputs import FileOptions, ModelOptions, report_faults
from luke_jax.convert.parts import ModelParts
from luke_jax.errors import InputError
from luke_jax.files import Path, read_json_object, write_json
from luke_jax.formats.files import Faults
from luke_jax.inference.predicting import asking, predictions, reader_for
from luke_jax.inference.settings import ENTRY, KEY, SURE, Calibration
from luke_jax.runs.models import error_by_parts, measured, model_directory, plain, refitted
from luke_jax.tasks.calibration import ENOUGH_ANSWERS, calibration_error
from luke_jax.tasks.contract import TextTask
from luke_jax.tasks.label_checks import checked_to_score
from luke_jax.tasks.running import read_examples
from luke_jax.training.metrics import summary_line

CONFIG = "config.json"


def run(
  task: Annotated[str, Positional, arg(metavar="TASK|EXPERIMENT")],
  directory: Annotated[Path, Positional, arg(metavar="DIRECTORY")],
  file: Annotated[Path, Positional, arg(metavar="FILE")],
  /,
  *,
  skip_bad: bool = False,
  reading: OmitArgPrefixes[ModelOptions],
  form: OmitArgPrefixes[FileOptions],
) -> None:
  """Fits a model's scores to be shares of right answers on texts like a file's.

  Slope and offset of the scores' logits are kept in the model's config.json, and the score from
  which nine in ten answers are right; the answers stay the same. A training does so by itself on
  dev.

      luke-jax calibrate ner runs/ner dev.conll

  Args:
    task: typing, relations, ner, cloze, qa, classification, tagging, linking or labels, or an
      experiment file that defines a task.
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
  report_faults(faults)
  answers = asking_plainly.evaluate(examples, predicted).answers
  withheld = asking_plainly.answers_withheld(reader_for(model, faults), examples)
  answers = [*answers, *withheld]
  if len(answers) < ENOUGH_ANSWERS:
    raise InputError(
      f"{file}: {len(answers)} answers; expected {ENOUGH_ANSWERS} or more, to tell from"
    )
  found, sure = measured(answers)
  _write(place, settings, found, sure)
  errors = {"before": calibration_error(answers), "after": error_by_parts(answers)}
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


def _write(place: Path, task: TextTask, found: Calibration, sure: float | None) -> None:
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
