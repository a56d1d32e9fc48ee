"""Checks whether a row can reach the paper's number: `python -m experiments.results.check ROW`.

The facts are those of the paper's appendix A and of the authors' code.
"""

import json
import math
import sys
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, NamedTuple

from rich.table import Table
from rich.text import Text
from tyro.conf import Positional, UseAppendAction, arg

from luke_jax.cli import script
from luke_jax.cli.plan import PlannedStep
from luke_jax.cli.process import stderr_console
from luke_jax.convert.sources import read_backbone
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats.datasets import is_split
from luke_jax.formats.files import Faults
from luke_jax.plan.chips import GIB, parse_topology
from luke_jax.plan.compiling import OutOfMemory
from luke_jax.runs.recipes import read_experiment
from luke_jax.tasks.contract import TextTask
from luke_jax.tasks.ner.documents import NamesExample as Document
from luke_jax.tasks.qa.task import QuestionAnswering
from luke_jax.tasks.running import Running, read_examples
from luke_jax.terminal import Console
from luke_jax.training import export
from luke_jax.training.experiment import Experiment, total_steps
from luke_jax.training.metrics import summary_line


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
COUNTED = {"equal": True, "deviating": False, "not_checked": None}
MARKS = {True: ("yes", "green"), False: ("NO", "bold red"), None: ("?", "yellow")}
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


def main(
  experiment: Annotated[Path, Positional, arg(metavar="EXPERIMENT")],
  /,
  *,
  topology: str | None = None,
  set: UseAppendAction[tuple[str, ...]] = (),
) -> int:
  """Checks whether a row of the paper's tables can reach its number, before anything is trained.

  Compares data, pretrained model, settings and number of steps with those of the paper. With
  --topology also compiles the training step, which shows whether it fits. A question mark is on
  what no file says. The last line printed is a summary in JSON, and the status is 1 if something
  deviates.

      python -m experiments.results.check experiments/entity_typing.py:luke-large

  Args:
    experiment: Python file with a function `config()` that returns an Experiment.
    topology: Kind of chip and shape of the slice that it would train on, such as v5e:2x2.
    set: A field by its dotted name and its value, as often as needed.
  """
  rows = list(checks(read_experiment(experiment, set)))
  if topology is not None:
    # The number of steps, for which the planner would read the data, does not matter here.
    changes = (*set, "run.epochs=null", "run.steps=1")
    rows.append(_memory(PlannedStep(experiment, changes, parse_topology(topology))))
  table = Table()
  for name in ("what", "the paper's run", "this one", "equal"):
    table.add_column(name, overflow="fold")
  for row in rows:
    table.add_row(row.what, Text(row.expected), Text(row.found), Text(*MARKS[row.right]))
  Console().print(table)
  counts = {name: sum(row.right is right for row in rows) for name, right in COUNTED.items()}
  print(summary_line(counts))
  return int(counts["deviating"] > 0)


def _memory(step: PlannedStep) -> Check:
  available = f"{step.topology.chip.hbm_bytes / GIB:.1f} GiB of a chip"
  with stderr_console().status(f"compiling for {step.topology}"):
    compiled = step.compiled()
  if isinstance(compiled, OutOfMemory):
    needed = f"{compiled.needed / GIB:.1f} GiB"
    return Check(f"memory on {step.topology}", f"at most {available}", needed, False)
  needed = f"{compiled.memory.total / GIB:.1f} GiB"
  return Check(f"memory on {step.topology}", f"at most {available}", needed, True)


if __name__ == "__main__":
  sys.exit(script(main, "python -m experiments.results.check"))
