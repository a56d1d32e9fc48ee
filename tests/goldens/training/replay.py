"""A recorded training of PyTorch's, done again by ours, and how far the two are apart."""

import dataclasses
import functools
import json
from pathlib import Path

import jax
import numpy as np
import optax
from networks import network

from luke_jax.models.keys import from_torch, to_torch
from luke_jax.models.network import Network, abstract_params
from luke_jax.systems.luke import LukeConfig
from luke_jax.systems.luke.keys import KEYS
from luke_jax.training.optimizer import (
  Length,
  Optimizer,
  Schedule,
  make_optimizer,
  merge,
  split_frozen,
)

LABELS = ("labels", "entity_labels")


@dataclasses.dataclass(frozen=True)
class Recording:
  """What PyTorch was given and what it made of that; the parameters are trees of ours."""

  module: Network
  case: dict
  before: dict
  after: dict
  batches: dict[str, np.ndarray]  # (steps, micro-batches, ...)
  losses: np.ndarray

  @property
  def optimizer(self) -> Optimizer:
    fields = self.case["optimizer"]
    return Optimizer(**fields | {"frozen": tuple(fields["frozen"])})

  @property
  def schedule(self) -> Schedule:
    return Schedule(**self.case["schedule"])


def read(path: Path) -> Recording:
  """The recording in a file."""
  with np.load(path) as file:
    return recording(dict(file))


def recording(record: dict) -> Recording:
  """A record of make_training.py with its parameters as ours."""
  described = LukeConfig.read_config(json.loads(str(record["config"])), Path("config"))
  module = network(described.architecture, described.config)
  shapes = abstract_params(module)
  return Recording(
    module=module,
    case=json.loads(str(record["case"])),
    before=_params(shapes, _group(record, "before:")),
    after=_params(shapes, _group(record, "after:")),
    batches={key: x.astype(np.int32) for key, x in _group(record, "batch:").items()},
    losses=record["losses"],
  )


def _group(record: dict, prefix: str) -> dict:
  return {key.removeprefix(prefix): x for key, x in record.items() if key.startswith(prefix)}


def _params(shapes: dict, tensors: dict) -> dict:
  params, report = from_torch(tensors.__getitem__, tensors, shapes, KEYS)
  assert not report.missing
  assert not report.unexpected
  return params


def replay(
  recorded: Recording,
  optimizer: Optimizer | None = None,
  schedule: Schedule | None = None,
  *,
  decayed: tuple[str, ...] = LukeConfig.layout.decayed,
) -> tuple[dict, np.ndarray]:
  """Our parameters and losses after the recorded steps, with the recorded settings or others."""
  optimizer, schedule = optimizer or recorded.optimizer, schedule or recorded.schedule
  accumulation, steps = recorded.case["accumulation"], recorded.case["steps"]
  tx = make_optimizer(optimizer, schedule, decayed)
  trained, frozen = split_frozen(recorded.before, optimizer.frozen)
  state = jax.jit(tx.init)(trained)
  update = jax.jit(functools.partial(_apply, tx, Length.of(schedule, steps)))
  losses = []
  for step in range(steps):
    batches = [
      {key: x[step, i] for key, x in recorded.batches.items()} for i in range(accumulation)
    ]
    parts = [_loss_and_gradient(recorded.module, trained, frozen, batch) for batch in batches]
    loss, gradient = jax.tree.map(lambda *xs: sum(xs) / accumulation, *parts)
    trained, state = update(gradient, state, trained)
    losses.append(loss)
  return merge(trained, frozen), np.array(losses)


def _apply(tx, length, gradient, state, trained):
  updates, state = tx.update(gradient, state, trained, length=length)
  return optax.apply_updates(trained, updates), state


@functools.partial(jax.jit, static_argnames="module")
def _loss_and_gradient(module, trained, frozen, batch):
  inputs = {key: x for key, x in batch.items() if key not in LABELS}
  labels = {key: batch[key] for key in LABELS}

  def loss(trained):
    outputs = module.apply({"params": merge(trained, frozen)}, **inputs)
    return module.loss(outputs, **labels)

  return jax.value_and_grad(loss)(trained)


@dataclasses.dataclass(frozen=True)
class Distance:
  """How far one parameter is from PyTorch's."""

  value: float  # the largest difference over the largest value
  change: float  # the norm of the difference over the norm of what training changed


def distances(recorded: Recording, params: dict) -> dict[str, Distance]:
  """Of every tensor that PyTorch trained, by its name there; frozen ones must be the same bits."""
  before, after, ours = (
    dict(to_torch(jax.device_get(tree), KEYS)) for tree in (recorded.before, recorded.after, params)
  )
  found = {}
  for name, theirs in after.items():
    change = np.linalg.norm(theirs - before[name])
    if change == 0:
      assert np.array_equal(ours[name], theirs), name
      continue
    difference = ours[name] - theirs
    largest = np.abs(difference).max() / np.abs(theirs).max()
    found[name] = Distance(float(largest), float(np.linalg.norm(difference) / change))
  return found
