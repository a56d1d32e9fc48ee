"""Scores of dev: a pass over its records, and how long one takes."""

import functools
import time
from collections.abc import Callable

import jax
import numpy as np

from luke_jax.pipeline.batches import Lengths, Records, evaluation_order, evaluation_rows
from luke_jax.training.mesh import own_rows
from luke_jax.training.program import Program, State
from luke_jax.training.task import DEV, Tree


def evaluate(program: Program, state: State, split: str) -> dict[str, float]:
  """Returns the task's metrics on a split; the same on every process."""
  return program.experiment.engine.score(*predicted(program, state, split))


def predicted(
  program: Program, state: State, split: str, stop: Callable[[], bool] = lambda: False
) -> tuple[Records, Tree]:
  """Returns the records of a split, and the predictions for them; the same on every process.

  They are None if `stop` said before a batch that nobody needs them any more.
  """
  records, lengths = _records(program, split)
  results = _zeros(program, len(records))
  for batch in evaluation_order(len(records), lengths, _size(program)):
    if stop():
      return records, None
    _predict(program, state, records, (batch, _room(lengths, batch)), results)
  return records, results


def _records(program: Program, split: str) -> tuple[Records, Lengths | None]:
  """Returns the records of a split and their lengths; a part of dev has the programs of all."""
  task, backbone = program.experiment.engine, program.backbone
  records = task.records(backbone, split)
  lengths = program.lengths(records)
  of_dev = program.lengths(task.records(backbone, DEV)) if split == task.choosing else None
  if lengths and of_dev:
    lengths = Lengths(lengths.records, of_dev.rooms)
  return records, lengths


def _predict(
  program: Program,
  state: State,
  records: Records,
  one: tuple[np.ndarray, int | None],
  results: Tree,
) -> None:
  """Writes the predictions of a batch, by the numbers of its records, padded to a length."""
  batch, room = one
  padded = program.padded_to(room)
  rows = own_rows(program.mesh, _size(program))
  made = evaluation_rows(records, program.make_rows, batch, rows)
  arrays = {
    name: jax.make_array_from_process_local_data(
      program.evaluation_sharding, made[name][:, *map(slice, shape.shape[1:])], shape.shape
    )
    for name, shape in padded.evaluation_shapes.items()
  }
  jax.tree.map(functools.partial(_put, batch), results, padded.predict(state, arrays))


def seconds_to_score(program: Program, state: State, split: str) -> float:
  """Returns how long scoring a split takes, by one of its batches and by scores of zeros."""
  task = program.experiment.engine
  records, lengths = _records(program, split)
  order = evaluation_order(len(records), lengths, _size(program))
  one, results = order[len(order) // 2], _zeros(program, len(records))
  begun = time.perf_counter()
  _predict(program, state, records, (one, _room(lengths, one)), results)
  seconds = time.perf_counter() - begun
  words = [_room(lengths, batch) or 1 for batch in order]
  begun = time.perf_counter()
  task.score(records, results)
  of_scores = time.perf_counter() - begun
  # The best ones are looked at in detail, which takes as long again.
  return seconds * sum(words) / words[len(order) // 2] + 2 * of_scores


def _room(lengths: Lengths | None, batch: np.ndarray) -> int | None:
  """Returns the length that a batch to score is padded to; None if there is one alone."""
  return lengths.room(batch) if lengths else None


def _size(program: Program) -> int:
  return program.experiment.data.evaluation_batch_size


def _zeros(program: Program, count: int) -> Tree:
  """Returns room for the predictions of so many records."""
  shapes = program.prediction_shapes()
  return jax.tree.map(lambda x: np.zeros((count, *x.shape[1:]), x.dtype), shapes)


def _put(batch: np.ndarray, array: np.ndarray, part: jax.Array) -> None:
  """Writes the predictions of a batch to their places, of rows that may be padded to less."""
  predicted = np.asarray(part)[: len(batch)]
  array[batch, *map(slice, predicted.shape[1:])] = predicted


def metrics_of(program: Program, split: str) -> list[str]:
  """Returns the names of a split's metrics.

  They come from scoring zeros, which shows before training what cannot be scored.
  """
  task = program.experiment.engine
  records = task.records(program.backbone, split)
  return list(task.score(records, _zeros(program, len(records))))
