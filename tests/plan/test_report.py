import dataclasses
import json

import pytest
from plan.texts import COLLECTIVES, SLICES, TRAFFIC
from rich.console import Console

from luke_jax.plan.chips import GIB, parse_topology
from luke_jax.plan.compiling import Compiled, Memory
from luke_jax.plan.hlo import parse
from luke_jax.plan.plan import make_plan, report

MEMORY = Memory(arguments=4 * GIB, outputs=4 * GIB, aliased=4 * GIB, temporaries=3 * GIB, code=0)
FLOPS = 8 * 196.608e12 * 0.001  # a millisecond of the peak of eight chips


def plan_of(text, slices=1, flops=FLOPS):
  compiled = Compiled(parse(text), MEMORY, 12.3)
  topology = parse_topology("v5e:2x4", slices)
  return make_plan(compiled, topology, experiment="pretraining.py", steps=1000, flops=flops)


def printed(plan):
  console = Console(width=80, force_terminal=False)
  with console.capture() as capture:
    console.print(report(plan))
  return capture.get()


def test_the_longer_of_products_and_memory_bounds_a_step():
  plan = plan_of(TRAFFIC)
  assert plan.step_seconds == plan.product_seconds == pytest.approx(0.001)
  assert plan.memory_seconds == plan.hbm_bytes / 819e9
  assert plan.hours == pytest.approx(1000 * 0.001 / 3600)
  moves = dataclasses.replace(plan, hbm_bytes=3 * 819_000_000)
  assert moves.step_seconds == moves.memory_seconds == pytest.approx(0.003)


def test_a_checkpoint_to_a_bucket():
  """Of 8 GB, two hosts write 4 GB each."""
  plan = dataclasses.replace(plan_of(TRAFFIC), checkpoint_bytes=8_000_000_000)
  assert plan.checkpoint_seconds == pytest.approx(4 / 0.5 + 3)
  text = " ".join(printed(plan).split())
  assert "A checkpoint: 8.00 GB, to a bucket in about 11 s if each of 2 hosts writes" in text
  assert plan.to_json()["checkpoint_bytes"] == 8_000_000_000


def test_json():
  plan = plan_of(COLLECTIVES)
  figures = json.loads(json.dumps(plan.to_json()))
  assert figures["devices"] == 8
  assert figures["topology"] == "v5e:2x4"
  assert figures["bytes_per_device"] == {
    "arguments": 4 * GIB,
    "outputs": 4 * GIB,
    "aliased": 4 * GIB,
    "temporaries": 3 * GIB,
    "code": 0,
    "total": 7 * GIB,
    "available": int(15.75 * GIB),
  }
  assert figures["flops_per_step"] == FLOPS
  assert figures["step_seconds"] == figures["product_seconds"] == pytest.approx(0.001)
  assert figures["chip_hours"] == pytest.approx(8 * plan.hours)
  row = figures["collectives"][0]
  assert row["kind"] == "reduce-scatter"
  assert row["seconds"] == row["bytes"] / 200e9
  assert figures["collective_seconds"] == pytest.approx(
    sum(row["seconds"] for row in figures["collectives"])
  )
  assert "no chip was used" in figures["note"]


def test_report():
  text = printed(plan_of(TRAFFIC))
  assert "pretraining.py on v5e:2x4: 8 chips, compiled in 12 s" in text
  assert "7.00  44% of 15.75" in text
  assert "0.197 TFLOP at 197 TFLOP/s" in text
  assert "GiB through HBM at 819 GB/s" in text
  assert "the chips exchange nothing" in text
  assert "1,000 steps of 1.6 TFLOP" in text
  assert "no chip was used" in text
  assert max(map(len, text.splitlines())) <= 80


def test_links_that_limit():
  text = printed(plan_of(COLLECTIVES, flops=0.0))
  assert "Limited by links" in text
  assert "The largest collective is reduce-scatter f32" in " ".join(text.split())
  assert "of these while nothing computes" in text


def test_collectives_that_computation_hides():
  plan = plan_of(COLLECTIVES)
  assert plan.alone_seconds == pytest.approx(plan.collective_seconds)
  hidden = tuple(dataclasses.replace(row, hidden=row.bytes / 2) for row in plan.collectives)
  plan = dataclasses.replace(plan, collectives=hidden)
  assert plan.alone_seconds == pytest.approx(plan.collective_seconds / 2)
  assert plan.to_json()["collective_seconds_alone"] == plan.alone_seconds


@pytest.mark.parametrize(("slices", "rounds"), [(2, 1), (4, 1.5)])
def test_between_slices(slices, rounds):
  """A ring of n sends an array that is summed 2 (n - 1) / n times, at 6.4 Tbit/s for 256 chips."""
  plan = plan_of(SLICES, slices, flops=0.0)
  found = [(row.kind, row.dtype, row.count, row.bytes) for row in plan.network]
  megabyte = 1024 * 256 * 4
  gathered = ("all-gather", "f32", 1, 4 * (slices - 1))
  assert found == [("all-reduce", "f32", 1, megabyte * rounds), gathered]
  seconds = (megabyte * rounds + gathered[-1]) / 3.125e9
  assert plan.network_seconds == pytest.approx(seconds)
  without = plan.step_seconds + plan.collective_seconds + seconds
  assert plan.hours_without_overlap == pytest.approx(1000 * without / 3600)
  text = printed(plan)
  assert f"on {slices} slices v5e:2x4: {8 * slices} chips" in text
  assert "Sent by each chip to other slices in one step, at 3.12 GB/s" in text
  assert f"Limited by the network between slices: {seconds * 1e3:.1f} ms" in text
  assert "each of the 2 hosts of one slice writes" in " ".join(text.split())
  figures = json.loads(json.dumps(plan.to_json()))
  assert (figures["slices"], figures["devices"]) == (slices, 8 * slices)
  assert figures["network_seconds"] == pytest.approx(seconds)
  assert not plan_of(COLLECTIVES).network


def test_small_collectives_share_a_line():
  plan = plan_of(COLLECTIVES)
  large = dataclasses.replace(plan.collectives[0], bytes=1e9)
  text = printed(dataclasses.replace(plan, collectives=(large, *plan.collectives[1:])))
  assert "all others" in text
  assert "all-to-all" not in text


def test_loops_of_unknown_length_are_told():
  plan = plan_of(TRAFFIC)
  assert "2 loops" in " ".join(printed(dataclasses.replace(plan, unknown_loops=2)).split())
  assert "loops" not in printed(plan)
