import json
from pathlib import Path

import pytest
from networks import TINY, backbone
from plan.programs import CHIPS, HIDDEN, LAYERS, ROWS, TOPOLOGY, WIDTH, layers
from plan.texts import TRAFFIC

from benchmarks.bundles import UNITS, Bundles
from benchmarks.cycles import (
  StepCycles,
  counted,
  estimated_cycles,
  final_cycles,
  kernel_flops,
  shares,
  step_cycles,
  window_counts,
  work,
)
from luke_jax.cli.plan import PlannedStep
from luke_jax.models.system import TokenCounts
from luke_jax.plan.chips import GIB, parse_topology
from luke_jax.plan.compiling import Compiled, Memory, compile_in_child
from luke_jax.plan.hlo import parse
from luke_jax.plan.plan import make_plan

V5E = UNITS["v5e"]
B, W, E = 3, 10, 6
UNMASKED = TokenCounts(sequences=B, words=W, entities=E)
ROW, STACK = 128 * 4, 12 * 64 * 128 * 4


def work_of(text, found=None):
  return work(parse(text), found or {})


def test_what_takes_time():
  found = work_of(TRAFFIC)
  assert [(o.name, o.estimate, o.kernel) for o in found.operations] == [
    ("sliced", 1000, False),
    ("stacked", 2000, False),
    ("kernel", None, True),
    ("out", None, False),
  ]


def test_windows():
  assert window_counts(parse(TRAFFIC)) == {"sliced": 6}


def test_estimates_and_what_has_none():
  found = work_of(TRAFFIC)
  memory = 2 * ROW / V5E.hbm_bytes_per_cycle
  kernel = 2 * STACK / V5E.hbm_bytes_per_cycle
  cycles = estimated_cycles(found, V5E)
  assert cycles.sources == {
    "estimate": 3000,
    "kernel": pytest.approx(kernel),
    "memory": pytest.approx(memory),
  }
  assert cycles.total == pytest.approx(3000 + kernel + memory)
  by_flops = estimated_cycles(found, V5E, kernel_flops=131072 * 10_000)
  assert by_flops.sources["kernel"] == 10_000


def test_final_bundles_are_at_least_as_long_as_memory():
  found = {
    "sliced": Bundles(700, 0, (), False, False, 0),
    "kernel": Bundles(100, 0, (), False, False, 0),
  }
  cycles = final_cycles(work_of(TRAFFIC, found), V5E)
  assert cycles is not None
  assert cycles.sources == {
    "bundles": pytest.approx(700 + 2 * STACK / V5E.hbm_bytes_per_cycle),
    "estimate": 2000,
    "memory": pytest.approx(2 * ROW / V5E.hbm_bytes_per_cycle),
  }


def test_shares_of_operations():
  found = {
    "sliced": Bundles(700, 2000, (), False, False, 0),
    "kernel": Bundles(100, 0, (), False, False, 0),
  }
  step = work_of(TRAFFIC, found)
  cycles = final_cycles(step, V5E)
  assert cycles is not None
  rows = {row.name: row for row in shares(step, V5E)}
  assert set(rows) == set(found)
  assert sum(row.cycles for row in rows.values()) == pytest.approx(cycles.sources["bundles"])
  assert rows["sliced"].product_cycles == 2000 / 4
  assert [row.cycles for row in shares(step, V5E)] == sorted(
    (row.cycles for row in rows.values()), reverse=True
  )


def test_without_bundles_there_is_no_second_estimate():
  assert final_cycles(work_of(TRAFFIC), V5E) is None


@pytest.mark.parametrize(
  ("attention", "remat", "count"),
  [("pallas", "dots", 7), ("pallas", "full", 9), ("blocks", "full", 0)],
)
def test_kernels(attention, remat, count):
  chosen = backbone(attention=attention, remat=remat)
  one = 2 * B * (W + E) ** 2 * TINY.hidden_size * TINY.num_hidden_layers
  assert kernel_flops(chosen, UNMASKED) == count * one


def cycles_of(bundles):
  topology = parse_topology("v5e:2x4")
  compiled = Compiled(parse(TRAFFIC), Memory(GIB, 0, 0, 0, 0), 1.0)
  flops = 8 * 196.608e12 * 0.001  # a millisecond of the peak of eight chips
  plan = make_plan(compiled, topology, experiment="layers", steps=1, flops=flops)
  return step_cycles(plan, compiled.program, bundles)


def test_time_and_utilization():
  """3 million cycles are 2 ms, of which the peak would need half."""
  found = cycles_of({"sliced": Bundles(3_000_000, 0, (), False, False, 2)})
  assert found.seconds == pytest.approx(0.002, rel=0.01)
  assert found.utilization(found.seconds) == pytest.approx(0.5, rel=0.01)
  assert found.unknown_loops == 2
  figures = json.loads(json.dumps(found.to_json()))
  assert figures["estimates"]["final_bundles"]["utilization"] == pytest.approx(0.5, rel=0.01)
  assert [row["name"] for row in figures["operations"]] == ["sliced"]


def test_without_bundles_the_estimate_stands():
  found = cycles_of({})
  assert found.seconds == found.seconds_of(found.estimated_cycles)
  assert found.to_json()["estimates"]["final_bundles"] is None


class Layers(PlannedStep):
  """Step whose program is that of plan.programs."""

  def compiled(self):
    return compile_in_child(self.topology, layers)

  def plan(self, compiled):
    flops = CHIPS * LAYERS * 2 * 2.0 * ROWS * WIDTH * HIDDEN
    return make_plan(compiled, self.topology, experiment="layers", steps=1, flops=flops)


@pytest.mark.tpu_aot
def test_a_step_as_arithmetic_has_it():
  pytest.importorskip("libtpu", reason="compiling for a TPU needs the extra `tpu`")
  experiments = Path(__file__).parents[2] / "experiments"
  step = Layers(experiments / "pretraining.py:luke-base", (), parse_topology(TOPOLOGY))
  found = counted(step)
  assert isinstance(found, StepCycles)
  least = found.plan.product_seconds
  for cycles in (found.final_bundles, found.estimated_cycles):
    assert cycles is not None
    assert least < found.seconds_of(cycles) < 1.15 * least
  assert found.unknown_loops == 0


@pytest.mark.tpu_aot
@pytest.mark.minutes
def test_pretraining_keeps_the_chips_busy():
  pytest.importorskip("libtpu", reason="compiling for a TPU needs the extra `tpu`")
  changes = ("data.batch_size=128", "model.use_entity_aware_attention=true")
  experiments = Path(__file__).parents[2] / "experiments"
  step = PlannedStep(experiments / "pretraining.py:luke-large", changes, parse_topology("v5e:4x4"))
  found = counted(step)
  assert isinstance(found, StepCycles)
  assert found.final_bundles is not None
  assert found.utilization(found.seconds) > 0.65
