import pytest
from plan.texts import LOOPS, TRAFFIC

from luke_jax.plan.hlo import Array, execution, parse


def test_instructions():
  program = parse(TRAFFIC)
  main = program.computations[program.entry]
  assert (program.entry, program.devices, main.root) == ("main", 1, "out")
  kernel = main.instructions["kernel"]
  assert kernel.opcode == "custom-call"
  assert kernel.arrays == (Array("f32", (12, 64, 128), True), Array("f32", (8,), False))
  assert kernel.bytes == 12 * 64 * 128 * 4 + 8 * 4
  assert kernel.operands == ("stacked",)
  assert main.instructions["three"].argument == "3"
  assert main.instructions["sliced"].called == "slices"


@pytest.mark.parametrize(
  ("dtype", "size"), [("pred", 10), ("s4", 5), ("f8e4m3fn", 10), ("bf16", 20), ("f32", 40)]
)
def test_bytes(dtype, size):
  assert Array(dtype, (2, 5), True).bytes == size


def test_trips():
  found = execution(parse(LOOPS))
  times = {e.instruction.name: e.times for e in found.instructions if e.instruction.name != "abs"}
  assert times["y"] == 3 * 4  # the outer loop counts from 2 to 5
  assert times["y.2"] == 3
  assert times["z"] == 1
  assert [e.times for e in found.instructions if e.instruction.name == "abs"] == [7, 1]
  assert found.unknown_loops == ["unknown"]


def test_the_longest_branch_and_calls():
  names = [e.instruction.name for e in execution(parse(LOOPS)).instructions]
  assert names.count("sine") == 2
  assert "x.6" not in names


def test_other_text():
  with pytest.raises(ValueError, match="no ENTRY"):
    parse("HloModule nothing\n")
