"""Cycles of one operation, from its final bundles: the instruction words that a TPU core issues.

libtpu writes them while it compiles if it is loaded with `options`: one text file for each
operation, including Pallas kernels. A bundle takes one cycle. An operation takes its bundles times
the trips of the loops around them; or longer, where its matrix units need more cycles to take in
their rows, or where it waits for memory that double buffering cannot hide.
"""

import dataclasses
import re
from collections.abc import Mapping

from luke_jax.files import Path
from luke_jax.plan.chips import CHIPS

_PASSES = "(^|[^_])final_bundles|dedup"
_GRANULE = 32  # bytes

# Latencies in cycles, and the slowdown of matrix products by stalls, fitted to the simulator of
# final bundles in libtpu. It supports only v5e and only some operations: on six fusions with matrix
# products the cycles computed here are 0.97 to 1.01 times those of the simulator.
READ_LATENCY, WRITE_LATENCY = 650, 300
FIRST_READ, LAST_WRITE = 1150, 450
STALLS = 1.02

_ADDRESS = re.compile(r"\s*(?:0x[0-9a-f]+|0)\s+(?:[A-Z]{2})?:?\s*:?\s*>*\s*\{")
_START = re.compile(r"Start region (\d+)")
_BRANCH = re.compile(r"sbr\.rel[^;}]*target = \$region(\d+)")
_EXIT = re.compile(r"scmp\.[\w.]+ %\w+, (\d+) /\* loop exit test")
_PRODUCT = re.compile(r"vmatmul\.([a-z0-9.]+)")
_COPY = re.compile(r"= dma\.(hbm_to_vmem|vmem_to_hbm|general)\b[^;]*?size_in_granules=\*/(\d+)")


def options(directory: Path) -> str:
  """Returns the LIBTPU_INIT_ARGS with which libtpu writes final bundles into a directory."""
  return (
    f"--xla_jf_dump_to={directory} --xla_jf_dump_llo_text=true"
    f" --xla_jf_dump_llo_pass_label_regex={_PASSES}"
  )


@dataclasses.dataclass(frozen=True, slots=True)
class Units:
  """Units of the cores of a chip, and how fast they run."""

  chip: str
  clock: float  # cycles per second, at which the matrix units reach the published peak
  cores: int
  matrix_units: int  # per core
  rows_per_cycle: int  # taken in by one matrix unit

  @property
  def flops_per_cycle(self) -> float:
    """Returns the bfloat16 operations of all cores in a cycle."""
    return CHIPS[self.chip].peak_flops / self.clock

  @property
  def hbm_bytes_per_cycle(self) -> float:
    """Returns the bytes moved per cycle at full memory bandwidth."""
    return CHIPS[self.chip].hbm_bandwidth / self.clock


UNITS = {
  "v5e": Units("v5e", clock=1.5e9, cores=1, matrix_units=4, rows_per_cycle=1),
  "v6e": Units("v6e", clock=1.75e9, cores=1, matrix_units=2, rows_per_cycle=2),
  "v5p": Units("v5p", clock=1.75e9, cores=2, matrix_units=4, rows_per_cycle=1),
  "v4": Units("v4", clock=1.05e9, cores=2, matrix_units=4, rows_per_cycle=1),
}


@dataclasses.dataclass(frozen=True, slots=True)
class Pipeline:
  """Loop over windows that copies the next window in while it computes on this one."""

  starts: int  # times that the loop is entered
  trips: int  # per start
  bundles: float  # per trip
  reads: tuple[int, ...]  # bytes of each copy from HBM in one trip
  writes: tuple[int, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Bundles:
  """Counts from the final bundles of one operation."""

  count: int  # bundles, each times its trips
  rows: int  # taken in by all matrix units together
  pipelines: tuple[Pipeline, ...]
  reads: bool  # whether it reads from HBM
  writes: bool  # whether it writes to HBM
  unknown_loops: int  # loops of unknown length, counted as one trip


def cycles(bundles: Bundles, units: Units) -> float:
  """Returns the cycles of an operation: issue or matrix units, and the memory it waits for."""
  rows = bundles.rows / units.matrix_units / units.rows_per_cycle
  busy = max(bundles.count, rows) * (STALLS if rows else 1.0)
  per_bundle = busy / max(bundles.count, 1)
  waiting, bandwidth = 0.0, units.hbm_bytes_per_cycle
  copying = [p for p in bundles.pipelines if p.reads or p.writes]
  for pipeline in copying:
    reads, writes = pipeline.reads, pipeline.writes
    copy = max(
      [READ_LATENCY + size / bandwidth for size in reads]
      + [WRITE_LATENCY + size / bandwidth for size in writes]
    )
    steady = max(0.0, copy - per_bundle * pipeline.bundles) * pipeline.trips
    first = FIRST_READ + sum(reads) / bandwidth if reads else 0.0
    last = LAST_WRITE + max(writes) / bandwidth if writes else 0.0
    waiting += (steady + first + last) * pipeline.starts
  if not copying:
    waiting = FIRST_READ * bundles.reads + LAST_WRITE * bundles.writes
  return busy + waiting


def read_directory(directory: Path, windows: Mapping[str, int], cores: int) -> dict[str, Bundles]:
  """Returns the bundles of every operation that libtpu wrote, by the operation's name.

  `windows` has the number of windows of those operations for which the program's text states it.
  """
  duplicates = _equivalents(directory)
  operations = {}
  for path in directory.glob("*-final_bundles.txt"):
    label = re.fullmatch(r"\d+-(.+)-\d+-final_bundles\.txt", path.name)
    if label is None or "<late" in label.group(1) or label.group(1) == "TLP":
      continue
    name = label.group(1)
    names = [name, *duplicates.get(name, [])]
    count = next((windows[n] for n in names if n in windows), None)
    per_core = None if count is None else -(-count // cores)
    bundles = read(path.read_text(encoding="utf-8", errors="replace"), per_core)
    operations |= dict.fromkeys(names, bundles)
  return operations


def _equivalents(directory: Path) -> dict[str, list[str]]:
  """Returns the operations that share one compilation: the first one's name -> the others'."""
  same: dict[str, list[str]] = {}
  for path in directory.glob("*deduplication-map.txt"):
    key = ""
    for line in path.read_text(encoding="utf-8").splitlines():
      if line.startswith("key:"):
        key = line[4:].strip()
      elif line.startswith("  ") and key:
        same.setdefault(key, []).append(line.strip())
  return same


def read(text: str, windows: int | None = None) -> Bundles:
  """Returns the counts of one operation's text; `windows` are those that one core works on."""
  lines = _bundles(text)
  loops, unknown = _loops(lines, windows)
  times = [1] * len(lines)
  for loop in loops:
    for index in range(loop.start, loop.end):
      times[index] *= loop.trips
  rows = sum(
    (8 if product.startswith("lmr") or "f32" in product else 16) * times[index]
    for index, line in enumerate(lines)
    for product in _PRODUCT.findall(line)
  )
  reads, writes = _copies(lines)
  return Bundles(
    count=sum(times),
    rows=rows,
    pipelines=tuple(_pipeline(lines, loop, times) for loop in loops if loop.pipelined),
    reads=bool(reads),
    writes=bool(writes),
    unknown_loops=unknown,
  )


def _bundles(text: str) -> list[str]:
  """Returns one string for each bundle, joining lines that comments break."""
  bundles: list[str] = []
  for line in text.splitlines():
    if _ADDRESS.match(line):
      bundles.append(line)
    elif bundles:
      bundles[-1] += line
  return bundles


@dataclasses.dataclass(frozen=True, slots=True)
class _Loop:
  start: int
  end: int
  trips: int
  pipelined: bool


def _loops(lines: list[str], windows: int | None) -> tuple[list[_Loop], int]:
  starts: dict[str, int] = {}
  for index, line in enumerate(lines):
    for region in _START.findall(line):
      starts.setdefault(region, index)
  loops, unknown = [], 0
  for index, line in enumerate(lines):
    for region in _BRANCH.findall(line):
      start = starts.get(region, index + 1)
      if start <= index:
        limit = _limit(lines[start : index + 1])
        unknown += limit is None
        pipelined = "iteration index, stage" in lines[start]
        trips = _windows(limit, windows) if pipelined and limit else limit or 1
        loops.append(_Loop(start, index + 1, trips, pipelined))
  return loops, unknown


def _limit(body: list[str]) -> int | None:
  for line in reversed(body):
    if match := _EXIT.search(line):
      return int(match.group(1))
    if "loop exit test" in line:
      return None
  return None


def _windows(limit: int, windows: int | None) -> int:
  """Returns the trips of a pipeline that compute; more of them, at both ends, only copy."""
  if windows is not None and windows <= limit:
    return windows
  return max(limit - 2, 1)


def _copies(lines: list[str]) -> tuple[list[int], list[int]]:
  """Returns the bytes of each copy from HBM, and of each copy to HBM."""
  reads, writes = [], []
  for line in lines:
    if "dma." not in line:
      continue
    for statement in line.split(";;"):
      copy = _COPY.search(statement) if "BoundsCheck" not in statement else None
      if copy is None or (copy.group(1) == "general" and "vmem-to-vmem" in statement):
        continue  # between chips
      to_hbm = copy.group(1) == "vmem_to_hbm" or "vmem-to-hbm" in statement
      (writes if to_hbm else reads).append(int(copy.group(2)) * _GRANULE)
  return reads, writes


def _pipeline(lines: list[str], loop: _Loop, times: list[int]) -> Pipeline:
  reads, writes = _copies(lines[loop.start : loop.end])
  outer = times[loop.start]
  return Pipeline(
    starts=outer // loop.trips,
    trips=loop.trips,
    bundles=sum(times[loop.start : loop.end]) / outer,
    reads=tuple(reads),
    writes=tuple(writes),
  )
