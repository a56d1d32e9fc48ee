"""Outline of a training on one's own files, in a few lines."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from luke_jax import english
from luke_jax.convert.adapters import is_adapter_directory
from luke_jax.files import Path
from luke_jax.formats.files import asked_in
from luke_jax.pipeline.batches import Lengths
from luke_jax.tasks.contract import Example, TextTask
from luke_jax.tasks.running import Running
from luke_jax.training.experiment import Experiment, total_steps
from luke_jax.training.pace import LEAST_DEV
from luke_jax.training.task import DEV

TOO_RARE, TOO_FEW_IN_DEV = 10, 5  # examples of a label to learn from, and in dev
AT_END = "once, at the end"


def outline(experiment: Experiment) -> str:
  """Returns lines on the task, its examples, the lengths of rows, and the steps."""
  lines = dict(_lines(experiment))
  width = max(map(len, lines))
  return "\n".join(f"{name:{width}}  {text}" for name, text in lines.items())


def _lines(experiment: Experiment) -> Iterator[tuple[str, str]]:
  task = experiment.task
  assert isinstance(task, TextTask)
  running = Running(task)
  backbone, run, data = experiment.backbone, experiment.run, experiment.data
  train = running.records(backbone, "train")
  dev = running.records(backbone, "dev").examples if running.scored else []
  title = experiment.model.title
  yield "task", f"{task.title}, with a {title}"
  if run.start and is_adapter_directory(Path(run.start)):
    weights = Path(task.text).name
    yield (
      "start",
      f"{english.named(Path(run.start))}; --set run.start={weights} for {weights} alone",
    )
  yield "examples", f"{len(train.examples):,} of {task.train}"
  if running.scored:
    yield "dev", f"{len(dev):,}: {task.dev or f'{task.held_out:.0%} held out of {task.train}'}"
  else:
    yield "dev", "none, so that all examples train; --folds 5 scores each of them as well"
  yield from _of_labels(task, train.examples, dev)
  if both := len(_asked(task, train.examples) & _asked(task, dev)):
    yield "repeated", f"{both:,} examples of dev are trained on too: its scores are too high"
  lengths = running.lengths(train)
  if data.lengths > 1:
    padded = Lengths.of(lengths, data.lengths, task.words)
  else:
    padded = Lengths(lengths, (task.words,))
  widths, share = ", ".join(map(str, padded.rooms)), 1 - lengths.sum() / padded.padded
  yield "rows", f"{len(train):,}, padded to {widths} words; padding {share:.0%}"
  if task.fit_head:
    yield "head", "begins as a ridge regression from the start's states to the labels"
  steps = total_steps(run, len(train), data.batch_size)
  of_rows = f"steps of {data.batch_size} rows"
  rate = f"rate {experiment.optimizer.learning_rate:g}"
  epochs = steps * data.batch_size / len(train)
  if run.minutes is None:
    yield "training", f"{steps:,} {of_rows}, {epochs:.1f} epochs, {rate}"
    every = run.evaluate_every or steps
    often = f"every {every:,} steps" if every < steps else AT_END
  else:
    yield "training", f"{run.minutes:g} minutes in all, {of_rows}, {rate}"
    few = running.scored and len(running.records(backbone, "dev")) < LEAST_DEV
    often = AT_END if few else "in a tenth of the time"
  if running.scored:
    chosen = often != AT_END and run.best_metric
    kept = f"; the best checkpoint by {run.best_metric} is kept" if chosen else ""
    what = "dev"
    if running.choosing != DEV:
      sample = len(running.records(backbone, running.choosing).examples)
      what, kept = f"{sample:,} of {len(dev):,} of dev", f"{kept}; all of dev once, at the end"
    yield "scores", f"of {what} {often}{kept}"


def _of_labels(
  task: TextTask[Any, Any], train: Sequence[Any], dev: Sequence[Any]
) -> Iterator[tuple[str, str]]:
  """Yields the labels, those that are rare, and those of which dev does not tell."""
  yield "labels", task.counted_labels(train)
  counts, of_dev = (_counts(task, x) for x in (train, dev))
  if rare := _below(TOO_RARE, {**dict.fromkeys(of_dev, 0), **counts}):
    yield "rare", f"{rare}: with less than {TOO_RARE} examples a label is hardly learnt"
  if len(dev) >= LEAST_DEV and (
    untold := _below(TOO_FEW_IN_DEV, {label: of_dev[label] for label in counts})
  ):
    yield "untold", f"{untold} in dev: it does not tell how well these are found"


def _asked(task: TextTask[Example, Any], examples: Sequence[Example]) -> set[str]:
  """Returns the questions of examples."""
  return {asked_in(task.to_json(example)) for example in examples}


def _counts(task: TextTask[Example, Any], examples: Sequence[Example]) -> Counter[str]:
  """Returns how often each label stands in examples; nothing where they come at run time."""
  labels = (label for x in examples for label in task.spread_by(x)[1])
  return Counter(labels if task.labels else ())


def _below(most: int, counts: Mapping[str, int]) -> str:
  return ", ".join(f"{label} {count}" for label, count in sorted(counts.items()) if count < most)
