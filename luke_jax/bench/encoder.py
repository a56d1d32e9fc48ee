"""Benchmark of LUKE's encoder, forward and backward, against transformers.

Both sides have the same weights and the same batch.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from luke_jax.bench.alternating import Timing, alternate
from luke_jax.bench.machine import cores_and_processor
from luke_jax.errors import InputError, not_installed
from luke_jax.models import keys
from luke_jax.models.family import Backbone
from luke_jax.models.luke import LUKE, SIZES, LukeConfig
from luke_jax.models.network import Network, abstract_params
from luke_jax.plan.flops import encoder_flops

PEAK_SIZE = 2048
STATES = ("last_hidden_state", "entity_last_hidden_state")


@dataclasses.dataclass(frozen=True)
class Batch:
  """Sizes of a batch without padding.

  Args:
    sequences: Texts.
    words: Words of each text.
    entities: Entities of each text.
    mention: Word positions for each entity, M.
  """

  sequences: int = 8
  words: int = 256
  entities: int = 32
  mention: int = 30


@dataclasses.dataclass(frozen=True)
class Result:
  """Measurements of one run."""

  machine: str
  versions: dict[str, str]
  size: str
  batch: Batch
  flops: dict[str, float]  # of one pass, counting matrix products only
  passes: dict[str, Timing]
  peak: Timing  # of one square matrix product

  @property
  def peak_flops(self) -> dict[str, float]:
    """Returns the FLOPs per second of each side's own square matrix product."""
    flops = 2.0 * PEAK_SIZE**3
    return {side: flops / self.peak.median(side) for side in ("ours", "theirs")}


def run(size: str, batch: Batch, rounds: int) -> Result:
  """Times both sides in turn, in float32."""
  try:
    import torch
    import transformers
  except ImportError as missing:
    raise not_installed(missing.name, "to compare with", "parity") from None
  if size not in SIZES:
    raise InputError(f"{size}: unknown size; expected one of {', '.join(SIZES)}")
  config = SIZES[size]
  _check(config, batch, rounds)
  theirs = _reference(config)
  inputs = _inputs(config, batch)
  forward, backward = _ours(config, theirs, inputs)
  their_forward, their_backward = _theirs(theirs, inputs)
  flops = encoder_flops(
    Backbone(config), sequences=batch.sequences, words=batch.words, entities=batch.entities
  )
  return Result(
    machine=f"{jax.devices()[0].device_kind}, {cores_and_processor()}",
    versions={"jax": jax.__version__, "torch": torch.__version__}
    | {"transformers": transformers.__version__},
    size=size,
    batch=batch,
    flops={"forward": flops, "forward and backward": 3 * flops},
    passes={
      "forward": alternate(forward, their_forward, rounds),
      "forward and backward": alternate(backward, their_backward, rounds),
    },
    peak=_peak(rounds),
  )


def _check(config: LukeConfig, batch: Batch, rounds: int) -> None:
  if not config.entity_vocab_size:
    raise InputError("size: a model without entities; expected a size of LUKE")
  numbers = dataclasses.asdict(batch) | {"rounds": rounds}
  for name, number in numbers.items():
    if number < 1:
      raise InputError(f"{name}: {number}; expected 1 or more")
  if batch.words > config.room_for_words:
    raise InputError(f"words: {batch.words}; expected at most {config.room_for_words}")


def _reference(config: LukeConfig) -> Any:
  import torch
  import transformers

  fields = dataclasses.asdict(config)
  torch.manual_seed(0)
  return transformers.LukeModel(
    transformers.LukeConfig(**{k: fields[k] for k in fields if k != "dtype"})
  ).eval()


def _inputs(config: LukeConfig, batch: Batch) -> dict[str, np.ndarray]:
  rng = np.random.default_rng(0)
  b, w, e = batch.sequences, batch.words, batch.entities
  starts = rng.integers(0, w, (b, e, 1))
  positions = starts + np.arange(batch.mention)
  lengths = rng.integers(1, 6, (b, e, 1))
  valid = (positions < starts + lengths) & (positions < w)
  return {
    "input_ids": rng.integers(5, config.vocab_size, (b, w)),
    "attention_mask": np.ones((b, w), np.int64),
    "entity_ids": rng.integers(1, config.entity_vocab_size, (b, e)),
    "entity_attention_mask": np.ones((b, e), np.int64),
    "entity_position_ids": np.where(valid, positions, -1),
  }


def _ours(config: LukeConfig, reference: Any, inputs: dict) -> tuple[Callable, Callable]:
  module, table = Network(Backbone(config)), LUKE.keys("none")
  state = {table.canonical(name): x.detach().numpy() for name, x in reference.named_parameters()}
  params, _ = keys.from_torch(state.__getitem__, state, abstract_params(module), table)
  params = jax.device_put(params)
  arrays = jax.device_put(inputs)

  def loss(params, arrays):
    outputs: Any = module.apply({"params": params}, **arrays)
    return sum(jnp.square(outputs[name]).mean() for name in STATES)

  @jax.jit
  def states(params, arrays):
    outputs: Any = module.apply({"params": params}, **arrays)
    return [outputs[name] for name in STATES]

  gradient = jax.jit(jax.grad(loss))
  return (
    lambda: jax.block_until_ready(states(params, arrays)),
    lambda: jax.block_until_ready(gradient(params, arrays)),
  )


def _theirs(model: Any, inputs: dict) -> tuple[Callable, Callable]:
  import torch

  tensors = {name: torch.tensor(x) for name, x in inputs.items()}

  def forward():
    with torch.no_grad():
      model(**tensors)

  def backward():
    model.zero_grad()
    outputs = model(**tensors)
    torch.stack([outputs[name].square().mean() for name in STATES]).sum().backward()

  return forward, backward


def _peak(rounds: int) -> Timing:
  import torch

  x = np.random.default_rng(0).normal(size=(PEAK_SIZE, PEAK_SIZE)).astype(np.float32)
  ours, theirs = jax.device_put(x), torch.tensor(x)
  product = jax.jit(jnp.matmul)
  return alternate(lambda: product(ours, ours).block_until_ready(), lambda: theirs @ theirs, rounds)
