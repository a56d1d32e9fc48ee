import pytest
from plan.texts import COLLECTIVES, SCATTER, TRAFFIC

from luke_jax.plan.hlo import execution, parse
from luke_jax.plan.traffic import hbm_bytes, moved

ROW, STACK = 128 * 4, 12 * 64 * 128 * 4


def traffic_of(name, text=TRAFFIC):
  program = parse(text)
  main = program.computations[program.entry]
  return hbm_bytes(program, main, main.instructions[name])


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


def test_what_a_step_moves():
  program = parse(TRAFFIC)
  found = moved(program, execution(program))
  assert found.copied == ROW
  assert found.bytes == ROW + 2 * ROW + 2 * STACK // 12 + 2 * STACK + 2 * ROW


def test_collectives_take_no_core():
  program = parse(COLLECTIVES)
  found = moved(program, execution(program))
  assert {x.instruction.name for x, _ in found.operations} == {"next", "whole.1"}
