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
from luke_jax.plan.compiling import Compiled, Memory
from luke_jax.plan.hlo import execution
from luke_jax.plan.traffic import Traffic, between_slices, moved, traffic
from luke_jax.training.experiment import Experiment
from luke_jax.training.optimizer import is_frozen

NOTE = (
  "Bounds from the compiler's output and published speeds; no chip was used. What computes below"
  " the peak and what moves while nothing is multiplied comes on top, as do waits for other chips,"
  " for the host and for data; collectives are listed apart, as if none overlapped."
)

# Assumed, not measured: what a host writes to a bucket, and the time of the small objects that make
# a checkpoint whole.
BUCKET_BANDWIDTH = 0.5e9  # bytes per second
BUCKET_COMMIT = 3.0  # seconds


@dataclasses.dataclass(frozen=True)
class Plan:
  """Needs of a run on slices. Bytes and collectives are those of one chip."""

  experiment: str
  topology: Topology
  compile_seconds: float
  memory: Memory
  flops: float  # of one step on all chips
  hbm_bytes: int  # moved in one step
  collectives: tuple[Traffic, ...]  # of one step, most bytes first
  network: tuple[Traffic, ...]  # sent to other slices in one step, most bytes first
  unknown_loops: int  # loops of unknown length, counted as one trip
  steps: int
  checkpoint_bytes: int  # of all chips

  @property
  def checkpoint_seconds(self) -> float:
    """Returns the time of a checkpoint to a bucket, each host of one slice writing its share."""
    share = self.checkpoint_bytes / self.topology.hosts
    return share / BUCKET_BANDWIDTH + BUCKET_COMMIT

  @property
  def product_seconds(self) -> float:
    """Returns the time of a step's products at the chips' peak."""
    return self.flops / self.topology.devices / self.topology.chip.peak_flops

  @property
  def memory_seconds(self) -> float:
    """Returns the time in which a step's bytes go through HBM."""
    return self.hbm_bytes / self.topology.chip.hbm_bandwidth

  @property
  def step_seconds(self) -> float:
    """Returns the least time of a step, by roofline: the longer of its products and its memory."""
    return max(self.product_seconds, self.memory_seconds)

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
    """Returns the least hours of the whole run, with all collectives hidden."""
    return self.steps * self.step_seconds / 3600

  @property
  def hours_without_overlap(self) -> float:
    """Returns the least hours of the whole run if no collective is hidden."""
    longest = self.step_seconds + self.collective_seconds + self.network_seconds
    return self.steps * longest / 3600

  def to_json(self) -> dict[str, object]:
    """Returns all figures in bytes, seconds, hours and FLOPs."""
    chip = self.topology.chip
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
      "product_seconds": self.product_seconds,
      "memory_seconds": self.memory_seconds,
      "step_seconds": self.step_seconds,
      "collectives": [
        dataclasses.asdict(row) | {"seconds": row.seconds(chip)} for row in self.collectives
      ],
      "collective_seconds": self.collective_seconds,
      "collective_seconds_alone": self.alone_seconds,
      "network": [dataclasses.asdict(row) for row in self.network],
      "network_seconds": self.network_seconds,
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
  compiled: Compiled, topology: Topology, *, experiment: str, steps: int, flops: float
) -> Plan:
  """Makes a plan from a step compiled for a topology; `flops` are of one step on all chips."""
  executed = execution(compiled.program)
  return Plan(
    experiment=experiment,
    topology=topology,
    compile_seconds=compiled.seconds,
    memory=compiled.memory,
    flops=flops,
    hbm_bytes=moved(compiled.program, executed).bytes,
    collectives=tuple(traffic(compiled.program, executed)),
    network=tuple(between_slices(compiled.program, executed, topology.slices)),
    unknown_loops=len(executed.unknown_loops),
    steps=steps,
    checkpoint_bytes=compiled.checkpoint_bytes,
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
  chip, products = plan.topology.chip, plan.flops / plan.topology.devices
  table = _table("Computation of one step takes at least", "", "ms")
  at_peak = f"{products / 1e12:.3f} TFLOP at {chip.peak_flops / 1e12:.0f} TFLOP/s"
  table.add_row(at_peak, f"{plan.product_seconds * 1e3:.1f}")
  through = f"{_gib(plan.hbm_bytes)} GiB through HBM at {chip.hbm_bandwidth / 1e9:.0f} GB/s"
  table.add_row(through, f"{plan.memory_seconds * 1e3:.1f}")
  return table


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
    f"The run: {plan.steps:,} steps of {plan.flops / 1e12:,.1f} TFLOP in {hours:.2f} hours"
    f" or more, {hours * chips:,.1f} chip-hours; {longest:.2f} hours if no collective overlaps."
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
  return f" {plan.unknown_loops} loops are of unknown length and counted as one trip."


def _gib(number: float) -> str:
  return f"{number / GIB:.2f}"
