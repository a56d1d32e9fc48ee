"""The text of a compiled program as computations of instructions, and how often each one runs."""

import dataclasses
import math
import re


@dataclasses.dataclass(frozen=True, slots=True)
class Array:
  """One array of an instruction's result."""

  dtype: str
  dims: tuple[int, ...]
  in_hbm: bool  # the others live on the chip, in VMEM or SMEM

  @property
  def bytes(self) -> int:
    """Size without the padding of its layout."""
    return math.prod(self.dims) * _bits(self.dtype) // 8


@dataclasses.dataclass(frozen=True, slots=True)
class Instruction:
  """One line of a computation."""

  name: str
  opcode: str
  arrays: tuple[Array, ...]  # of a tuple, all its leaves
  operands: tuple[str, ...]  # names in the same computation
  argument: str  # what stands in the parentheses: a constant's value, a parameter's number
  attributes: str

  def attribute(self, key: str) -> str | None:
    """A name or number given as `key=value`."""
    found = re.search(rf"\b{key}=%?([\w.\-]+)", self.attributes)
    return found.group(1) if found else None

  @property
  def called(self) -> str | None:
    """The computation of a fusion, a call or an asynchronous start."""
    return self.attribute("calls") or self.attribute("to_apply")

  @property
  def bytes(self) -> int:
    """Size of the whole result."""
    return sum(array.bytes for array in self.arrays)


@dataclasses.dataclass(frozen=True, slots=True)
class Computation:
  """Instructions by name, in the order they are written."""

  name: str
  instructions: dict[str, Instruction]
  root: str

  def operand(self, instruction: Instruction, index: int) -> Instruction | None:
    """The instruction that gives an operand."""
    names = instruction.operands
    return self.instructions.get(names[index]) if index < len(names) else None


@dataclasses.dataclass(frozen=True, slots=True)
class Program:
  """A compiled module of one device."""

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


def parse(text: str) -> Program:
  """Reads `compiled.as_text()`."""
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
    elif name and (found := _NAME.match(line)):
      instruction = _instruction(found.group(2), line[found.end() :])
      instructions[instruction.name] = instruction
      root = instruction.name if found.group(1) else root
  if entry not in computations:
    raise ValueError("not the text of a compiled program: no ENTRY computation")
  devices = re.search(r"num_partitions=(\d+)", text.split("\n", 1)[0])
  return Program(computations, entry, int(devices.group(1)) if devices else 1)


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
  """Index of the parenthesis that closes the first."""
  depth = 0
  for found in re.finditer(r"[()]", text):
    depth += 1 if found.group() == "(" else -1
    if depth == 0:
      return found.start()
  raise ValueError(f"parentheses do not close: {text}")
