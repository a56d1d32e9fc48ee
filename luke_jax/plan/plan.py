"""Plan of a run: its memory, time and traffic, from the compiled step, and its matrix products.

And the report that tells a plan to a person."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from luke_jax.models.system import Backbone, TokenCounts
from luke_jax.plan.chips import GIB, Topology
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


def report(plan: Plan) -> RenderableType:
  """Returns tables of memory, time and collectives, the whole run, and a note on the estimates."""
  title = f"{plan.experiment} on {plan.topology}: {plan.topology.devices} chips"
  return Group(
    Text(f"{title}, compiled in {plan.compile_seconds:.0f} s", style="bold"),
    _memory(plan),
    _time(plan),
    _collectives(plan),
    *([_network(plan)] if plan.network else []),
    Text(f"\n{_first_limit(plan)}\n{_run(plan)}\n{_checkpoint(plan)}\n"),
    Text(NOTE + _unknown(plan), style="dim"),
  )


def _table(title: str, *columns: str) -> Table:
  table = Table(title=f"\n{title}", title_justify="left", title_style="", box=None)
  table.add_column(columns[0], min_width=38)
  for column in columns[1:]:
    table.add_column(column, justify="right", min_width=8)
  return table


def _memory(plan: Plan) -> Table:
  memory, available = plan.memory, plan.topology.chip.hbm_bytes
  table = _table("Memory of each chip", "", "GiB")
  for name, number in (
    ("arguments: parameters, optimizer, batch", memory.arguments),
    ("temporaries", memory.temporaries),
    ("results that are not in place", memory.outputs - memory.aliased),
    ("code", memory.code),
  ):
    table.add_row(name, _gib(number))
  share = memory.total / available
  table.add_row("total", _gib(memory.total), f"{share:.0%} of {_gib(available)}", style="bold")
  return table


def _time(plan: Plan) -> Table:
  chip = plan.topology.chip
  table = _table("Computation of one step", "", "Mcycles", "ms", "utilization")
  estimates = {"final bundles": plan.final_bundles, "estimated_cycles": plan.estimated_cycles}
  for name, estimate in estimates.items():
    if estimate is not None:
      suffix = " (kernels by FLOPs)" if "kernel" in estimate.cycles_by_source else ""
      cycles, ms = f"{estimate.cycles / 1e6:.1f}", f"{estimate.seconds * 1e3:.1f}"
      table.add_row(f"estimate: {name}{suffix}", cycles, ms, f"{estimate.utilization:.0%}")
  products = plan.flops / plan.topology.devices
  _bound(table, f"bound: {products / 1e12:.3f} TFLOP at peak", products / chip.peak_flops, plan)
  moved = f"bound: {_gib(plan.hbm_bytes)} GiB through HBM"
  _bound(table, moved, plan.hbm_bytes / chip.hbm_bandwidth, plan)
  return table


def _bound(table: Table, name: str, seconds: float, plan: Plan) -> None:
  table.add_row(
    name, f"{seconds * plan.topology.chip.clock / 1e6:.1f}", f"{seconds * 1e3:.1f}", "", style="dim"
  )


def _collectives(plan: Plan) -> Table:
  speed = plan.topology.chip.link_bandwidth
  title = f"Sent by each chip in one step, at {speed / 1e9:.0f} GB/s (all links)"
  table = _sent(title, plan.collectives, speed)
  alone = plan.alone_seconds
  ms = f"{alone * 1e3:.2f}"
  table.add_row("of these while nothing computes", "", f"{alone * speed / GIB:.3f}", ms)
  return table


def _network(plan: Plan) -> Table:
  speed = plan.topology.chip.network_bandwidth
  title = f"Sent by each chip to other slices in one step, at {speed / 1e9:.3g} GB/s"
  return _sent(title, plan.network, speed)


def _sent(title: str, rows: Sequence[Traffic], speed: float) -> Table:
  table = _table(title, "", "count", "GiB", "ms")
  all_bytes = sum(row.bytes for row in rows)
  for name, count, sent in _large(rows, all_bytes / 100):
    table.add_row(name, f"{count:,}", f"{sent / GIB:.3f}", f"{sent / speed * 1e3:.2f}")
  total = f"{all_bytes / speed * 1e3:.2f}"
  table.add_row("total", "", f"{all_bytes / GIB:.3f}", total, style="bold")
  return table


def _large(rows: Sequence[Traffic], least: float) -> list[tuple[str, int, float]]:
  """Returns names, counts and bytes of the large rows, and of the small ones together."""
  large = [(f"{row.kind} {row.dtype}", row.count, row.bytes) for row in rows if row.bytes >= least]
  small = [row for row in rows if row.bytes < least]
  if small:
    large.append(("all others", sum(x.count for x in small), sum(x.bytes for x in small)))
  return large


def _first_limit(plan: Plan) -> str:
  if plan.network_seconds > max(plan.step_seconds, plan.collective_seconds):
    return (
      f"Limited by the network between slices: {plan.network_seconds * 1e3:.1f} ms, beside"
      f" {plan.step_seconds * 1e3:.1f} ms of computation. More sequences a chip, or"
      " run.accumulation, make it rarer."
    )
  if not plan.collectives:
    return "Limited by computation: the chips exchange nothing."
  first, links = plan.collectives[0], plan.collective_seconds
  limit = "Limited by links" if links > plan.step_seconds else "Limited by computation"
  return (
    f"{limit}: {plan.step_seconds * 1e3:.1f} ms of computation, {links * 1e3:.1f} ms of links."
    f" The largest collective is {first.kind} {first.dtype}."
  )


def _run(plan: Plan) -> str:
  hours, longest, chips = plan.hours, plan.hours_without_overlap, plan.topology.devices
  return (
    f"The run: {plan.steps:,} steps of {plan.flops / 1e12:,.1f} TFLOP in {hours:.2f} hours,"
    f" {hours * chips:,.1f} chip-hours; {longest:.2f} hours if no collective overlaps."
  )


def _checkpoint(plan: Plan) -> str:
  hosts, seconds = plan.topology.hosts, plan.checkpoint_seconds
  which = f"{hosts} hosts" if plan.topology.slices == 1 else f"the {hosts} hosts of one slice"
  return (
    f"A checkpoint: {plan.checkpoint_bytes / 1e9:.2f} GB, to a bucket in about {seconds:.0f} s if"
    f" each of {which} writes {BUCKET_BANDWIDTH / 1e9:g} GB/s; whole"
    f" {seconds + plan.step_seconds:.0f} s after a signal."
  )


def _unknown(plan: Plan) -> str:
  if not plan.unknown_loops:
    return ""
  return (
    f" {plan.unknown_loops} loops, mostly inside gathers and scatters, are of unknown length and"
    " counted as one trip."
  )


def _gib(number: float) -> str:
  return f"{number / GIB:.2f}"
