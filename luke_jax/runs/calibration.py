"""Scores that mean something: how often answers on dev are right, kept with the run."""

import dataclasses
import json
from collections.abc import Sequence

import numpy as np

from luke_jax.convert.parts import ModelParts
from luke_jax.files import Path, write_json
from luke_jax.inference.calibrated import ENTRY, SURE, Calibration
from luke_jax.inference.predicting import asking, predictions
from luke_jax.inference.settings import task_of
from luke_jax.tasks.calibration import Answered, threshold_for
from luke_jax.tasks.files import Faults
from luke_jax.tasks.fine_tuning import FineTunedTask
from luke_jax.tasks.known import is_known
from luke_jax.tasks.labels import score
from luke_jax.tasks.labels.task import MOST as MOST_ASKED
from luke_jax.tasks.labels.task import LabelledNames
from luke_jax.tasks.linking.task import EntityLinking
from luke_jax.tasks.task_rows import rows_of
from luke_jax.training.directory import DEV, read_json
from luke_jax.training.experiment import Experiment

FILE = "calibration.json"  # of a run
LEAST = 0.02  # score of the answers that are looked at
STEPS, RIDGE = 50, 1.0  # of Newton's method, and what draws few answers to scores as they are
MOST_LOGIT = 30.0
NEARLY = 0.01  # of F1, which a lower threshold may lose on dev
MOST = 500  # examples
ENOUGH = 100  # answers that say what scores mean
RIGHT = 0.9  # least share of the sure answers that are right


def with_calibration(task: FineTunedTask, run: Path) -> FineTunedTask:
  """Returns a task with what a run found its scores to mean, if it looked."""
  if not (run / FILE).is_file():
    return task
  settings = json.loads((run / FILE).read_text(encoding="utf-8"))
  return dataclasses.replace(task, **settings | {"kinds": tuple(settings.get("kinds", ()))})


def calibration_of(task: FineTunedTask, run: Path) -> dict[str, object]:
  """Returns the entries of config.json by which scores are shares of right answers, if dev tells.

  Labels at run time and linkers have thresholds of their own, which mean scores as they are.
  """
  own = isinstance(task, LabelledNames | EntityLinking) or not is_known(type(task))
  if own or not (run / DEV).is_file():
    return {}
  answers = [Answered(*x) for x in read_json(run / DEV).get("answers", ())]
  if len(answers) < ENOUGH:
    return {}
  found, sure = measured(answers)
  return {ENTRY: list(found), SURE: sure}


def measured(answers: Sequence[Answered]) -> tuple[Calibration, float | None]:
  """Returns what the scores of answers mean, and that from which answers are sure, if any are."""
  found = Calibration(*(round(x, 6) for x in fitted(answers)))
  sure = threshold_for(answers, RIGHT)
  return found, round(found.score(sure.threshold), 4) if sure else None


def plain(task: FineTunedTask) -> FineTunedTask:
  """Returns a task whose scores are as they are computed, and which answers most of all."""
  if not isinstance(task, LabelledNames):
    return task
  return dataclasses.replace(task, slope=1.0, offset=0.0, threshold=LEAST)


def refitted(task: LabelledNames, found: Calibration) -> dict[str, float]:
  """Returns settings with which a task has other scores and the answers that it had."""
  least = Calibration(1 / task.slope, -task.offset / task.slope).score(task.threshold)
  return {**found._asdict(), "threshold": round(found.score(least), 6)}


def calibrate(model: ModelParts, experiment: Experiment, run: Path) -> bool:
  """Writes what scores on dev mean, and the threshold by which names are found nearly best.

  Returns whether it did.
  """
  task = experiment.task
  if not isinstance(task, LabelledNames) or not task.scored:
    return False
  examples = rows_of(task, model.backbone, "dev").examples[:MOST]
  asked = asking(model, plain(task_of(model)), examples)
  faults = Faults(skip=task.skip_bad)
  predicted = [spans for _, spans in predictions(model, asked, examples, faults)]
  found = Calibration(*fitted(asked.evaluate(examples, predicted).answers))
  # Who learns few kinds will ask for these, in texts like dev; of many, elsewhere for others.
  kinds = {label for x in examples for labels in x.labels for label in labels}
  answers, gold = score.found(examples, predicted, asked.labels)
  few = len(kinds) <= MOST_ASKED
  threshold = low_threshold(answers, gold, 0.0 if few else NEARLY)
  numbers = {**found._asdict(), "threshold": found.score(threshold)}
  settings: dict[str, object] = {name: round(x, 6) for name, x in numbers.items()}
  if few:
    settings["kinds"] = task.asked_of(rows_of(task, model.backbone, "train").examples)
  write_json(run / FILE, settings)
  return True


def fitted(answers: Sequence[Answered]) -> tuple[float, float]:
  """Returns slope and offset that make the logits of scores those of being right (Platt, 1999).

  Of too few answers, or of such that are all right or all wrong, scores stay as they are.
  """
  right = np.array([x.right for x in answers], float)
  if len(answers) < 10 or not 0 < right.mean() < 1:
    return 1.0, 0.0
  scores = np.clip([x.score for x in answers], 1e-6, 1 - 1e-6)
  inputs = np.stack([np.log(scores / (1 - scores)), np.ones(len(scores))], axis=1)
  weights = np.array([1.0, 0.0])
  for _ in range(STEPS):
    chances = 1 / (1 + np.exp(-np.clip(inputs @ weights, -MOST_LOGIT, MOST_LOGIT)))
    slopes = inputs.T @ (chances - right) + RIDGE * (weights - [1, 0])
    curves = (inputs * (chances * (1 - chances))[:, None]).T @ inputs + RIDGE * np.eye(2)
    step = np.linalg.solve(curves, slopes)
    weights -= step / max(1.0, float(np.linalg.norm(step)))  # far steps may go ever farther
  return float(max(weights[0], 1e-3)), float(weights[1])


def low_threshold(answers: Sequence[Answered], gold: float, nearly: float = NEARLY) -> float:
  """Returns the least score from which answers have nearly the best F1 over so many names.

  Other texts than those of dev have lower scores, so that a higher one would miss more there.
  """
  ranked = sorted(answers, key=lambda x: -x.score)
  right = np.cumsum([x.right for x in ranked])
  f1 = 2 * right / (np.arange(1, len(ranked) + 1) + gold)
  if not ranked:
    return 0.5
  last = int(np.flatnonzero(f1 >= f1.max() - nearly)[-1])
  return float(np.clip(ranked[last].score, LEAST, 1 - 1e-6))
