"""Compares an experiment with the authors' run, to see whether it can reach the paper's number.

The facts are those of the paper's appendix A and of the authors' code.
"""

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from luke_jax.convert.sources import read_backbone
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.tasks.contract import TextTask
from luke_jax.tasks.datasets import is_split
from luke_jax.tasks.files import Faults
from luke_jax.tasks.ner.documents import NamesExample as Document
from luke_jax.tasks.qa.task import QuestionAnswering
from luke_jax.tasks.running import Running, read_examples
from luke_jax.training import export
from luke_jax.training.experiment import Experiment, total_steps


class PaperRun(NamedTuple):
  """The authors' run of a task."""

  examples: Mapping[str, int]  # of each split, as published
  unit: str  # that they are counted in
  learning_rate: float
  batch_size: int
  epochs: int
  seed: int  # of their published command
  selection: str | None  # the metric of dev that picks a checkpoint; None takes the last


OPEN_ENTITY = {"train": 1998, "dev": 1998, "test": 1998}
TACRED = {"train": 68124, "dev": 22631, "test": 15509}
CONLL = {"train": 14041, "dev": 3250, "test": 3453}
RUNS = {
  "typing": PaperRun(OPEN_ENTITY, "examples", 1e-5, 4, 3, 12, "f1"),
  "relations": PaperRun(TACRED, "examples", 1e-5, 32, 5, 42, "f1"),
  "ner": PaperRun(CONLL, "sentences", 1e-5, 8, 5, 35, None),
  "cloze": PaperRun({"train": 100730, "dev": 10000}, "questions", 1e-5, 32, 2, 4, "exact_match"),
  "qa": PaperRun({"train": 87599, "dev": 10570}, "questions", 1.5e-5, 48, 2, 14, None),
}
ONE_ROW_EACH = ("typing", "relations")  # an example; elsewhere it may have several


class Check(NamedTuple):
  """One thing that the number depends on; `right` is None where it was not checked."""

  what: str
  expected: str
  found: str
  right: bool | None


def checks(experiment: Experiment) -> Iterator[Check]:
  """Yields each need of the paper's number beside the experiment's, in the order of a run."""
  task = experiment.task
  if not isinstance(task, TextTask) or task.name not in RUNS:
    raise InputError(f"task: no row of the paper; expected one of {', '.join(RUNS)}")
  paper = RUNS[task.name]
  train = None
  for split in paper.examples:
    check, examples = _data(task, paper, split)
    train = examples if split == "train" else train
    yield check
  yield _start(experiment)
  if task.name == "qa":
    yield _mentions(experiment)
  yield from _settings(experiment, paper)
  yield _steps(experiment, paper, train)


def _data(task: TextTask, paper: PaperRun, split: str) -> tuple[Check, list[object] | None]:
  source, published = Running(task).splits.get(split, ""), paper.examples[split]
  expected = f"{published:,} {paper.unit}"
  if not source or not (is_split(source) or Path(source).is_file()):
    return Check(f"task.{split}", expected, f"{source or 'empty'}: missing", False), None
  examples = read_examples(task, source, Faults(skip=True))
  count = sum(len(x.sentences) if isinstance(x, Document) else 1 for x in examples)
  return Check(f"task.{split}", expected, f"{count:,} {paper.unit}", count == published), examples


def _start(experiment: Experiment) -> Check:
  start, sizes = experiment.run.start, experiment.model
  expected = f"{sizes.num_hidden_layers} layers of {sizes.hidden_size}, pretrained"
  if not start or not Path(start).is_dir():
    return Check("run.start", expected, f"{start or 'null'}: missing", False)
  if export.is_run(Path(start)):
    return Check("run.start", expected, f"{start}: the folder of a run", None)
  config = read_backbone(Path(start)).config
  same = (config.num_hidden_layers, config.hidden_size) == (
    sizes.num_hidden_layers,
    sizes.hidden_size,
  )
  size = f"{config.num_hidden_layers} layers of {config.hidden_size}"
  return Check("run.start", expected, size, same)


def _mentions(experiment: Experiment) -> Check:
  """Checks that texts get entities where the model reads some: without, it is another row."""
  if not experiment.backbone.entities:
    return Check("task.mentions", "none, for the model reads words", "none", True)
  task = experiment.task
  assert isinstance(task, QuestionAnswering)
  folder = task.mentions
  there = bool(folder) and (Path(folder) / "mentions").is_dir()
  expected = "names of the dump of March 2016"
  place = folder if there else f"{folder or 'empty'}: missing"
  # The date of a dump is in no file of the folder.
  return Check("task.mentions", expected, place, None if there else False)


def _settings(experiment: Experiment, paper: PaperRun) -> Iterator[Check]:
  task: Any = experiment.task
  run, schedule, rate = experiment.run, experiment.schedule, experiment.optimizer.learning_rate
  pairs = {
    "task.authors": (True, task.authors),
    "data.batch_size": (paper.batch_size, experiment.data.batch_size),
    "run.epochs": (paper.epochs, run.epochs),
    "optimizer.learning_rate": (paper.learning_rate, rate),
    "schedule.warmup_ratio": (0.06, schedule.warmup_ratio),
    "schedule.warmup_steps": (None, schedule.warmup_steps),  # would replace the ratio
    "schedule.decay": ("linear", schedule.decay),
    "run.best_metric": (paper.selection, run.best_metric),
  }
  for name, (expected, actual) in pairs.items():
    yield Check(name, json.dumps(expected), json.dumps(actual), expected == actual)
  actual = f"{run.seed}; the paper has the best of several"
  yield Check("run.seed", f"{paper.seed} in the published command", actual, None)


def _steps(experiment: Experiment, paper: PaperRun, train: list[object] | None) -> Check:
  least = paper.examples["train"] // paper.batch_size * paper.epochs
  one_row = experiment.task.name in ONE_ROW_EACH
  expected = f"{least:,}" if one_row else f"{least:,} or more, by the rows of long texts"
  if train is None:
    return Check("steps", expected, "unknown without task.train", None)
  ready = _readable(experiment)
  rows = experiment.engine.records(experiment.backbone, "train") if ready else train
  steps = total_steps(experiment.run, len(rows), experiment.data.batch_size)
  # Here the last, incomplete batch of an epoch is filled from the next.
  most = least + paper.epochs if one_row else math.inf
  return Check("steps", expected, f"{steps:,}", least <= steps <= most)


def _readable(experiment: Experiment) -> bool:
  """Returns whether rows can be made: there is a tokenizer, and the table of mentions if any."""
  task = experiment.task
  mentions = task.mentions if isinstance(task, QuestionAnswering) else ""
  return Path(experiment.engine.text_directory or "").is_dir() and (
    not mentions or Path(mentions).is_dir()
  )
