"""Learning curve: scores of models that train on parts of the examples, and the one of all."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.runs.training import run
from luke_jax.tasks.fine_tuning import FineTunedTask
from luke_jax.training.experiment import Experiment
from luke_jax.training.loop import Summary

CURVE = "curve"  # in the folder of the run on all examples
SHARES = (0.25, 0.5, 0.75)
LITTLE = 0.01  # a score that the last quarter of the examples adds


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


def verdict(curve: Mapping[str, float]) -> str:
  """Returns a sentence on whether more examples would help."""
  *_, before, last = curve.values()
  gain = last - before
  help = "will hardly help" if gain < LITTLE else "should help"
  return f"the last quarter of the examples added {gain:+.3f}: more of them {help}"
