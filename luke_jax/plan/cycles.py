"""How long a chip computes on one step, by two estimates of the compiler's.

`estimated_cycles`, written on each fusion, is what the compiler chose windows by: right within a
tenth for matrix products, several times too high for element-wise work, absent for kernels. Final
bundles (luke_jax.plan.bundles) come closer. Neither knows waiting for other chips or for the host,
and neither lets operations overlap, as on the chip they do not.
"""

import dataclasses
import math
import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Literal

from luke_jax.plan.bundles import Bundles
from luke_jax.plan.bundles import cycles as bundle_cycles
from luke_jax.plan.chips import Chip
from luke_jax.plan.collectives import is_collective, only_moves
from luke_jax.plan.hlo import Instruction, Program
from luke_jax.plan.loops import Executed, Execution
from luke_jax.plan.traffic import hbm_bytes

Source = Literal["estimate", "bundles", "kernel", "memory"]

_FREE = {
  *("parameter", "constant", "get-tuple-element", "tuple", "bitcast", "after-all"),
  *("partition-id", "replica-id", "opt-barrier"),
}
_FREE_CALLS = ("ConcatBitcast", "AllocateBuffer", "Sharding", "AssumeGatherIndicesInBound")
_COPIES = ("copy-start", "slice-start", "dynamic-slice-start", "async-start")


@dataclasses.dataclass(frozen=True, slots=True)
class Operation:
  """Something that takes a core's time."""

  name: str
  times: int
  estimate: int | None  # the compiler's estimated_cycles
  bundles: Bundles | None
  hbm_bytes: int
  kernel: bool  # Pallas


@dataclasses.dataclass(frozen=True)
class Work:
  """All operations of a step, and what is copied from and to HBM while others run."""

  operations: tuple[Operation, ...]
  copied_bytes: int

  @property
  def hbm_bytes(self) -> int:
    """All that a step moves through HBM."""
    return self.copied_bytes + sum(o.hbm_bytes * o.times for o in self.operations)

  @property
  def unknown_loops(self) -> int:
    """Loops inside operations whose bundles do not tell how long they are."""
    return sum(o.bundles.unknown_loops for o in self.operations if o.bundles is not None)


@dataclasses.dataclass(frozen=True)
class Cycles:
  """Cycles of a step, and where they are from."""

  total: float
  sources: dict[Source, float]


def window_counts(program: Program) -> dict[str, int]:
  """How many windows each fusion works on, for those that say so."""
  counts = {}
  for computation in program.computations.values():
    for instruction in computation.instructions.values():
      bounds = re.search(r'"iteration_bounds":\[([^\]]+)\]', instruction.attributes)
      if bounds:
        counts[instruction.name] = math.prod(map(int, re.findall(r"\d+", bounds.group(1))))
  return counts


def work(program: Program, execution: Execution, bundles: Mapping[str, Bundles]) -> Work:
  """Reads every operation that is not free, no loop and no collective."""
  operations, copied = [], 0
  for executed in execution.instructions:
    instruction = executed.instruction
    if instruction.opcode in _COPIES:
      copied += executed.times * min((a.bytes for a in instruction.arrays if a.dims), default=0)
    elif not _is_free(program, instruction):
      operations.append(_operation(program, executed, bundles))
  return Work(tuple(operations), copied)


def _is_free(program: Program, instruction: Instruction) -> bool:
  return (
    instruction.opcode in _FREE
    or instruction.opcode.endswith("-done")
    or instruction.opcode.startswith("async-")
    or is_collective(instruction)
    or only_moves(program, instruction)
    or any(f'custom_call_target="{name}"' in instruction.attributes for name in _FREE_CALLS)
  )


def _operation(program: Program, executed: Executed, bundles: Mapping[str, Bundles]) -> Operation:
  instruction = executed.instruction
  estimate = re.search(r'"estimated_cycles":"(\d+)"', instruction.attributes)
  return Operation(
    name=instruction.name,
    times=executed.times,
    estimate=int(estimate.group(1)) if estimate else None,
    bundles=bundles.get(instruction.name),
    hbm_bytes=hbm_bytes(program, executed.computation, instruction),
    kernel='custom_call_target="tpu_custom_call"' in instruction.attributes,
  )


def estimated_cycles(found: Work, chip: Chip, *, kernel_flops: float = 0.0) -> Cycles:
  """Sum of the estimates; the rest by its memory, and Pallas kernels by their FLOPs a step."""
  sources: dict[Source, float] = defaultdict(float)
  kernel_memory = 0.0
  for operation in found.operations:
    memory = operation.hbm_bytes / chip.hbm_bytes_per_cycle * operation.times
    if operation.estimate is not None:
      sources["estimate"] += operation.estimate * operation.times
    elif operation.kernel:
      kernel_memory += memory
    else:
      sources["memory"] += memory
  if any(o.kernel and o.estimate is None for o in found.operations):
    sources["kernel"] = max(kernel_memory, kernel_flops / chip.flops_per_cycle)
  return Cycles(sum(sources.values()), dict(sources))


def final_cycles(found: Work, chip: Chip, *, kernel_flops: float = 0.0) -> Cycles | None:
  """Sum by final bundles, each operation at least as long as its memory takes.

  What has no bundles counts by the compiler's estimate. None if nothing has bundles.
  """
  if all(operation.bundles is None for operation in found.operations):
    return None
  sources: dict[Source, float] = defaultdict(float)
  rest = [o for o in found.operations if o.bundles is None]
  for operation in found.operations:
    if operation.bundles is not None:
      memory = operation.hbm_bytes / chip.hbm_bytes_per_cycle
      sources["bundles"] += max(bundle_cycles(operation.bundles, chip), memory) * operation.times
  without = estimated_cycles(Work(tuple(rest), 0), chip, kernel_flops=kernel_flops)
  for source, cycles in without.sources.items():
    sources[source] += cycles
  return Cycles(sum(sources.values()), dict(sources))
