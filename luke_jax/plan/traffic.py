"""Bytes that a step sends to other chips, by kind of collective, and moves through HBM."""

import dataclasses
import re
from collections import defaultdict
from collections.abc import Iterator

from luke_jax.plan.chips import Chip
from luke_jax.plan.hlo import Array, Computation, Executed, Execution, HloModule, Instruction

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
