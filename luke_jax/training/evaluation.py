"""Evaluation of all records of a split, each counted once."""

from typing import Any

import jax
import numpy as np

from luke_jax.pipeline.batches import evaluation_batches
from luke_jax.training.mesh import own_rows
from luke_jax.training.program import Program, State


def evaluate(program: Program, state: State, split: str) -> dict[str, float]:
  """Returns the task's metrics on a split; the same on every process."""
  task, backbone = program.experiment.task, program.backbone
  records = task.records(backbone, split)
  size = program.experiment.data.evaluation_batch_size
  rows = own_rows(program.mesh, size)
  outputs = []
  for batch in evaluation_batches(records, program.make_rows, size, rows):
    arrays = {
      name: jax.make_array_from_process_local_data(
        program.evaluation_sharding, x, (size, *x.shape[1:])
      )
      for name, x in batch.items()
    }
    outputs.append(program.predict(state, arrays))
  whole = jax.tree.map(lambda *parts: np.concatenate(list(map(np.asarray, parts))), *outputs)
  return task.score(records, _without_padding(whole, len(records)))


def metrics_of(program: Program, split: str) -> list[str]:
  """Returns the names of a split's metrics.

  They come from scoring zeros, which shows before training what cannot be scored.
  """
  task = program.experiment.task
  records = task.records(program.backbone, split)
  zeros = jax.tree.map(
    lambda x: np.zeros((len(records), *x.shape[1:]), x.dtype), program.prediction_shapes()
  )
  return list(task.score(records, zeros))


def _without_padding(predictions: Any, count: int) -> Any:
  return jax.tree.map(lambda x: x[:count], predictions)
