"""Memory of a compiled step on one chip, and advice where it does not fit."""

import dataclasses
import math
import re
from typing import Any

import jax

from luke_jax.plan.chips import GIB, Topology

_UNITS = {unit: 1024**power for power, unit in enumerate("BKMGT")}
_SIZE = r"([\d.]+)([BKMGT])"
_MESSAGES = (
  rf"\({_SIZE}\) exceeds available HBM \({_SIZE}\)",
  rf"Used {_SIZE} of {_SIZE} hbm",  # libtpu up to 0.0.2x and some of today's paths
)


@dataclasses.dataclass(frozen=True)
class Memory:
  """Bytes on one chip."""

  arguments: int  # parameters, the optimizer's state and the batch
  outputs: int
  aliased: int  # outputs stored in the buffers of donated arguments
  temporaries: int
  code: int

  @property
  def total(self) -> int:
    """Returns the peak memory of a step; less if XLA stores results in temporaries' buffers."""
    return self.arguments + self.outputs - self.aliased + self.temporaries + self.code


@dataclasses.dataclass(frozen=True)
class OutOfMemory:
  """Step that does not fit on one chip, in bytes."""

  needed: int
  available: int
  arguments: int  # known before compiling


def memory_of(compiled: jax.stages.Compiled) -> Memory:
  """Returns the memory that the compiler allocated."""
  stats: Any = compiled.memory_analysis()
  return Memory(
    arguments=stats.argument_size_in_bytes,
    outputs=stats.output_size_in_bytes,
    aliased=stats.alias_size_in_bytes,
    temporaries=stats.temp_size_in_bytes,
    code=stats.generated_code_size_in_bytes,
  )


def bytes_per_device(arguments: object) -> int:
  """Returns the bytes of the largest shards of a tree of shapes with shardings."""
  total = 0
  for leaf in jax.tree.leaves(arguments):
    shape = leaf.shape if leaf.sharding is None else leaf.sharding.shard_shape(leaf.shape)
    total += math.prod(shape) * leaf.dtype.itemsize
  return total


def whole_bytes(arguments: object) -> int:
  """Returns the bytes of a tree of shapes, each array counted once over all devices."""
  return sum(math.prod(x.shape) * x.dtype.itemsize for x in jax.tree.leaves(arguments))


def parse_out_of_memory(message: str, arguments: int) -> OutOfMemory | None:
  """Parses XLA's message; None if it is another error."""
  if "RESOURCE_EXHAUSTED" not in message:
    return None
  for pattern in _MESSAGES:
    if match := re.search(pattern, message):
      needed, unit, available, available_unit = match.groups()
      return OutOfMemory(_bytes(needed, unit), _bytes(available, available_unit), arguments)
  return None


def _bytes(number: str, unit: str) -> int:
  return round(float(number) * _UNITS[unit])


def advice(
  fault: OutOfMemory, topology: Topology, *, sequences: int, remat: str, sharded: bool
) -> str:
  """Returns one line: needed and available memory, and which of batch, remat or sharding to change.

  `sequences` is the batch of one chip; `sharded` is whether all parameters are already sharded.
  """
  change = _change(fault, sequences=sequences, remat=remat, sharded=sharded)
  return (
    f"memory: a step needs {fault.needed / GIB:.2f} GiB on each chip of {topology},"
    f" {fault.arguments / GIB:.2f} of them for its arguments;"
    f" expected at most {fault.available / GIB:.2f}: {change}"
  )


def _change(fault: OutOfMemory, *, sequences: int, remat: str, sharded: bool) -> str:
  if fault.arguments >= fault.available:
    if sharded:
      return "take more chips, since parameters and optimizer alone do not fit"
    return "shard all parameters, since with the optimizer they alone do not fit"
  if remat != "full":
    return f"set remat to {'dots or full' if remat == 'none' else 'full'}, or take a smaller batch"
  room, used = fault.available - fault.arguments, fault.needed - fault.arguments
  fitting = int(sequences * room / used) if used > 0 else 0
  if fitting >= 1:
    return f"take a smaller batch: about {fitting} instead of {sequences} sequences a chip"
  return "take more chips" if sharded else "shard all parameters, or take more chips"
