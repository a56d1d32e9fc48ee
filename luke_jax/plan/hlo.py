"""Text of a compiled program, parsed into computations of instructions."""

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
