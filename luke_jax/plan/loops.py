"""Number of times that each instruction of a program runs in one step."""

import dataclasses
import re

from luke_jax.plan.hlo import Computation, HloModule, Instruction


@dataclasses.dataclass(frozen=True, slots=True)
class Executed:
  """Instruction outside fusions, with the number of times it runs."""

  instruction: Instruction
  computation: Computation
  times: int


@dataclasses.dataclass(frozen=True)
class Execution:
  """Everything that a step runs; loops of unknown length count as one trip."""

  instructions: list[Executed]
  unknown_loops: list[str]


def execution(program: HloModule) -> Execution:
  """Walks the program from its entry, through loops, calls and the longest branches."""
  result = Execution([], [])
  _walk(program, program.computations[program.entry], 1, result)
  return result


def _walk(program: HloModule, computation: Computation, times: int, result: Execution) -> None:
  for instruction in computation.instructions.values():
    if instruction.opcode == "while":
      trips = trip_count(program, computation, instruction)
      if trips is None:
        result.unknown_loops.append(instruction.name)
      body = program.computations[instruction.attribute("body") or ""]
      _walk(program, body, times * (1 if trips is None else trips), result)
    elif instruction.opcode == "conditional":
      branches = [program.computations[name] for name in _branches(instruction)]
      _walk(program, max(branches, key=lambda c: len(c.instructions)), times, result)
    elif instruction.opcode == "call":
      _walk(program, program.computations[instruction.called or ""], times, result)
    else:
      result.instructions.append(Executed(instruction, computation, times))


def _branches(instruction: Instruction) -> list[str]:
  listed = re.search(r"branch_computations=\{([^}]*)\}", instruction.attributes)
  if listed:
    return re.findall(r"%([\w.\-]+)", listed.group(1))
  both = (instruction.attribute(f"{side}_computation") for side in ("true", "false"))
  return [name for name in both if name]


def trip_count(program: HloModule, computation: Computation, loop: Instruction) -> int | None:
  """Returns the trips of a loop that counts up by one to a constant; None for other loops."""
  annotated = re.search(r'known_trip_count[^\d}]*"?(\d+)', loop.attributes)
  if annotated:
    return int(annotated.group(1))
  condition = program.computations[loop.attribute("condition") or ""]
  test = condition.instructions[condition.root]
  if test.opcode != "compare" or "direction=LT" not in test.attributes:
    return None
  limit = _constant(condition, condition.operand(test, 1))
  counter = condition.operand(test, 0)
  index = counter.attribute("index") if counter is not None else None
  if limit is None or index is None:
    return None
  state = computation.operand(loop, 0)
  start = _constant(computation, computation.operand(state, int(index))) if state else None
  return max(limit - (start or 0), 0)


def _constant(computation: Computation, value: Instruction | None) -> int | None:
  while value is not None and value.opcode in ("copy", "bitcast", "convert"):
    value = computation.operand(value, 0)
  if value is None or value.opcode != "constant" or not re.fullmatch(r"-?\d+", value.argument):
    return None
  return int(value.argument)
