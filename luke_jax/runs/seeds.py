"""Runs of an experiment with a seed each, and their results."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import jax

from luke_jax.files import Path
from luke_jax.results.records import SeedResult, finished, hash_of
from luke_jax.runs.training import run
from luke_jax.training.experiment import Experiment
from luke_jax.training.loop import Summary

SPLITS = ("dev", "test")


def run_seed(
  experiment: Experiment,
  folder: Path,
  file: Path,
  *,
  changes: Sequence[str],
  paper: Mapping[str, Any],
) -> Summary:
  """Trains an experiment with its seed and scores it on dev and test; returns the summary.

  The result names the experiment's `file`, the `changes` of it, and the paper's row.
  """
  summary = run(experiment, folder, splits=SPLITS)
  if summary["status"] == "done" and jax.process_index() == 0:
    result = SeedResult(
      experiment=str(file),
      seed=experiment.run.seed,
      scores=_by_split(summary),
      seconds=sum(summary["seconds"].values()),
      steps=summary["steps"],
      paper=paper,
      changes=tuple(changes),
      data={source: hash_of(source) for source in experiment.task.splits.values()},
      parameters=_parameters(experiment),
    )
    finished(result, folder, file)  # last: until then the same command repeats the seed
  return summary


def _by_split(summary: Summary) -> dict[str, dict[str, float]]:
  scores = {split: {} for split in SPLITS}
  for name, value in summary.items():
    split, _, metric = name.partition("/")
    if metric and split in scores:
      scores[split][metric] = value
  return {split: metrics for split, metrics in scores.items() if metrics or split == "dev"}


def _parameters(experiment: Experiment) -> int:
  key = jax.random.key(0)
  shapes = jax.eval_shape(lambda: experiment.task.initial_params(experiment.backbone, key))
  return sum(math.prod(x.shape) for x in jax.tree.leaves(shapes))
