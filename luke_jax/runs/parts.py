"""Trainings on parts of the examples and on all of them: cross-validation, and a learning curve."""

import dataclasses
import statistics
import sys
from collections.abc import Mapping
from typing import Any

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.runs.training import run
from luke_jax.tasks.fine_tuning import FineTunedTask
from luke_jax.training import directory
from luke_jax.training.experiment import Experiment
from luke_jax.training.loop import Summary
from luke_jax.training.pace import TELLING

LEAST = 2
CURVE = "curve"  # in the folder of the run on all examples
SHARES = (0.25, 0.5, 0.75)
LITTLE = 0.01  # a score that the last quarter of the examples adds


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
    print(f"part {number + 1} of {folds}", file=sys.stderr, flush=True)
    part = dataclasses.replace(task, held_out=1 / folds, fold=number)
    of_part = dataclasses.replace(experiment, task=part, run=trained)
    of_fold = run(of_part, folder / directory.FOLDS / str(number + 1))
    if of_fold["status"] != "done":
      return of_fold
    scores.append({name: x for name, x in of_fold.items() if name.startswith("dev/")})
  names = scores[0] if scores else ()
  return summary | {"folds": {name: _spread([x[name] for x in scores]) for name in names}}


def _spread(scores: list[float]) -> dict[str, float]:
  return {"mean": statistics.mean(scores), "deviation": statistics.stdev(scores)}


def learning_curve(experiment: Experiment, folder: Path, begun: int | None = None) -> Summary:
  """Trains on all examples and on parts of them, scored on the same dev; returns the summary.

  It has the score of each share. The minutes of the experiment are those of all trainings together.
  """
  task, metric = experiment.task, experiment.run.best_metric
  if not isinstance(task, FineTunedTask) or metric is None:
    raise InputError("--curve: expected it for a task that trains on a file and is scored on dev")
  summary = run(of_share(experiment, 1.0), folder, begun=begun)
  scores = {1.0: summary.get(f"dev/{metric}")}
  for share in SHARES if summary["status"] == "done" else ():
    print(f"{share:.0%} of the examples", file=sys.stderr, flush=True)
    of_part = run(of_share(experiment, share), folder / CURVE / f"{share:.0%}".rstrip("%"))
    if of_part["status"] != "done":
      return of_part
    scores[share] = of_part.get(f"dev/{metric}")
  return summary | {CURVE: {f"{share:.0%}": scores[share] for share in sorted(scores)}}


def of_share(experiment: Experiment, share: float) -> Experiment:
  """Returns the experiment on a share of the examples, with the settings that suit so few."""
  task = experiment.task
  assert isinstance(task, FineTunedTask)
  settings, minutes = experiment.run, experiment.run.minutes
  changes: dict[str, Any] = {"minutes": minutes and minutes * share / sum((*SHARES, 1.0))}
  if settings.epochs is not None:
    changes["epochs"] = round(settings.epochs * share**-0.4, 1)  # as in `runs.recipes`
  for name in ("steps", "evaluate_every"):
    if (steps := getattr(settings, name)) is not None:
      changes[name] = max(1, round(steps * share**0.6))
  return dataclasses.replace(
    experiment,
    task=dataclasses.replace(task, used=share),
    run=dataclasses.replace(settings, **changes),
  )


def verdict(curve: Mapping[str, float], dev: int) -> str:
  """Returns a sentence on whether more examples would help, by their scores on so many of dev."""
  if dev < TELLING:
    return f"{dev} examples of dev do not tell whether more to train on would help: give --dev FILE"
  *_, before, last = curve.values()
  gain = last - before
  help = "will hardly help" if gain < LITTLE else "should help"
  return f"the last quarter of the examples added {gain:+.3f}: more of them {help}"
