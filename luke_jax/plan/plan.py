"""Everything that a compiled step tells about a run before it starts."""

import dataclasses
from typing import Any

from luke_jax.plan.chips import Topology
from luke_jax.plan.collectives import Traffic, traffic
from luke_jax.plan.compiling import Compiled
from luke_jax.plan.cycles import Cycles, estimated_cycles, final_cycles, work
from luke_jax.plan.loops import execution
from luke_jax.plan.memory import Memory

NOTE = (
  "Estimates from the compiler's output; no chip was used. Waiting for other chips, for the host"
  " and for data is not counted; the time of collectives is apart, as if none overlapped."
)


@dataclasses.dataclass(frozen=True)
class Estimate:
  """Time of the computation of one step, by one way of counting cycles."""

  cycles: float
  seconds: float
  utilization: float  # of the chips' peak, counting only what the model needs
  cycles_by_source: dict[str, float]


@dataclasses.dataclass(frozen=True)
class Plan:
  """What a run on a slice will need. Bytes, cycles and collectives are those of one chip."""

  experiment: str
  topology: Topology
  compile_seconds: float
  memory: Memory
  flops: float  # of one step on all chips
  hbm_bytes: int  # moved in one step
  final_bundles: Estimate | None  # the better one
  estimated_cycles: Estimate
  collectives: tuple[Traffic, ...]  # of one step, most bytes first
  unknown_loops: int  # loops, and loops inside operations, that count as if they ran once
  steps: int

  @property
  def step_seconds(self) -> float:
    """Estimated time of a step whose collectives all hide behind its computation."""
    return (self.final_bundles or self.estimated_cycles).seconds

  @property
  def collective_seconds(self) -> float:
    """Time of a step's collectives one after another at the links' published speed."""
    return sum(row.seconds(self.topology.chip) for row in self.collectives)

  @property
  def hours(self) -> float:
    """Of the whole run, collectives hidden."""
    return self.steps * self.step_seconds / 3600

  @property
  def hours_without_overlap(self) -> float:
    """Of the whole run, if no collective is hidden."""
    return self.steps * (self.step_seconds + self.collective_seconds) / 3600

  def to_json(self) -> dict[str, Any]:
    """All figures in bytes, seconds, hours and FLOPs."""
    chip = self.topology.chip
    final = self.final_bundles
    return {
      "experiment": self.experiment,
      "topology": str(self.topology),
      "devices": self.topology.devices,
      "compile_seconds": self.compile_seconds,
      "bytes_per_device": dataclasses.asdict(self.memory)
      | {"total": self.memory.total, "available": chip.hbm_bytes},
      "flops_per_step": self.flops,
      "hbm_bytes_per_step": self.hbm_bytes,
      "estimates": {
        "final_bundles": final and dataclasses.asdict(final),
        "estimated_cycles": dataclasses.asdict(self.estimated_cycles),
      },
      "collectives": [
        dataclasses.asdict(row) | {"seconds": row.seconds(chip)} for row in self.collectives
      ],
      "collective_seconds": self.collective_seconds,
      "unknown_loops": self.unknown_loops,
      "steps": self.steps,
      "hours": self.hours,
      "hours_without_overlap": self.hours_without_overlap,
      "chip_hours": self.hours * self.topology.devices,
      "note": NOTE,
    }


def make_plan(
  compiled: Compiled,
  topology: Topology,
  *,
  experiment: str,
  steps: int,
  flops: float,
  kernel_flops: float = 0.0,
) -> Plan:
  """Reads a step compiled for a topology.

  `flops` are those of one step on all chips; `kernel_flops` those of its Pallas kernels, with what
  they compute again.
  """
  chip = topology.chip
  executed = execution(compiled.program)
  found = work(compiled.program, executed, compiled.bundles)
  on_chip = kernel_flops / topology.devices
  final = final_cycles(found, chip, kernel_flops=on_chip)
  simple = estimated_cycles(found, chip, kernel_flops=on_chip)
  return Plan(
    experiment=experiment,
    topology=topology,
    compile_seconds=compiled.seconds,
    memory=compiled.memory,
    flops=flops,
    hbm_bytes=found.hbm_bytes,
    final_bundles=_estimate(final, topology, flops) if final is not None else None,
    estimated_cycles=_estimate(simple, topology, flops),
    collectives=tuple(traffic(compiled.program, executed)),
    unknown_loops=len(executed.unknown_loops) + found.unknown_loops,
    steps=steps,
  )


def _estimate(cycles: Cycles, topology: Topology, flops: float) -> Estimate:
  chip = topology.chip
  seconds = cycles.total / chip.clock
  busy = flops / topology.devices / chip.peak_flops
  return Estimate(
    cycles=cycles.total,
    seconds=seconds,
    utilization=busy / seconds if seconds else 0.0,
    cycles_by_source={str(source): number for source, number in cycles.sources.items()},
  )
