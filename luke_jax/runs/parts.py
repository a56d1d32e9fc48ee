"""Cross-validation: scores of data too few to hold some out, and a model of all of them."""

import dataclasses
import statistics

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.runs.training import run
from luke_jax.tasks.fine_tuning import FineTunedTask
from luke_jax.training.experiment import Experiment
from luke_jax.training.loop import Summary

FOLDS = "folds"  # in the folder of the run on all examples
LEAST = 2


def cross_validated(
  experiment: Experiment, folder: Path, folds: int, begun: int | None = None
) -> Summary:
  """Trains on all examples, and on all but each of so many parts; returns the summary.

  It has the mean and the standard deviation of the parts' scores. The minutes of the experiment are
  those of all trainings together.
  """
  task = experiment.task
  if folds < LEAST:
    raise InputError(f"--folds: {folds}; expected {LEAST} or more")
  if not isinstance(task, FineTunedTask) or task.dev:
    raise InputError(f"--folds: {folds}; expected it for a task without a file of dev")
  minutes = experiment.run.minutes and experiment.run.minutes / (folds + 1)
  trained = dataclasses.replace(experiment.run, minutes=minutes)
  last = dataclasses.replace(trained, evaluate_every=None, best_metric=None, patience=None)
  all_examples = dataclasses.replace(task, held_out=0.0)
  summary = run(dataclasses.replace(experiment, task=all_examples, run=last), folder, begun=begun)
  scores: list[dict[str, float]] = []
  for number in range(folds if summary["status"] == "done" else 0):
    part = dataclasses.replace(task, held_out=1 / folds, fold=number)
    of_part = dataclasses.replace(experiment, task=part, run=trained)
    of_fold = run(of_part, folder / FOLDS / str(number + 1))
    if of_fold["status"] != "done":
      return of_fold
    scores.append({name: x for name, x in of_fold.items() if name.startswith("dev/")})
  names = scores[0] if scores else ()
  return summary | {"folds": {name: _spread([x[name] for x in scores]) for name in names}}


def _spread(scores: list[float]) -> dict[str, float]:
  return {"mean": statistics.mean(scores), "deviation": statistics.stdev(scores)}
