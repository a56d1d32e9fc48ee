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
from luke_jax.plan.hlo import Computation, Executed, Execution, HloModule, Instruction

SLICES = ("dynamic-slice", "slice", "gather")
# Operations that write a part of their first operand in place, and the operand with that part.
UPDATES = {"dynamic-update-slice": 1, "scatter": 2}


def hbm_bytes(program: HloModule, computation: Computation, instruction: Instruction) -> int:
  """Returns the bytes read and written; slices and updates in place count only what they touch."""
  fused = program.computations[instruction.called or ""] if instruction.opcode == "fusion" else None
  reads = 0
  for index in range(len(instruction.operands)):
    operand = computation.operand(instruction, index)
    full = _in_hbm(operand)
    if fused is not None and full:
      touched = _read_of_parameter(program, fused, index)
      reads += full if touched is None else min(touched, full)
    elif full:
      reads += _read_of_operand(computation, instruction, index, full)
  return reads + _written(program, computation, instruction, fused)


def _in_hbm(instruction: Instruction | None) -> int:
  return sum(x.bytes for x in instruction.arrays if x.in_hbm) if instruction is not None else 0


def _read_of_operand(
  computation: Computation, instruction: Instruction, index: int, full: int
) -> int:
  if instruction.opcode in SLICES:
    return instruction.bytes
  if instruction.opcode in UPDATES and index == 0:
    return _update_bytes(computation, instruction)
  return 0 if instruction.opcode == "dynamic-update-slice" and index > 1 else full


def _read_of_parameter(program: HloModule, fused: Computation, index: int) -> int | None:
  """Returns the bytes that a fusion reads of a parameter; None if it reads all of it."""
  total = 0
  for user, position in _uses(fused, index):
    if user.opcode in SLICES:
      total += user.bytes
    elif user.opcode == "fusion":
      inner = _read_of_parameter(program, program.computations[user.called or ""], position)
      if inner is None:
        return None
      total += inner
    elif user.opcode not in UPDATES or position != 0:
      return None
  return total


def _uses(fused: Computation, index: int) -> list[tuple[Instruction, int]]:
  """Returns the users of a parameter, and as which operand, looking through bitcasts."""
  aliases, uses = set(), []
  for instruction in fused.instructions.values():  # in order: operands come first
    if instruction.opcode == "parameter" and instruction.argument == str(index):
      aliases.add(instruction.name)
      continue
    positions = [i for i, name in enumerate(instruction.operands) if name in aliases]
    if positions and instruction.opcode == "bitcast":
      aliases.add(instruction.name)
    else:
      uses += [(instruction, position) for position in positions]
  return uses


def _written(
  program: HloModule, computation: Computation, instruction: Instruction, fused: Computation | None
) -> int:
  if instruction.opcode in UPDATES:
    return 0  # counted with the array that it updates
  if fused is None:
    return _in_hbm(instruction)
  root = fused.instructions[fused.root]
  parts = [root]
  if root.opcode == "tuple":
    parts = [fused.instructions[name] for name in root.operands]
  if len(parts) != len(instruction.arrays):  # tuples inside
    return _in_hbm(instruction)
  written = 0
  for part, array in zip(parts, instruction.arrays, strict=True):
    if array.in_hbm:
      update = _update_of(program, fused, part)
      written += array.bytes if update is None else update
  return written


def _update_of(program: HloModule, fused: Computation, part: Instruction) -> int | None:
  """Returns the bytes of the update if a fusion's result is an update in place, else None."""
  source: Instruction | None = part
  while source is not None and source.opcode == "bitcast":
    source = fused.operand(source, 0)
  if source is not None and source.opcode == "fusion":
    fused = program.computations[source.called or ""]
    source = fused.instructions[fused.root]
  if source is None or source.opcode not in UPDATES:
    return None
  return _update_bytes(fused, source)


def _update_bytes(computation: Computation, instruction: Instruction) -> int:
  update = computation.operand(instruction, UPDATES[instruction.opcode])
  return update.bytes if update is not None else 0


Source = Literal["estimate", "bundles", "kernel", "memory"]

_FREE = {
  *("parameter", "constant", "get-tuple-element", "tuple", "bitcast", "after-all"),
  *("partition-id", "replica-id", "opt-barrier"),
}
_FREE_CALLS = ("ConcatBitcast", "AllocateBuffer", "Sharding", "AssumeGatherIndicesInBound")
_COPIES = ("copy-start", "slice-start", "dynamic-slice-start", "async-start")


@dataclasses.dataclass(frozen=True, slots=True)
class CoreOperation:
  """Operation that takes a core's time."""

  name: str
  times: int
  estimate: int | None  # the compiler's estimated_cycles
  bundles: Bundles | None
  hbm_bytes: int
  kernel: bool  # whether it is a Pallas kernel
  source: str = ""  # path of the model's code that it was compiled from


@dataclasses.dataclass(frozen=True, slots=True)
class CycleShare:
  """Part of a step's cycles that one operation takes, by its final bundles."""

  name: str
  source: str
  times: int
  cycles: float
  product_cycles: float  # of these: the least that its matrix products need


@dataclasses.dataclass(frozen=True)
class StepWork:
  """Operations of a step, and the bytes copied from and to HBM while others run."""

  operations: tuple[CoreOperation, ...]
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


def work(program: HloModule, execution: Execution, bundles: Mapping[str, Bundles]) -> StepWork:
  """Collects the operations of a step that take time and are neither loops nor collectives."""
  operations, copied = [], 0
  for executed in execution.instructions:
    instruction = executed.instruction
    if instruction.opcode in _COPIES:
      copied += executed.times * min((a.bytes for a in instruction.arrays if a.dims), default=0)
    elif not _is_free(program, instruction):
      operations.append(_operation(program, executed, bundles))
  return StepWork(tuple(operations), copied)


def _is_free(program: HloModule, instruction: Instruction) -> bool:
  return (
    instruction.opcode in _FREE
    or instruction.opcode.endswith("-done")
    or instruction.opcode.startswith("async-")
    or is_collective(instruction)
    or only_moves(program, instruction)
    or any(f'custom_call_target="{name}"' in instruction.attributes for name in _FREE_CALLS)
  )


def _operation(
  program: HloModule, executed: Executed, bundles: Mapping[str, Bundles]
) -> CoreOperation:
  instruction = executed.instruction
  estimate = re.search(r'"estimated_cycles":"(\d+)"', instruction.attributes)
  return CoreOperation(
    name=instruction.name,
    times=executed.times,
    estimate=int(estimate.group(1)) if estimate else None,
    bundles=bundles.get(instruction.name),
    hbm_bytes=hbm_bytes(program, executed.computation, instruction),
    kernel='custom_call_target="tpu_custom_call"' in instruction.attributes,
    source="".join(re.findall(r'op_name="([^"]*)"', instruction.attributes)),
  )


def estimated_cycles(step_work: StepWork, chip: Chip, *, kernel_flops: float = 0.0) -> Cycles:
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


def final_cycles(step_work: StepWork, chip: Chip, *, kernel_flops: float = 0.0) -> Cycles | None:
  """Sums cycles by final bundles; each operation takes at least the time of its HBM traffic.

  Operations without bundles count by the compiler's estimate. None if no operation has bundles.
  """
  if all(operation.bundles is None for operation in step_work.operations):
    return None
  sources: dict[Source, float] = defaultdict(float)
  rest = [o for o in step_work.operations if o.bundles is None]
  sources["bundles"] = sum(share.cycles for share in shares(step_work, chip))
  without = estimated_cycles(StepWork(tuple(rest), 0), chip, kernel_flops=kernel_flops)
  for source, cycles in without.sources.items():
    sources[source] += cycles
  return Cycles(sum(sources.values()), dict(sources))


def shares(step_work: StepWork, chip: Chip) -> list[CycleShare]:
  """Returns the cycles of all operations that have bundles, most first."""
  found = []
  for operation in step_work.operations:
    if operation.bundles is not None:
      memory = operation.hbm_bytes / chip.hbm_bytes_per_cycle
      cycles = max(bundle_cycles(operation.bundles, chip), memory) * operation.times
      rows = operation.bundles.rows * operation.times
      products = rows / chip.matrix_units / chip.rows_per_cycle
      found.append(CycleShare(operation.name, operation.source, operation.times, cycles, products))
  return sorted(found, key=lambda share: -share.cycles)
