"""Benchmark of LUKE's encoder, forward and backward, against transformers.

Both sides have the same weights and the same batches.
"""

import dataclasses
import re
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from rich.table import Table

from benchmarks.figures import encoder_flops, print_figures
from benchmarks.sides import (
  devices,
  mixed,
  product_flops,
  same_precision,
  share_gpu,
  square_product,
  torch_device,
  torch_square_product,
  waited,
)
from benchmarks.timing import Timing, alternate, imported
from luke_jax.cli.process import stderr_console
from luke_jax.errors import InputError
from luke_jax.files import Path, check_place
from luke_jax.models import keys
from luke_jax.models.network import Network, abstract_params, apply, prepared
from luke_jax.models.system import Backbone, Running, System
from luke_jax.nn.layers import Dtype
from luke_jax.plan.plan import TRAINING
from luke_jax.systems.luke import SIZES, LukeConfig
from luke_jax.training.program import OPTIONS

BATCHES = "1x64+8,4x128+32,2x256+32,1x512+128"
MENTION = 30  # word positions for each entity
STATES = ("last_hidden_state", "entity_last_hidden_state")


@dataclasses.dataclass(frozen=True)
class BatchSizes:
  """Sizes of a batch without padding: texts, and the words and entities of each."""

  sequences: int
  words: int
  entities: int = 0

  def __str__(self) -> str:
    return f"{self.sequences}x{self.words}" + f"+{self.entities}" * bool(self.entities)


@dataclasses.dataclass(frozen=True)
class Pass:
  """Measurements of one pass over one batch."""

  batch: BatchSizes
  name: str  # forward, or with backward
  flops: float  # counting matrix products only
  timing: Timing


@dataclasses.dataclass(frozen=True)
class EncoderTimes:
  """Measurements of one run."""

  machine: str
  versions: dict[str, str]
  size: str
  dtype: Dtype
  passes: list[Pass]
  product_flops: float
  peak: Timing  # of square matrix products

  @property
  def peak_flops(self) -> dict[str, float]:
    """Returns the FLOPs per second of each side's own square matrix product."""
    return {side: self.product_flops / self.peak.median(side) for side in ("ours", "theirs")}


def batches(text: str, *, entities: bool = True) -> list[BatchSizes]:
  """Returns the batches of a text such as 1x64+8,4x128+32: texts, words and entities of each."""
  pattern, form = r"([1-9]\d*)x([1-9]\d*)", "TEXTSxWORDS, such as 4x128"
  if entities:
    pattern, form = rf"{pattern}\+([1-9]\d*)", "TEXTSxWORDS+ENTITIES, such as 4x128+32"
  chosen = []
  for part in text.split(","):
    sizes = re.fullmatch(pattern, part.strip(), re.ASCII)
    if not sizes:
      raise InputError(f"batch: {part!r}; expected {form}")
    chosen.append(BatchSizes(*map(int, sizes.groups())))
  return chosen


def run(size: str, some: list[BatchSizes], dtype: Dtype, rounds: int) -> EncoderTimes:
  """Times both sides in turn, with products of type `dtype`."""
  torch, transformers = imported("torch", "transformers")
  if size not in SIZES:
    raise InputError(f"{size}: unknown size; expected one of {', '.join(SIZES)}")
  config = SIZES[size]
  _check(config, some, rounds)
  share_gpu()
  same_precision()
  return EncoderTimes(
    machine=devices(),
    versions={"jax": jax.__version__, "torch": torch.__version__}
    | {"transformers": transformers.__version__},
    size=size,
    dtype=dtype,
    passes=list(_passes(config, some, dtype, rounds)),
    product_flops=product_flops(),
    peak=alternate(square_product(dtype), torch_square_product(dtype), rounds),
  )


def _check(config: LukeConfig, some: list[BatchSizes], rounds: int) -> None:
  if not config.entity_vocab_size:
    raise InputError("size: a model without entities; expected a size of LUKE")
  if rounds < 1:
    raise InputError(f"rounds: {rounds}; expected 1 or more")
  for batch in some:
    if batch.words > config.room_for_words:
      raise InputError(f"batch: {batch}; expected at most {config.room_for_words} words")


def _passes(
  config: LukeConfig, some: list[BatchSizes], dtype: Dtype, rounds: int
) -> Iterator[Pass]:
  on_cpu = jax.default_backend() == "cpu"
  reference, backbone = _reference(config), Backbone(config, Running(dtype=dtype), on_cpu=on_cpu)
  forward, backward = _ours(backbone, reference)
  reference.to(torch_device())
  their_backward = _their_backward(reference, dtype)
  arrays_of = [inputs(config, batch) for batch in some]

  def each(name, ours, theirs, times):
    for batch, arrays in zip(some, arrays_of, strict=True):
      sides = _on(ours, jax.device_put(arrays)), _on(theirs, tensors(arrays))
      flops = encoder_flops(backbone, **dataclasses.asdict(batch))
      yield Pass(batch, name, times * flops, alternate(*sides, rounds))

  yield from each("with backward", backward, their_backward, TRAINING)
  # Last, since it turns the reference's weights into the type of products.
  yield from each("forward", forward, _their_forward(reference, dtype), 1)


def _on(run: Callable, arrays: Any) -> Callable[[], object]:
  return lambda: run(arrays)


def tensors(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
  """Returns arrays as PyTorch's, on the device that JAX computes on."""
  import torch

  return {name: torch.tensor(x, device=torch_device()) for name, x in arrays.items()}


def _reference(config: LukeConfig) -> Any:
  import torch
  import transformers

  fields = dataclasses.asdict(config)
  torch.manual_seed(0)
  return transformers.LukeModel(
    transformers.LukeConfig(**{k: fields[k] for k in fields if k != "dtype"})
  ).eval()


def inputs(config: System, batch: BatchSizes) -> dict[str, np.ndarray]:
  """Returns random words, and entities that are mentioned by up to five of them."""
  rng = np.random.default_rng(0)
  b, w, e = dataclasses.astuple(batch)
  starts = rng.integers(0, w, (b, e, 1))
  positions = starts + np.arange(MENTION)
  lengths = rng.integers(1, 6, (b, e, 1))
  valid = (positions < starts + lengths) & (positions < w)
  words = {
    "input_ids": rng.integers(5, config.vocab_size, (b, w)),
    "attention_mask": np.ones((b, w), np.int64),
  }
  if not e:
    return words
  return words | {
    "entity_ids": rng.integers(1, config.decoders.entities, (b, e)),
    "entity_attention_mask": np.ones((b, e), np.int64),
    "entity_position_ids": np.where(valid, positions, -1),
  }


def _ours(backbone: Backbone, reference: Any) -> tuple[Callable, Callable]:
  """Returns the pass forward as predictions run it, and the gradient as training computes it."""
  network, table = Network(backbone), LukeConfig.keys("none")
  state = {table.canonical(name): x.detach().numpy() for name, x in reference.named_parameters()}
  params, _ = keys.from_torch(state.__getitem__, state, abstract_params(network), table)
  ready, weights = prepared(network, params)
  params = jax.device_put(params)

  @jax.jit
  def states(params, arrays):
    outputs = apply(ready, params, arrays)
    return [outputs[name] for name in STATES]

  def loss(params, arrays):
    outputs = apply(network, params, arrays)
    return sum(jnp.square(outputs[name].astype(jnp.float32)).mean() for name in STATES)

  gradient = jax.jit(jax.grad(loss), compiler_options=OPTIONS.get(jax.default_backend()))

  return (
    lambda arrays: jax.block_until_ready(states(weights, arrays)),
    lambda arrays: jax.block_until_ready(gradient(params, arrays)),
  )


def _their_forward(model: Any, dtype: Dtype) -> Callable:
  import torch

  model.to(getattr(torch, dtype))

  def forward(tensors):
    with torch.no_grad():
      model(**tensors)

  return waited(forward)


def _their_backward(model: Any, dtype: Dtype) -> Callable:
  """Returns a function that computes the gradients of parameters in float32."""
  import torch

  def backward(tensors):
    model.zero_grad()
    with mixed(dtype):
      outputs = model(**tensors)
      loss = torch.stack([outputs[name].float().square().mean() for name in STATES]).sum()
    loss.backward()

  return waited(backward)


def main(
  *,
  size: str = "luke-base",
  batch: str = BATCHES,
  dtype: Dtype = "float32",
  rounds: int = 7,
  output: Path | None = None,
) -> None:
  """Times the encoder against transformers, side by side.

  Same weights, batches and type of products on both sides, taking turns; compilation is not
  counted. On a GPU both multiply float32 in TF32, as JAX does by default. Needs the extra `parity`.

      python -m benchmarks encoder --batch 8x256+32 --dtype bfloat16

  Args:
    size: A named size, such as luke-base.
    batch: Texts, words of each and entities of each, as 4x128+32; several with commas between.
    dtype: Type of products.
    rounds: Number of times each side runs.
    output: File for the figures, as JSON.
  """
  if output:
    check_place(output)
  some = batches(batch)
  with stderr_console().status(f"timing {size}"):
    result = run(size, some, dtype, rounds)
  ratios = {f"{x.batch} {x.name}": x.timing.ratio for x in result.passes}
  print_figures(
    result,
    {"ratios": ratios, "peak_flops": result.peak_flops},
    [_table(result)],
    f"{result.machine}; {result.versions}",
    output=output,
  )


def _table(result: EncoderTimes) -> Table:
  names = ("luke_jax", "transformers", "ratio", "of peak", "theirs")
  table = Table("batch", "pass", *names, title=f"{result.size}, {result.dtype}")
  for measured in result.passes:
    timing = measured.timing
    seconds = [timing.median(side) for side in ("ours", "theirs")]
    peaks = result.peak_flops.values()
    shares = [measured.flops / x / peak for x, peak in zip(seconds, peaks, strict=True)]
    table.add_row(
      str(measured.batch),
      measured.name,
      *(f"{x:.3f} s" if x >= 0.1 else f"{1e3 * x:.1f} ms" for x in seconds),
      f"{timing.ratio:.2f}",
      *(f"{share:.0%}" for share in shares),
    )
  peaks = [f"{flops / 1e9:.0f} GFLOP/s" for flops in result.peak_flops.values()]
  table.add_row("", "one product", *peaks, f"{result.peak.ratio:.2f}", "", "")
  return table
