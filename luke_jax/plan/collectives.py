"""Bytes that each chip sends to others in one step, by kind of collective."""

import dataclasses
import re
from collections import defaultdict
from collections.abc import Iterator

from luke_jax.plan.chips import Chip
from luke_jax.plan.hlo import Array, Computation, Instruction, Program
from luke_jax.plan.loops import Execution, execution

KINDS = (
  *("all-gather", "all-reduce", "reduce-scatter", "all-to-all", "ragged-all-to-all"),
  *("collective-permute", "collective-broadcast"),
)


@dataclasses.dataclass(frozen=True, slots=True)
class Traffic:
  """All collectives of one kind and type of number in a step of one chip."""

  kind: str
  dtype: str
  count: int
  bytes: float  # that the chip sends, with the best algorithm for a ring

  def seconds(self, chip: Chip) -> float:
    """Time at the published speed of all the chip's links together."""
    return self.bytes / chip.link_bandwidth


@dataclasses.dataclass(frozen=True, slots=True)
class _Collective:
  kind: str
  operands: tuple[Array, ...]
  group: int  # chips that take part
  chain: str | None  # the same for all parts of one that is spread over fusions

  @property
  def largest(self) -> int:
    """Bytes of the largest array that it reads or gives."""
    gathered = self.group if self.kind == "all-gather" else 1
    return max((a.bytes * gathered for a in self.operands), default=0)

  @property
  def sent(self) -> dict[str, float]:
    """Bytes that a chip sends, by type of number."""
    others = (self.group - 1) / self.group
    share = {
      "all-gather": self.group - 1,
      "all-reduce": 2 * others,
      "collective-permute": 1,
      "collective-broadcast": 1,
    }.get(self.kind, others)
    sent: dict[str, float] = defaultdict(float)
    for array in self.operands:
      sent[array.dtype] += array.bytes * share
    return sent


def is_collective(instruction: Instruction) -> bool:
  """Whether an instruction is one, or a part of an asynchronous one."""
  return re.sub("-(start|done)$", "", instruction.opcode) in KINDS


def only_moves(program: Program, instruction: Instruction) -> bool:
  """Whether a fusion is nothing but a collective, or the start or the end of one."""
  if instruction.opcode != "fusion" or "kind=kCustom" not in instruction.attributes:
    return False
  inside = program.computations[instruction.called or ""].instructions.values()
  return any(is_collective(i) for i in inside)


def traffic(program: Program, found: Execution) -> list[Traffic]:
  """Sums bytes and counts over a step, most bytes first."""
  counts: dict[tuple[str, str], int] = defaultdict(int)
  sent: dict[tuple[str, str], float] = defaultdict(float)
  seen = set()
  for executed in found.instructions:
    where = executed.computation
    for collective in _inside(program, where, executed.instruction):
      if collective.chain is not None:
        part = (where.name, collective.kind, collective.chain)
        if part in seen:
          continue
        seen.add(part)
      for dtype, number in collective.sent.items():
        counts[collective.kind, dtype] += executed.times
        sent[collective.kind, dtype] += number * executed.times
  rows = [Traffic(kind, dtype, counts[kind, dtype], n) for (kind, dtype), n in sent.items()]
  return sorted(rows, key=lambda row: -row.bytes)


def largest_collective(program: Program) -> int:
  """Bytes of the largest whole array that any collective moves."""
  found = (
    collective.largest
    for executed in execution(program).instructions
    for collective in _inside(program, executed.computation, executed.instruction)
  )
  return max(found, default=0)


def _inside(
  program: Program, computation: Computation, instruction: Instruction
) -> Iterator[_Collective]:
  """The collective that an instruction is, or those that it starts or that are fused into it."""
  if instruction.opcode.endswith("-done"):
    return
  if is_collective(instruction):
    yield _collective(program, computation, instruction)
  elif instruction.opcode in ("fusion", "async-start", "call") and instruction.called:
    inner = program.computations[instruction.called]
    for part in inner.instructions.values():
      yield from _inside(program, inner, part)


def _collective(
  program: Program, computation: Computation, instruction: Instruction
) -> _Collective:
  kind = instruction.opcode.removesuffix("-start")
  root = computation.instructions[computation.root]
  # How a TPU's compiler writes a reduce-scatter whose shares need padding.
  if kind == "all-reduce" and root.opcode == "dynamic-slice":
    sliced = computation.operand(root, 0)
    kind = "reduce-scatter" if sliced is instruction else kind
  operands = (computation.instructions.get(name) for name in instruction.operands)
  chain = re.search(r'chain_id="(\d+)"', instruction.attributes)
  return _Collective(
    kind=kind,
    operands=tuple(a for operand in operands if operand is not None for a in operand.arrays),
    group=_group(program, instruction.attributes),
    chain=chain.group(1) if chain else None,
  )


def _group(program: Program, attributes: str) -> int:
  """How many chips exchange, from any of the forms that groups are written in."""
  if mesh := re.search(r"replica_groups=mesh\[([^\]]*)\][^{]*\{([^}]*)\}", attributes):
    sizes = dict(re.findall(r"'([^']+)'=(\d+)", mesh.group(1)))
    count = 1
    for axis, part in re.findall(r"'([^']+)'(?::\(\d+\)(\d+))?", mesh.group(2)):
      count *= int(part or sizes[axis])
    return count
  if tiled := re.search(r"replica_groups=\[\d+,(\d+)\]", attributes):
    return int(tiled.group(1))
  if listed := re.search(r"replica_groups=\{\{([\d,]+)\}", attributes):
    return len(listed.group(1).split(","))
  return program.devices
