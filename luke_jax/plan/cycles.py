"""Computation time of one step on a chip, by two estimates of the compiler.

`estimated_cycles`, an attribute of each fusion, is what the compiler chose window sizes by: right
within a tenth for matrix products, several times too high for element-wise work, absent for
kernels. Final bundles (luke_jax.plan.bundles) come closer. Neither counts waiting for other chips
or for the host, and both assume that operations do not overlap, as is the case on the chip.
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
from luke_jax.plan.hlo import HloModule, Instruction
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
  """Operation that takes a core's time."""

  name: str
  times: int
  estimate: int | None  # the compiler's estimated_cycles
  bundles: Bundles | None
  hbm_bytes: int
  kernel: bool  # whether it is a Pallas kernel


@dataclasses.dataclass(frozen=True)
class Work:
  """Operations of a step, and the bytes copied from and to HBM while others run."""

  operations: tuple[Operation, ...]
  copied_bytes: int

  @property
  def hbm_bytes(self) -> int:
    """Returns all bytes that a step moves through HBM."""
    return self.copied_bytes + sum(o.hbm_bytes * o.times for o in self.operations)

  @property
  def unknown_loops(self) -> int:
    """Returns the number of loops inside operations whose length the bundles do not show."""
    return sum(o.bundles.unknown_loops for o in self.operations if o.bundles is not None)


@dataclasses.dataclass(frozen=True)
class Cycles:
  """Cycles of a step, and the sources that they were counted from."""

  total: float
  sources: dict[Source, float]


def window_counts(program: HloModule) -> dict[str, int]:
  """Returns the number of windows of each fusion whose attributes state it."""
  counts = {}
  for computation in program.computations.values():
    for instruction in computation.instructions.values():
      bounds = re.search(r'"iteration_bounds":\[([^\]]+)\]', instruction.attributes)
      if bounds:
        counts[instruction.name] = math.prod(map(int, re.findall(r"\d+", bounds.group(1))))
  return counts


def work(program: HloModule, execution: Execution, bundles: Mapping[str, Bundles]) -> Work:
  """Collects the operations of a step that take time and are neither loops nor collectives."""
  operations, copied = [], 0
  for executed in execution.instructions:
    instruction = executed.instruction
    if instruction.opcode in _COPIES:
      copied += executed.times * min((a.bytes for a in instruction.arrays if a.dims), default=0)
    elif not _is_free(program, instruction):
      operations.append(_operation(program, executed, bundles))
  return Work(tuple(operations), copied)


def _is_free(program: HloModule, instruction: Instruction) -> bool:
  return (
    instruction.opcode in _FREE
    or instruction.opcode.endswith("-done")
    or instruction.opcode.startswith("async-")
    or is_collective(instruction)
    or only_moves(program, instruction)
    or any(f'custom_call_target="{name}"' in instruction.attributes for name in _FREE_CALLS)
  )


def _operation(program: HloModule, executed: Executed, bundles: Mapping[str, Bundles]) -> Operation:
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


def estimated_cycles(step_work: Work, chip: Chip, *, kernel_flops: float = 0.0) -> Cycles:
  """Sums the compiler's estimates; other operations count by their HBM traffic.

  Pallas kernels, which have no estimates, count by `kernel_flops` per step, or by HBM traffic if
  that takes longer.
  """
  sources: dict[Source, float] = defaultdict(float)
  kernel_memory = 0.0
  for operation in step_work.operations:
    memory = operation.hbm_bytes / chip.hbm_bytes_per_cycle * operation.times
    if operation.estimate is not None:
      sources["estimate"] += operation.estimate * operation.times
    elif operation.kernel:
      kernel_memory += memory
    else:
      sources["memory"] += memory
  if any(o.kernel and o.estimate is None for o in step_work.operations):
    sources["kernel"] = max(kernel_memory, kernel_flops / chip.flops_per_cycle)
  return Cycles(sum(sources.values()), dict(sources))


def final_cycles(step_work: Work, chip: Chip, *, kernel_flops: float = 0.0) -> Cycles | None:
  """Sums cycles by final bundles; each operation takes at least the time of its HBM traffic.

  Operations without bundles count by the compiler's estimate. None if no operation has bundles.
  """
  if all(operation.bundles is None for operation in step_work.operations):
    return None
  sources: dict[Source, float] = defaultdict(float)
  rest = [o for o in step_work.operations if o.bundles is None]
  for operation in step_work.operations:
    if operation.bundles is not None:
      memory = operation.hbm_bytes / chip.hbm_bytes_per_cycle
      sources["bundles"] += max(bundle_cycles(operation.bundles, chip), memory) * operation.times
  without = estimated_cycles(Work(tuple(rest), 0), chip, kernel_flops=kernel_flops)
  for source, cycles in without.sources.items():
    sources[source] += cycles
  return Cycles(sum(sources.values()), dict(sources))
