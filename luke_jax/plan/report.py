"""Plan as text for the terminal."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from luke_jax.plan.chips import GIB
from luke_jax.plan.collectives import Traffic
from luke_jax.plan.plan import BUCKET_BANDWIDTH, NOTE, Plan


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
