"""Bytes that a step moves through the memory of its chip, from the compiled program."""

import dataclasses

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


_FREE = {
  *("parameter", "constant", "get-tuple-element", "tuple", "bitcast", "after-all"),
  *("partition-id", "replica-id", "opt-barrier"),
}
_FREE_CALLS = ("ConcatBitcast", "AllocateBuffer", "Sharding", "AssumeGatherIndicesInBound")
_COPIES = ("copy-start", "slice-start", "dynamic-slice-start", "async-start")


@dataclasses.dataclass(frozen=True)
class Moved:
  """Bytes that a step moves: by each operation that takes a core's time, and beside them."""

  operations: tuple[tuple[Executed, int], ...]  # with the bytes of one run
  copied: int  # from and to HBM while operations run

  @property
  def bytes(self) -> int:
    """Returns all bytes that a step moves through HBM."""
    return self.copied + sum(number * x.times for x, number in self.operations)


def moved(program: HloModule, execution: Execution) -> Moved:
  """Counts the bytes of a step, whose collectives and loops take none themselves."""
  operations, copied = [], 0
  for executed in execution.instructions:
    instruction = executed.instruction
    if instruction.opcode in _COPIES:
      copied += executed.times * min((a.bytes for a in instruction.arrays if a.dims), default=0)
    elif not _is_free(program, instruction):
      operations.append((executed, hbm_bytes(program, executed.computation, instruction)))
  return Moved(tuple(operations), copied)


def _is_free(program: HloModule, instruction: Instruction) -> bool:
  return (
    instruction.opcode in _FREE
    or instruction.opcode.endswith("-done")
    or instruction.opcode.startswith("async-")
    or is_collective(instruction)
    or only_moves(program, instruction)
    or any(f'custom_call_target="{name}"' in instruction.attributes for name in _FREE_CALLS)
  )
