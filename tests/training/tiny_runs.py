"""A tiny experiment and the folders of its runs, for the tests of the engine."""

import dataclasses
import json
import time
from pathlib import Path

import jax
import numpy as np
from shared_programs import SharedProgram

from luke_jax.pipeline.batches import Data
from luke_jax.systems.luke import SIZES
from luke_jax.tasks.synthetic import SyntheticPretraining
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.mesh import MeshShape, make_mesh
from luke_jax.training.optimizer import Optimizer
from luke_jax.training.program import Program, State

TINY = dataclasses.replace(
  SIZES["tiny"], vocab_size=100, entity_vocab_size=50, hidden_size=32, intermediate_size=64
)


def experiment(**groups) -> Experiment:
  """Trains in seconds; fields of a group as a dict."""
  base = Experiment(
    model=TINY,
    task=SyntheticPretraining(pages=256, words=32, entities=8, mention=4),
    data=Data(batch_size=16, evaluation_batch_size=16),
    optimizer=Optimizer(learning_rate=1e-3, frozen=("luke/pooler",)),
    run=Run(steps=12, log_every=4, save_every=4),
  )
  changed = {
    name: dataclasses.replace(getattr(base, name), **fields) for name, fields in groups.items()
  }
  return dataclasses.replace(base, **changed)


def program(chosen: Experiment, devices: int = 1, shape: MeshShape | None = None) -> Program:
  """On the first devices."""
  chosen = dataclasses.replace(chosen, mesh=shape or MeshShape())
  mesh = make_mesh(chosen.mesh, jax.devices()[:devices])
  return SharedProgram(chosen, mesh, chosen.run.steps or 1)


def trained(program: Program, state: State, steps: int) -> tuple[State, list[float]]:
  """The state after so many steps, and their losses."""
  records = program.experiment.engine.records(program.backbone, "train")
  batches = program.training_batches(records)
  step = program.step
  losses = []
  for batch in batches.iterate(0, steps, workers=0):
    state, metrics = step(state, program.placed(batch))
    losses.append(float(metrics["loss"]))
  return state, losses


def arrays(tree) -> dict[str, np.ndarray]:
  """Every array of a tree by its path, keys as their data."""
  named = {}
  for path, x in jax.tree_util.tree_leaves_with_path(tree):
    if jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key):
      x = jax.random.key_data(x)
    named[jax.tree_util.keystr(path, simple=True, separator="/")] = np.asarray(x)
  return named


def same(one, other) -> bool:
  """Whether two trees have the same arrays to the bit."""
  one, other = arrays(one), arrays(other)
  return one.keys() == other.keys() and all(
    one[name].tobytes() == other[name].tobytes() for name in one
  )


def logged(folder: Path) -> list[dict]:
  """The lines of a run's metrics."""
  return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def left_at(at: int):
  """Stands in for `Watch.due`: as if SIGTERM had come so that the run leaves before a step."""

  def due(self, step):
    if step == at:
      self.stop = {"status": "preempted", "signal": "SIGTERM", "time": time.monotonic()}
    return step == at

  return due
