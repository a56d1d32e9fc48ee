"""Computation time of one step on a chip, by two estimates of the compiler.

`estimated_cycles`, an attribute of each fusion, is what the compiler chose window sizes by: right
within a tenth for matrix products, several times too high for element-wise work, absent for
kernels. Final bundles (benchmarks.bundles) come closer. Neither counts waiting for other chips
or for the host, and both assume that operations do not overlap, as is the case on the chip.
"""

import dataclasses
import json
import math
import os
import re
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from typing import Annotated, Literal

from rich.table import Table
from tyro.conf import Positional, UseAppendAction, arg

from benchmarks.bundles import UNITS, Bundles, Units, options, read_directory
from benchmarks.bundles import cycles as bundle_cycles
from luke_jax.cli.plan import PlannedStep
from luke_jax.cli.process import stderr_console
from luke_jax.errors import InputError
from luke_jax.files import Path, check_place, write_json
from luke_jax.models.system import Backbone, TokenCounts
from luke_jax.plan.chips import parse_topology
from luke_jax.plan.compiling import OutOfMemory
from luke_jax.plan.hlo import Executed, HloModule, execution
from luke_jax.plan.plan import Plan, token_counts
from luke_jax.plan.traffic import moved
from luke_jax.terminal import Console

Source = Literal["estimate", "bundles", "kernel", "memory"]


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
  """Operations of a step that take time."""

  operations: tuple[CoreOperation, ...]

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


def work(program: HloModule, bundles: Mapping[str, Bundles]) -> StepWork:
  """Collects the operations of a step that take time and are neither loops nor collectives."""
  step = moved(program, execution(program))
  operations = (_operation(executed, size, bundles) for executed, size in step.operations)
  return StepWork(tuple(operations))


def _operation(executed: Executed, size: int, bundles: Mapping[str, Bundles]) -> CoreOperation:
  instruction = executed.instruction
  estimate = re.search(r'"estimated_cycles":"(\d+)"', instruction.attributes)
  return CoreOperation(
    name=instruction.name,
    times=executed.times,
    estimate=int(estimate.group(1)) if estimate else None,
    bundles=bundles.get(instruction.name),
    hbm_bytes=size,
    kernel='custom_call_target="tpu_custom_call"' in instruction.attributes,
    source="".join(re.findall(r'op_name="([^"]*)"', instruction.attributes)),
  )


def estimated_cycles(step_work: StepWork, units: Units, *, kernel_flops: float = 0.0) -> Cycles:
  """Sums the compiler's estimates; other operations count by their HBM traffic.

  Pallas kernels, which have no estimates, count by `kernel_flops` per step, or by HBM traffic if
  that takes longer.
  """
  sources: dict[Source, float] = defaultdict(float)
  kernel_memory = 0.0
  for operation in step_work.operations:
    memory = operation.hbm_bytes / units.hbm_bytes_per_cycle * operation.times
    if operation.estimate is not None:
      sources["estimate"] += operation.estimate * operation.times
    elif operation.kernel:
      kernel_memory += memory
    else:
      sources["memory"] += memory
  if any(o.kernel and o.estimate is None for o in step_work.operations):
    sources["kernel"] = max(kernel_memory, kernel_flops / units.flops_per_cycle)
  return Cycles(sum(sources.values()), dict(sources))


def final_cycles(step_work: StepWork, units: Units, *, kernel_flops: float = 0.0) -> Cycles | None:
  """Sums cycles by final bundles; each operation takes at least the time of its HBM traffic.

  Operations without bundles count by the compiler's estimate. None if no operation has bundles.
  """
  if all(operation.bundles is None for operation in step_work.operations):
    return None
  sources: dict[Source, float] = defaultdict(float)
  rest = [o for o in step_work.operations if o.bundles is None]
  sources["bundles"] = sum(share.cycles for share in shares(step_work, units))
  without = estimated_cycles(StepWork(tuple(rest)), units, kernel_flops=kernel_flops)
  for source, cycles in without.sources.items():
    sources[source] += cycles
  return Cycles(sum(sources.values()), dict(sources))


def shares(step_work: StepWork, units: Units) -> list[CycleShare]:
  """Returns the cycles of all operations that have bundles, most first."""
  found = []
  for operation in step_work.operations:
    if operation.bundles is not None:
      memory = operation.hbm_bytes / units.hbm_bytes_per_cycle
      cycles = max(bundle_cycles(operation.bundles, units), memory) * operation.times
      rows = operation.bundles.rows * operation.times
      products = rows / units.matrix_units / units.rows_per_cycle
      found.append(CycleShare(operation.name, operation.source, operation.times, cycles, products))
  return sorted(found, key=lambda share: -share.cycles)


def kernel_flops(backbone: Backbone, counts: TokenCounts) -> float:
  """Returns the operations of attention kernels in a step: two products forward, five backward.

  The backward kernel computes the scores again; under full rematerialisation the forward kernel
  runs twice.
  """
  running, config = backbone.running, backbone.config
  if running.attention != "pallas":
    return 0.0
  tokens = counts.words + counts.entities
  products = 9 if running.remat == "full" else 7
  layers = config.num_hidden_layers * counts.sequences
  return 2.0 * products * layers * tokens * tokens * config.hidden_size


@dataclasses.dataclass(frozen=True)
class StepCycles:
  """Cycles of a compiled step on one chip, counted in both ways."""

  plan: Plan
  clock: float  # cycles per second
  final_bundles: Cycles | None  # the better one
  estimated_cycles: Cycles
  operations: tuple[CycleShare, ...]  # most cycles first
  unknown_loops: int  # also inside operations, counted as one trip

  @property
  def seconds(self) -> float:
    """Returns the time of a step whose collectives are all hidden behind computation."""
    return self.seconds_of(self.final_bundles or self.estimated_cycles)

  def seconds_of(self, cycles: Cycles) -> float:
    """Returns the time of some cycles."""
    return cycles.total / self.clock

  def utilization(self, seconds: float) -> float:
    """Returns the share of the chip's peak FLOPs, counting only those the model needs."""
    return self.plan.product_seconds / seconds if seconds else 0.0

  def to_json(self) -> dict[str, object]:
    """Returns the plan with cycles, seconds and utilization by each estimate."""
    estimates = {
      name: cycles and dataclasses.asdict(cycles) | self._speed(self.seconds_of(cycles))
      for name, cycles in (
        ("final_bundles", self.final_bundles),
        ("estimated_cycles", self.estimated_cycles),
      )
    }
    operations = [dataclasses.asdict(row) for row in self.operations]
    own = {"estimates": estimates, "operations": operations, "unknown_loops": self.unknown_loops}
    return self.plan.to_json() | own

  def _speed(self, seconds: float) -> dict[str, float]:
    return {"seconds": seconds, "utilization": self.utilization(seconds)}


def step_cycles(
  plan: Plan, program: HloModule, bundles: Mapping[str, Bundles], kernel_flops: float = 0.0
) -> StepCycles:
  """Counts the cycles of a planned step; `kernel_flops` are those of all chips."""
  units, step_work = UNITS[plan.topology.chip.name], work(program, bundles)
  on_chip = kernel_flops / plan.topology.devices
  return StepCycles(
    plan,
    units.clock,
    final_bundles=final_cycles(step_work, units, kernel_flops=on_chip),
    estimated_cycles=estimated_cycles(step_work, units, kernel_flops=on_chip),
    operations=tuple(shares(step_work, units)),
    unknown_loops=plan.unknown_loops + step_work.unknown_loops,
  )


def counted(step: PlannedStep) -> StepCycles | OutOfMemory:
  """Compiles a step while libtpu writes its final bundles, and counts its cycles."""
  with tempfile.TemporaryDirectory(prefix="luke-jax-bundles-") as folder:
    before = os.environ.get("LIBTPU_INIT_ARGS", "")
    os.environ["LIBTPU_INIT_ARGS"] = f"{before} {options(Path(folder))}".strip()
    try:
      compiled = step.compiled()
    finally:
      os.environ["LIBTPU_INIT_ARGS"] = before
    if isinstance(compiled, OutOfMemory):
      return compiled
    cores = UNITS[step.topology.chip.name].cores
    bundles = read_directory(Path(folder), window_counts(compiled.program), cores)
  experiment = step.experiment
  backbone, batch = experiment.backbone, experiment.data.batch_size
  counts = token_counts(experiment.engine.row_shapes(backbone), batch)
  kernels = kernel_flops(backbone, counts)
  return step_cycles(step.plan(compiled), compiled.program, bundles, kernels)


def main(
  experiment: Annotated[Path, Positional, arg(metavar="EXPERIMENT")],
  /,
  *,
  topology: str,
  slices: int = 1,
  set: UseAppendAction[tuple[str, ...]] = (),
  output: Path | None = None,
) -> None:
  """Counts the cycles of an experiment's step on TPUs that are not there.

  `luke-jax plan` says how fast a chip could be by its peak; this counts what the compiler's
  instructions take. It has never been compared with a chip. Needs the extra `tpu`.

      python -m benchmarks cycles experiments/pretraining.py:luke-large --topology v5e:4x4

  Args:
    experiment: Experiment file, FILE.py, or a row of one, FILE.py:ROW.
    topology: Kind of chip and shape of the slice, such as v5e:16x16, v6e:4x4 or v5p:2x2x2.
    slices: Number of such slices, joined by the data-centre network.
    set: A field by its dotted name and its value, as often as needed.
    output: File for the plan with every estimate and the cycles of each operation, as JSON.
  """
  if output:
    check_place(output)
  step = PlannedStep(experiment, set, parse_topology(topology, slices))
  with stderr_console().status(f"compiling for {step.topology}"):
    result = counted(step)
  if isinstance(result, OutOfMemory):
    raise InputError(step.advice(result))
  Console().print(_table(result))
  if output:
    write_json(output, result.to_json())
  seconds = result.seconds
  print(json.dumps({"step_seconds": seconds, "utilization": result.utilization(seconds)}))


def _table(result: StepCycles) -> Table:
  plan = result.plan
  title = f"{plan.experiment} on {plan.topology}"
  table = Table("computation of one step", "Mcycles", "ms", "utilization", title=title)
  for name, cycles in (
    ("final bundles", result.final_bundles),
    ("estimated_cycles", result.estimated_cycles),
  ):
    if cycles is not None:
      suffix = " (kernels by FLOPs)" if "kernel" in cycles.sources else ""
      seconds = result.seconds_of(cycles)
      share = f"{result.utilization(seconds):.0%}"
      table.add_row(f"{name}{suffix}", f"{cycles.total / 1e6:.1f}", f"{seconds * 1e3:.1f}", share)
  for name, seconds in (("products", plan.product_seconds), ("memory", plan.memory_seconds)):
    mega = f"{seconds * result.clock / 1e6:.1f}"
    table.add_row(f"at least, for {name}", mega, f"{seconds * 1e3:.1f}", "", style="dim")
  table.caption = (
    f"{result.unknown_loops} loops, mostly inside gathers and scatters, are of unknown length and"
    " counted as one trip."
  )
  return table
