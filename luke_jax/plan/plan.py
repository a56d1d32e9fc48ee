"""Plan of a run: its memory, time and traffic, from the compiled step, and its matrix products."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from luke_jax.models.system import Backbone, TokenCounts
from luke_jax.plan.chips import Topology
from luke_jax.plan.collectives import Traffic, between_slices, traffic
from luke_jax.plan.compiling import Compiled, Memory
from luke_jax.plan.cycles import Cycles, CycleShare, estimated_cycles, final_cycles, shares, work
from luke_jax.plan.hlo import execution
from luke_jax.training.experiment import Experiment
from luke_jax.training.optimizer import is_frozen

NOTE = (
  "Estimates from the compiler's output; no chip was used. Waiting for other chips, for the host"
  " and for data is not counted; the time of collectives is listed apart, as if none overlapped."
)

# Assumed, not measured: what a host writes to a bucket, and the time of the small objects that make
# a checkpoint whole.
BUCKET_BANDWIDTH = 0.5e9  # bytes per second
BUCKET_COMMIT = 3.0  # seconds


@dataclasses.dataclass(frozen=True)
class Estimate:
  """Computation time of one step, by one way of counting cycles."""

  cycles: float
  seconds: float
  utilization: float  # share of the chips' peak FLOPs, counting only those the model needs
  cycles_by_source: dict[str, float]


@dataclasses.dataclass(frozen=True)
class Plan:
  """Needs of a run on slices. Bytes, cycles and collectives are those of one chip."""

  experiment: str
  topology: Topology
  compile_seconds: float
  memory: Memory
  flops: float  # of one step on all chips
  hbm_bytes: int  # moved in one step
  final_bundles: Estimate | None  # the better one
  estimated_cycles: Estimate
  collectives: tuple[Traffic, ...]  # of one step, most bytes first
  network: tuple[Traffic, ...]  # sent to other slices in one step, most bytes first
  unknown_loops: int  # loops of unknown length, also inside operations, counted as one trip
  steps: int
  checkpoint_bytes: int  # of all chips
  operations: tuple[CycleShare, ...]  # most cycles first

  @property
  def checkpoint_seconds(self) -> float:
    """Returns the time of a checkpoint to a bucket, each host of one slice writing its share."""
    share = self.checkpoint_bytes / self.topology.hosts
    return share / BUCKET_BANDWIDTH + BUCKET_COMMIT

  @property
  def step_seconds(self) -> float:
    """Returns the time of a step whose collectives are all hidden behind computation."""
    return (self.final_bundles or self.estimated_cycles).seconds

  @property
  def collective_seconds(self) -> float:
    """Returns the time of a step's collectives one after another, at the links' speed."""
    return sum(row.seconds(self.topology.chip) for row in self.collectives)

  @property
  def alone_seconds(self) -> float:
    """Returns the time of those of a step's collectives that no computing operation carries."""
    alone = sum(row.bytes - row.hidden for row in self.collectives)
    return alone / self.topology.chip.link_bandwidth

  @property
  def network_seconds(self) -> float:
    """Returns the time of what a step sends to other slices, at the network's published speed."""
    sent = sum(row.bytes for row in self.network)
    return sent / self.topology.chip.network_bandwidth if sent else 0.0

  @property
  def hours(self) -> float:
    """Returns the hours of the whole run, with all collectives hidden."""
    return self.steps * self.step_seconds / 3600

  @property
  def hours_without_overlap(self) -> float:
    """Returns the hours of the whole run if no collective is hidden."""
    longest = self.step_seconds + self.collective_seconds + self.network_seconds
    return self.steps * longest / 3600

  def to_json(self) -> dict[str, object]:
    """Returns all figures in bytes, seconds, hours and FLOPs."""
    chip = self.topology.chip
    final = self.final_bundles
    return {
      "experiment": self.experiment,
      "topology": str(self.topology),
      "slices": self.topology.slices,
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
      "collective_seconds_alone": self.alone_seconds,
      "network": [dataclasses.asdict(row) for row in self.network],
      "network_seconds": self.network_seconds,
      "operations": [dataclasses.asdict(row) for row in self.operations],
      "unknown_loops": self.unknown_loops,
      "steps": self.steps,
      "hours": self.hours,
      "hours_without_overlap": self.hours_without_overlap,
      "chip_hours": self.hours * self.topology.devices,
      "checkpoint_bytes": self.checkpoint_bytes,
      "checkpoint_seconds": self.checkpoint_seconds,
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
  """Makes a plan from a step compiled for a topology.

  `flops` are those of one step on all chips; `kernel_flops` those of its Pallas kernels, including
  what they compute again.
  """
  chip = topology.chip
  executed = execution(compiled.program)
  step_work = work(compiled.program, executed, compiled.bundles)
  on_chip = kernel_flops / topology.devices
  final = final_cycles(step_work, chip, kernel_flops=on_chip)
  simple = estimated_cycles(step_work, chip, kernel_flops=on_chip)
  return Plan(
    experiment=experiment,
    topology=topology,
    compile_seconds=compiled.seconds,
    memory=compiled.memory,
    flops=flops,
    hbm_bytes=step_work.hbm_bytes,
    final_bundles=_estimate(final, topology, flops) if final is not None else None,
    estimated_cycles=_estimate(simple, topology, flops),
    collectives=tuple(traffic(compiled.program, executed)),
    network=tuple(between_slices(compiled.program, executed, topology.slices)),
    unknown_loops=len(executed.unknown_loops) + step_work.unknown_loops,
    steps=steps,
    checkpoint_bytes=compiled.checkpoint_bytes,
    operations=tuple(shares(step_work, chip)),
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


# The backward pass has two products for each one of the forward pass, one of them for the gradient
# of the weights.
TRAINING = 3


def token_counts(rows: Mapping[str, Any], batch_size: int) -> TokenCounts:
  """Returns the tokens of a batch, from the shapes of a task's row by their names.

  Rows that name masked positions are scored against the vocabularies. The heads of other tasks
  are too small to count.
  """

  def length(name: str) -> int:
    return rows[name].shape[-1] if name in rows else 0

  return TokenCounts(
    sequences=batch_size,
    words=length("input_ids"),
    entities=length("entity_ids"),
    masked_words=batch_size * length("masked_positions"),
    masked_entities=batch_size * length("masked_entity_positions"),
  )


def flops_of(experiment: Experiment) -> float:
  """Returns the multiplications and additions of a step's products."""
  backbone, options = experiment.backbone, experiment.optimizer
  counts = token_counts(experiment.engine.row_shapes(backbone), experiment.data.batch_size)
  encoder = f"{backbone.config.name}/encoder"

  def frozen(path: str) -> bool:
    return is_frozen(path, options.frozen) or (options.adapter > 0 and path == encoder)

  return step_flops(backbone, counts, frozen)


def step_flops(
  backbone: Backbone, counts: TokenCounts, frozen: Callable[[str], bool] = lambda path: False
) -> float:
  """Returns the multiplications and additions of a step's matrix products, forward and backward.

  Weights at paths that are `frozen` need no gradient. What rematerialisation computes again does
  not count: it is no progress.
  """
  products = backbone.config.products(counts)
  return sum(
    flops * (TRAINING - 1 if path and frozen(path) else TRAINING)
    for path, flops in products.items()
  )


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
