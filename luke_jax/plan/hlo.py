"""Text of a compiled program, parsed into computations of instructions.

A walk through it gives the number of times that each instruction runs in one step.
"""

import dataclasses
import math
import re


@dataclasses.dataclass(frozen=True, slots=True)
class Array:
  """Array in an instruction's result."""

  dtype: str
  dims: tuple[int, ...]
  in_hbm: bool  # else in VMEM or SMEM, on the chip

  @property
  def bytes(self) -> int:
    """Returns the size without the padding of its layout."""
    return math.prod(self.dims) * _bits(self.dtype) // 8


@dataclasses.dataclass(frozen=True, slots=True)
class Instruction:
  """Instruction: one line of a computation."""

  name: str
  opcode: str
  arrays: tuple[Array, ...]  # of the result; all leaves if it is a tuple
  operands: tuple[str, ...]  # names in the same computation
  argument: str  # the text in the parentheses: a constant's value, a parameter's number
  attributes: str

  def attribute(self, key: str) -> str | None:
    """Returns a name or number given as `key=value`, or None."""
    match = re.search(rf"\b{key}=%?([\w.\-]+)", self.attributes)
    return match.group(1) if match else None

  @property
  def called(self) -> str | None:
    """Returns the computation that a fusion, call or asynchronous start runs."""
    return self.attribute("calls") or self.attribute("to_apply")

  @property
  def bytes(self) -> int:
    """Returns the size of the whole result."""
    return sum(array.bytes for array in self.arrays)


@dataclasses.dataclass(frozen=True, slots=True)
class Computation:
  """Instructions by name, in the order in which they are written."""

  name: str
  instructions: dict[str, Instruction]
  root: str

  def operand(self, instruction: Instruction, index: int) -> Instruction | None:
    """Returns the instruction that produces an operand, or None."""
    names = instruction.operands
    return self.instructions.get(names[index]) if index < len(names) else None


@dataclasses.dataclass(frozen=True, slots=True)
class HloModule:
  """Compiled program of one device, which XLA calls a module."""

  computations: dict[str, Computation]
  entry: str
  devices: int


_HEAD = re.compile(r"(ENTRY )?%?([\w.\-]+) \(.*\{\s*$")
_NAME = re.compile(r"\s+(ROOT )?%([\w.\-]+) = ")
_ARRAY = re.compile(r"(\w+)\[([\d,]*)\](?:\{([^{}]*)\})?")
_OPCODE = re.compile(r"\s*([\w\-]+)\(")
_OFF_HBM = re.compile(r"S\([1-9]")


def _bits(dtype: str) -> int:
  if dtype == "pred":
    return 8
  width = re.match(r"[a-z]+(\d+)", dtype)
  return int(width.group(1)) if width else 0  # tokens


def parse(text: str) -> HloModule:
  """Parses `compiled.as_text()`."""
  computations: dict[str, Computation] = {}
  instructions: dict[str, Instruction] = {}
  entry = name = root = ""
  for line in text.splitlines():
    if head := _HEAD.match(line):
      name, instructions = head.group(2), {}
      if head.group(1):
        entry = name
    elif line.startswith("}") and name:
      computations[name] = Computation(name, instructions, root)
      name = ""
    elif name and (match := _NAME.match(line)):
      instruction = _instruction(match.group(2), line[match.end() :])
      instructions[instruction.name] = instruction
      root = instruction.name if match.group(1) else root
  if entry not in computations:
    raise ValueError("not the text of a compiled program: no ENTRY computation")
  devices = re.search(r"num_partitions=(\d+)", text.split("\n", 1)[0])
  return HloModule(computations, entry, int(devices.group(1)) if devices else 1)


def _instruction(name: str, text: str) -> Instruction:
  shape_end = _closing(text) + 1 if text.startswith("(") else text.index(" ")
  opcode = _OPCODE.match(text, shape_end)
  if opcode is None:
    raise ValueError(f"not an instruction: {name} = {text}")
  start = opcode.end() - 1
  end = start + _closing(text[start:])
  argument = text[start + 1 : end]
  return Instruction(
    name=name,
    opcode=opcode.group(1),
    arrays=tuple(
      Array(dtype, tuple(map(int, filter(None, dims.split(",")))), not _OFF_HBM.search(layout))
      for dtype, dims, layout in _ARRAY.findall(text[:shape_end])
      if _bits(dtype)
    ),
    operands=tuple(re.findall(r"%([\w.\-]+)", argument)),
    argument=argument,
    attributes=text[end + 1 :],
  )


def _closing(text: str) -> int:
  """Returns the index of the parenthesis that closes the first one."""
  depth = 0
  for match in re.finditer(r"[()]", text):
    depth += 1 if match.group() == "(" else -1
    if depth == 0:
      return match.start()
  raise ValueError(f"parentheses do not close: {text}")


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
