"""Training from Python, as in notebooks and on the command line; examples may be in memory."""

import contextlib
import dataclasses
import functools
import json
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from luke_jax.convert.adapters import is_adapter_directory
from luke_jax.convert.parts import ModelParts, reader_in
from luke_jax.convert.saving import save
from luke_jax.convert.sources import read_backbone
from luke_jax.errors import InputError
from luke_jax.files import Path, whole
from luke_jax.files.locks import locked
from luke_jax.formats.datasets import named
from luke_jax.formats.files import Faults
from luke_jax.formats.records import from_frame
from luke_jax.inference.text_vectors import reader_of
from luke_jax.model import Model
from luke_jax.models.system import System
from luke_jax.pipeline.reads import clear_caches
from luke_jax.runs import recipes
from luke_jax.runs.models import (
  calibration_of,
  model_directory,
  reads_again,
  run_model,
  start_weights,
  write_model,
)
from luke_jax.runs.notes import described_data, fingerprints, write_notes
from luke_jax.runs.results import write_report
from luke_jax.runs.starts import start_directory, start_params
from luke_jax.tasks.contract import TextTask
from luke_jax.tasks.labels.wordings import TEXTS, open_wordings, write_wordings
from luke_jax.tasks.running import Running, read_examples
from luke_jax.training import directory, loop, processes
from luke_jax.training.directory import LABELS
from luke_jax.training.experiment import Experiment
from luke_jax.training.loop import Summary
from luke_jax.training.overrides import assignment, override
from luke_jax.training.pace import LEAST_DEV

Data = str | Path | Iterable[Mapping[str, Any]] | Mapping[str, Iterable[Mapping[str, Any]]]
TRAIN, DEV = "train", "validation"  # of a dictionary of data sets
LEAST_FOLDS = 2  # parts of a cross-validation
CURVE = "curve"  # in the folder of the run on all examples
SHARES = (0.25, 0.5, 0.75)
LITTLE_GAIN = 0.01  # a score that the last quarter of the examples adds


def with_label_table(experiment: Experiment, folder: Path) -> Experiment:
  """Returns an experiment whose task, if it learns labels, has their vectors in the folder."""
  task = experiment.task
  if not isinstance(task, TextTask) or not task.reads_labels:
    return experiment
  learning: Any = task
  if learning.table:
    return experiment
  rank, start = experiment.optimizer.adapter, experiment.run.start
  if not rank or start is None:
    raise InputError(
      f"optimizer.adapter: {rank}; expected a rank, such as 16, and run.start: the start reads"
      " labels, and what is trained is kept beside it"
    )
  place = folder / LABELS
  processes.from_first(lambda: _write(task, start_directory(start), place))
  return dataclasses.replace(experiment, task=dataclasses.replace(learning, table=str(place)))


def _write(task: TextTask, start: Path, place: Path) -> None:
  weights = Path(task.text) if is_adapter_directory(model_directory(start)) else start
  faults = Faults(skip=task.skip_bad)
  examples = [
    x for file in Running(task).splits.values() for x in read_examples(task, file, faults)
  ]
  texts = list(dict.fromkeys(task.wordings(examples)))
  if (place / TEXTS).is_file() and open_wordings(str(place)).texts == tuple(texts):
    return
  print(f"reading {len(texts):,} labels", flush=True)
  write_wordings(place, texts, reader_of(reader_in(weights)).vectors(texts))


class Trained(NamedTuple):
  """Result of a training: the model of the best checkpoint, its scores on dev, and the summary."""

  model: Model
  scores: dict[str, float]
  summary: Summary


def train(
  experiment: Experiment | str | Path, folder: str | Path, *, set: Sequence[str] = ()
) -> Trained:
  """Trains an experiment, given as a value or a file, or resumes it from its folder.

  `set` changes fields: `["optimizer.learning_rate=3e-3", "run.seed=1"]`.
  """
  if isinstance(experiment, str | Path):
    chosen = recipes.read_experiment(Path(experiment), set)
  elif isinstance(experiment, Experiment):
    chosen = recipes.consistent(override(experiment, set))
  else:
    raise InputError(f"experiment: {experiment!r:.60}; expected an Experiment or a file with one")
  summary = run(chosen, Path(folder))
  if summary["status"] != "done":
    raise InputError(
      f"{folder}: {summary['status']} at step {summary['step']} of {summary['steps']}; expected to"
      " be done: the same call goes on with it"
    )
  return _trained(chosen, Path(folder), summary)


def fine_tune(
  task: str | type,
  model: str | Path | ModelParts,
  *,
  train: Data,
  dev: Data | None = None,
  folder: str | Path | None = None,
  system: type[System] | None = None,
  **settings: object,
) -> Trained:
  """Fine-tunes a model for a task, and returns it with its scores.

  `task` is typing, relations, ner, cloze, qa, classification, tagging, linking, labels, facts or a
  class of one's own.
  `train` and `dev` are files, or examples as dictionaries of the fields that JSON lines have: a
  list, a data set of Hugging Face, a data frame. A dictionary of data sets has "train", and perhaps
  "validation" in the place of `dev`. Without `dev` a tenth of `train` is held out, or nothing of 32
  examples a label or fewer.
  Settings suit the number and the lengths of the examples. `settings` change them, fields of the
  experiment by their own names: `minutes=5`, `learning_rate=3e-3, batch_size=16, seed=1`;
  `luke-jax settings TASK` lists them.
  `folder` holds the run and its report, so that the same call resumes it; without it the run is
  removed. `system` is that of a model directory, if it is one's own.
  """
  begun = time.perf_counter_ns()
  clear_caches()
  with _folder(folder) as place, _by_examples(place / "inputs"):
    place.mkdir(parents=True, exist_ok=True)
    inputs = place / "inputs"
    train, dev = train_and_dev(train, dev)
    fields: Any = recipes.plain_experiment(task)
    columns = fields.task.spreadsheet
    held = None if dev is None else examples_file(dev, inputs / "dev.jsonl", columns)
    files = examples_file(train, inputs / "train.jsonl", columns), held
    start = _directory(model, inputs / "start")
    system = model.system if isinstance(model, ModelParts) else system
    backbone = read_backbone(start_weights(start), system)
    form = [f"{recipes.FORM}={settings.pop('form')}"] if "form" in settings else []
    fields = recipes.plain_experiment(recipes.in_form(type(fields.task), backbone, form)[0])
    fields = dataclasses.replace(fields, model=backbone.config)
    assignments = [assignment(fields, name, value) for name, value in settings.items()] + form
    chosen = recipes.task_experiment(task, files, start, assignments, system=system)
    summary = run(chosen, place / "run", begun=begun)
    if folder is not None:
      write_report(place / "run", chosen.task.name)
    return _trained(chosen, place / "run", summary)


def run(
  experiment: Experiment,
  folder: Path,
  *,
  splits: Sequence[str] = (),
  profile: int = 0,
  begun: int | None = None,
) -> Summary:
  """Trains an experiment, or resumes it from its folder, and writes the model; returns the summary.

  The model is scored on the files of `splits`, which its card tells. A trace of `profile` steps is
  written. Time counts from `begun` on, a `time.perf_counter_ns()`.
  """
  begun = begun or time.perf_counter_ns()
  clear_caches()
  experiment = with_label_table(experiment, folder)
  data = list(described_data(experiment))  # reads both files, so that faults show before a step
  named = fingerprints(experiment)
  start = experiment.run.start
  params = functools.partial(start_params, start_directory(start), experiment) if start else None
  with contextlib.ExitStack() as stack:
    processes.from_first(lambda: stack.enter_context(locked(folder)) and None)
    times: Any = {"profile": profile, "begun": begun, "again": reads_again(experiment)}
    summary = loop.train(experiment, folder, start=params, data=named, **times)
    if jax.process_index() == 0:
      write_notes(folder, data, summary)
  # With several processes, one alone cannot read a checkpoint: luke-jax export does it later.
  done = summary["status"] == "done" and jax.process_count() == 1
  if done and isinstance(experiment.task, TextTask):
    summary |= write_model(folder, experiment, splits)
  return summary


def _trained(experiment: Experiment, folder: Path, summary: dict[str, object]) -> Trained:
  model, record = run_model(folder, experiment)
  scores = dict(record["scores"].get("dev", {}))
  return Trained(Model.of(model), scores, summary)


@contextlib.contextmanager
def _folder(folder: str | Path | None) -> Iterator[Path]:
  """Yields the folder, or a temporary one that is removed."""
  if folder is not None:
    yield Path(folder)
    return
  with tempfile.TemporaryDirectory(prefix="luke_jax-") as temporary:
    yield Path(temporary)


def _directory(model: str | Path | ModelParts, path: Path) -> Path:
  """Returns the directory of a model; one in memory is written."""
  if not isinstance(model, ModelParts):
    return Path(model)
  save(model, path)
  return path


def train_and_dev(train: Data, dev: Data | None) -> tuple[Data, Data | None]:
  """Returns the data to train on and to score on, which may be one dictionary of data sets."""
  named: Any = train
  if not isinstance(train, Mapping) or TRAIN not in named:
    return train, dev
  return named[TRAIN], named.get(DEV) if dev is None else dev


@contextlib.contextmanager
def _by_examples(inputs: Path) -> Iterator[None]:
  """Raises faults of examples in memory again with their numbers, not lines of a written file."""
  try:
    yield
  except InputError as fault:
    written = re.escape(f"{inputs}{os.sep}") + r"(train|dev)\.jsonl(: line )?"
    by_number = re.sub(written, lambda x: x[1] + (": example " if x[2] else ""), str(fault))
    raise InputError(by_number) from None


def examples_file(data: Data, path: Path, columns: Sequence[str] = ()) -> Path:
  """Returns the file of the data: of examples in memory one that is written now.

  Labels that a data set of Hugging Face has as numbers are written by their names. A data frame may
  have the `columns` of the task's spreadsheets.
  """
  if isinstance(data, str | Path):
    return Path(data)
  as_records = getattr(data, "to_dict", None) if hasattr(data, "columns") else None
  rows: object = data
  if as_records:
    rows = [from_frame(row, columns, path.stem) for row in as_records("records")]
  if isinstance(rows, Mapping) or not isinstance(rows, Iterable):
    raise InputError(f"{path.stem}: {data!r:.60}; expected a file, or a list of dictionaries")
  names = _label_names(getattr(data, "features", None))
  path.parent.mkdir(parents=True, exist_ok=True)
  with whole(path) as part, part.open("w", encoding="utf-8") as file:
    for number, row in enumerate(rows, start=1):
      if not isinstance(row, Mapping):
        raise InputError(f"{path.stem}: example {number}: {row!r:.60}; expected a dictionary")
      row = {key: named(value, names.get(key)) for key, value in row.items()}
      file.write(json.dumps(row, ensure_ascii=False, default=_plain) + "\n")
  return path


def _plain(value: object) -> object:
  """Returns an array or a NumPy number as JSON has it."""
  if isinstance(value, np.ndarray | np.generic):
    return value.tolist()
  raise InputError(f"{value!r:.60}: a {type(value).__name__}; expected what JSON has")


def _label_names(features: object) -> dict[str, list[str]]:
  """Returns the names of labels by column, of a data set that has them."""
  if not isinstance(features, Mapping):
    return {}
  columns = {key: getattr(x, "feature", x) for key, x in features.items()}
  return {key: x.names for key, x in columns.items() if hasattr(x, "names")}


def cross_validated(
  experiment: Experiment, folder: Path, folds: int, begun: int | None = None
) -> Summary:
  """Trains on all examples, and on all but each of so many parts; returns the summary.

  It has the mean and the standard deviation of the parts' scores, to which those of the model's
  answers are fitted. The minutes of the experiment are those of all trainings together.
  """
  task = experiment.task
  if not isinstance(task, TextTask) or task.dev:
    raise InputError(f"--folds: {folds}; expected it for a task without a file of dev")
  minutes = experiment.run.minutes and experiment.run.minutes / (folds + 1)
  trained = dataclasses.replace(experiment.run, minutes=minutes)
  last = dataclasses.replace(trained, evaluate_every=None, best_metric=None, patience=None)
  all_examples = dataclasses.replace(task, held_out=0.0)
  whole = dataclasses.replace(experiment, task=all_examples, run=last)
  summary, begun = _of_several(whole, folder, begun)
  scores: list[dict[str, float]] = []
  for number in range(folds if summary["status"] == "done" else 0):
    print(f"part {number + 1} of {folds}", file=sys.stderr, flush=True)
    part = dataclasses.replace(task, held_out=1 / folds, fold=number)
    of_part = dataclasses.replace(experiment, task=part, run=trained)
    place = folder / directory.FOLDS / str(number + 1)
    of_fold, begun = _of_several(of_part, place, begun)
    if of_fold["status"] != "done":
      return of_fold
    scores.append({name: x for name, x in of_fold.items() if name.startswith("dev/")})
  names = scores[0] if scores else ()
  if scores and calibration_of(task, folder):
    summary |= write_model(folder, whole)
  by_name = {name: [x[name] for x in scores] for name in names}
  mean, deviation = statistics.mean, statistics.stdev
  spread = {name: {"mean": mean(x), "deviation": deviation(x)} for name, x in by_name.items()}
  return summary | {"folds": spread}


def _of_several(experiment: Experiment, folder: Path, begun: int | None) -> tuple[Summary, int]:
  """Trains one of several, and returns its summary and when the next one's time begins.

  What one takes more or less than its time is the next one's loss or gain, unless it went on with
  an earlier process's training.
  """
  begun = begun or time.perf_counter_ns()
  summary = run(experiment, folder, begun=begun)
  now, time_of_one = time.perf_counter_ns(), round(6e10 * (experiment.run.minutes or 0))
  due = begun + time_of_one
  return summary, due if abs(now - due) < time_of_one / 2 else now


def learning_curve(experiment: Experiment, folder: Path, begun: int | None = None) -> Summary:
  """Trains on all examples and on parts of them, scored on the same dev; returns the summary.

  It has the score of each share. The minutes of the experiment are those of all trainings together.
  """
  task, metric = experiment.task, experiment.run.best_metric
  if not isinstance(task, TextTask) or metric is None:
    raise InputError("--curve: expected it for a task that trains on a file and is scored on dev")
  summary, begun = _of_several(of_share(experiment, 1.0), folder, begun)
  scores = {1.0: summary.get(f"dev/{metric}")}
  for share in SHARES if summary["status"] == "done" else ():
    print(f"{share:.0%} of the examples", file=sys.stderr, flush=True)
    place = folder / CURVE / f"{share:.0%}".rstrip("%")
    of_part, begun = _of_several(of_share(experiment, share), place, begun)
    if of_part["status"] != "done":
      return of_part
    scores[share] = of_part.get(f"dev/{metric}")
  return summary | {CURVE: {f"{share:.0%}": scores[share] for share in sorted(scores)}}


def of_share(experiment: Experiment, share: float) -> Experiment:
  """Returns the experiment on a share of the examples, with the settings that suit so few."""
  task = experiment.task
  assert isinstance(task, TextTask)
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


def untold(dev: int) -> str:
  """Returns a sentence on so few examples of dev that a curve tells nothing."""
  return f"{dev} examples of dev do not tell whether more to train on would help: give --dev FILE"


def verdict(curve: Mapping[str, float], dev: int) -> str:
  """Returns a sentence on whether more examples would help, by their scores on so many of dev."""
  if dev < LEAST_DEV:
    return untold(dev)
  *_, before, last = curve.values()
  gain = last - before
  help = "will hardly help" if gain < LITTLE_GAIN else "should help"
  return f"the last quarter of the examples added {gain:+.3f}: more of them {help}"
