"""Bytes that each chip sends to others in one step, by kind of collective."""

import dataclasses
import re
from collections import defaultdict
from collections.abc import Iterator

from luke_jax.plan.chips import Chip
from luke_jax.plan.hlo import Array, Computation, Execution, HloModule, Instruction

KINDS = (
  *("all-gather", "all-reduce", "reduce-scatter", "all-to-all", "ragged-all-to-all"),
  *("collective-permute", "collective-broadcast"),
)


@dataclasses.dataclass(frozen=True, slots=True)
class Traffic:
  """Collectives of one kind and dtype in a step of one chip."""

  kind: str
  dtype: str
  count: int
  bytes: float  # sent by the chip, with the best algorithm for a ring
  hidden: float = 0.0  # of these bytes: sent inside operations that compute

  def seconds(self, chip: Chip) -> float:
    """Returns the seconds at the published speed of all the chip's links together."""
    return self.bytes / chip.link_bandwidth


@dataclasses.dataclass(frozen=True, slots=True)
class _Collective:
  kind: str
  operands: tuple[Array, ...]
  group: int  # chips that take part
  chain: str | None  # id shared by the parts of a collective that is spread over fusions

  @property
  def sent(self) -> dict[str, float]:
    """Returns the bytes that a chip sends, by dtype."""
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
  """Returns whether an instruction is a collective or part of an asynchronous one."""
  return re.sub("-(start|done)$", "", instruction.opcode) in KINDS


def only_moves(program: HloModule, instruction: Instruction) -> bool:
  """Returns whether a fusion does nothing but a collective, or start or end one."""
  if instruction.opcode != "fusion" or "kind=kCustom" not in instruction.attributes:
    return False
  fused = program.computations[instruction.called or ""].instructions.values()
  return any(is_collective(i) for i in fused)


def traffic(program: HloModule, executed: Execution) -> list[Traffic]:
  """Returns counts and bytes of the collectives of a step, most bytes first."""
  rows: dict[tuple[str, str], Traffic] = {}
  for times, collective, hidden in _once(program, executed):
    for dtype, number in collective.sent.items():
      key = collective.kind, dtype
      before, sent = rows.get(key, Traffic(*key, 0, 0.0)), number * times
      rows[key] = Traffic(
        *key, before.count + times, before.bytes + sent, before.hidden + sent * hidden
      )
  return sorted(rows.values(), key=lambda row: -row.bytes)


def _once(program: HloModule, executed: Execution) -> Iterator[tuple[int, "_Collective", bool]]:
  """Yields every collective once: the times it runs, and if other operations carry its parts."""
  chains: dict[tuple, list] = {}
  for run in executed.instructions:
    for collective in _inside(program, run.computation, run.instruction):
      if collective.chain is None:
        yield run.times, collective, False
        continue
      key = run.computation.name, collective.kind, collective.chain
      chain = chains.setdefault(key, [run.times, collective, False])
      chain[-1] |= not only_moves(program, run.instruction)
  yield from (tuple(chain) for chain in chains.values())


def between_slices(program: HloModule, executed: Execution, slices: int) -> list[Traffic]:
  """Returns the bytes that each chip sends between slices in a step, most first.

  The compiler writes such a collective as a transfer to the host, which names its kind.
  """
  others = (slices - 1) / slices
  shares = {"all-reduce": 2 * others, "all-gather": slices - 1}
  counts: dict[tuple[str, str], int] = defaultdict(int)
  sent: dict[tuple[str, str], float] = defaultdict(float)
  for run in executed.instructions:
    named = re.search(r'_xla_megascale_transfer_type="(\w+)"', run.instruction.attributes)
    operand = run.computation.operand(run.instruction, 0)
    if run.instruction.opcode == "send" and named and operand:
      kind = named.group(1).lower().replace("_", "-")
      for array in operand.arrays:
        counts[kind, array.dtype] += run.times
        sent[kind, array.dtype] += array.bytes * shares.get(kind, others) * run.times
  rows = [Traffic(kind, dtype, counts[kind, dtype], n) for (kind, dtype), n in sent.items()]
  return sorted(rows, key=lambda row: -row.bytes)


def _inside(
  program: HloModule, computation: Computation, instruction: Instruction
) -> Iterator[_Collective]:
  """Yields the collective that an instruction is, or those that it starts or has fused into it."""
  if instruction.opcode.endswith("-done"):
    return
  if is_collective(instruction):
    yield _collective(program, computation, instruction)
  elif instruction.opcode in ("fusion", "async-start", "call") and instruction.called:
    inner = program.computations[instruction.called]
    for part in inner.instructions.values():
      yield from _inside(program, inner, part)


def _collective(
  program: HloModule, computation: Computation, instruction: Instruction
) -> _Collective:
  kind = instruction.opcode.removesuffix("-start")
  if kind == "all-reduce" and _scatters(computation):
    kind = "reduce-scatter"
  operands = (computation.instructions.get(name) for name in instruction.operands)
  chain = re.search(r'chain_id="(\d+)"', instruction.attributes)
  return _Collective(
    kind=kind,
    operands=tuple(a for operand in operands if operand is not None for a in operand.arrays),
    group=_group(program, instruction.attributes),
    chain=chain.group(1) if chain else None,
  )


def _scatters(computation: Computation) -> bool:
  """Returns whether a fusion is a reduce-scatter, of one array or of several.

  The TPU compiler writes that as an all-reduce whose results are sliced.
  """
  root = computation.instructions[computation.root]
  parts = [root]
  if root.opcode == "tuple":
    parts = [computation.instructions[name] for name in root.operands]
  for part in parts:
    source = computation.operand(part, 0) if part.opcode == "dynamic-slice" else None
    if source is not None and source.opcode == "get-tuple-element":
      source = computation.operand(source, 0)
    if source is None or source.opcode != "all-reduce":
      return False
  return True


def _group(program: HloModule, attributes: str) -> int:
  """Returns the number of chips that exchange; groups are written in one of several forms."""
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
