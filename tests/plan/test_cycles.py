import pytest
from plan.texts import COLLECTIVES, SCATTER, TRAFFIC

from luke_jax.plan.bundles import Bundles
from luke_jax.plan.chips import CHIPS
from luke_jax.plan.cycles import (
  estimated_cycles,
  final_cycles,
  hbm_bytes,
  shares,
  window_counts,
  work,
)
from luke_jax.plan.hlo import execution, parse

V5E = CHIPS["v5e"]
ROW, STACK = 128 * 4, 12 * 64 * 128 * 4


def traffic_of(name, text=TRAFFIC):
  program = parse(text)
  main = program.computations[program.entry]
  return hbm_bytes(program, main, main.instructions[name])


def work_of(text, found=None):
  program = parse(text)
  return work(program, execution(program), found or {})


@pytest.mark.parametrize(
  ("name", "size"),
  [
    ("sliced", 2 * ROW),  # the row it takes and the row it writes, not the table
    ("stacked", 2 * STACK // 12),  # reads the new layer, writes it in place
    ("kernel", 2 * STACK),  # the second result stays on the chip
    ("out", 2 * ROW),
  ],
)
def test_hbm_bytes(name, size):
  assert traffic_of(name) == size


@pytest.mark.parametrize("name", ["fused", "alone"])
def test_rows_that_are_written_in_place_count_without_their_table(name):
  assert traffic_of(name, SCATTER) == 2 * 8 * ROW + 8 * 4


def test_what_takes_time():
  found = work_of(TRAFFIC)
  assert [(o.name, o.estimate, o.kernel) for o in found.operations] == [
    ("sliced", 1000, False),
    ("stacked", 2000, False),
    ("kernel", None, True),
    ("out", None, False),
  ]
  assert found.copied_bytes == ROW
  assert found.hbm_bytes == ROW + 2 * ROW + 2 * STACK // 12 + 2 * STACK + 2 * ROW


def test_collectives_take_no_core():
  assert {o.name for o in work_of(COLLECTIVES).operations} == {"next", "whole.1"}


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
