"""The compiler's figures against arithmetic."""

import pytest
from plan.programs import CHIPS, HIDDEN, LAYERS, ROWS, TOPOLOGY, WIDTH, gradients, layers, too_much

from luke_jax.errors import InputError
from luke_jax.plan.chips import GIB, Topology, devices, parse_topology
from luke_jax.plan.compiling import Compiled, OutOfMemory, compile_in_child
from luke_jax.plan.hlo import execution, parse
from luke_jax.plan.plan import make_plan
from luke_jax.plan.traffic import traffic
from luke_jax.training.program import OPTIONS

pytestmark = pytest.mark.tpu_aot


@pytest.fixture(scope="module", autouse=True)
def libtpu():
  pytest.importorskip("libtpu", reason="compiling for a TPU needs the extra `tpu`")


def test_a_step_as_arithmetic_has_it():
  topology = parse_topology(TOPOLOGY)
  compiled = compile_in_child(topology, layers)
  assert isinstance(compiled, Compiled)
  flops = CHIPS * LAYERS * 2 * 2.0 * ROWS * WIDTH * HIDDEN
  plan = make_plan(compiled, topology, experiment="layers", steps=1, flops=flops)

  assert plan.step_seconds == flops / CHIPS / topology.chip.peak_flops

  sent = {(row.kind, row.dtype): (row.count, row.bytes) for row in plan.collectives}
  assert sent == {
    ("all-gather", "bf16"): (1, (CHIPS - 1) * WIDTH // CHIPS * HIDDEN * 2),
    ("all-reduce", "f32"): (1, 2 * (CHIPS - 1) / CHIPS * WIDTH * 4),
  }
  arguments = (ROWS * WIDTH + WIDTH // CHIPS * HIDDEN + HIDDEN * WIDTH) * 2
  assert plan.memory.arguments == arguments
  assert plan.unknown_loops == 0


def test_the_options_of_training_sum_gradients_while_others_are_computed():
  program = parse(gradients().compile(OPTIONS["tpu"]).as_text())
  (row,) = traffic(program, execution(program))
  assert (row.kind, row.count) == ("all-reduce", 3)
  assert row.hidden >= row.bytes / 3


def test_out_of_memory():
  fault = compile_in_child(parse_topology(TOPOLOGY), too_much, 40)
  assert isinstance(fault, OutOfMemory)
  assert fault.available == int(15.75 * GIB)
  assert fault.arguments == GIB // 4
  assert 40 * GIB / 2 < fault.needed < 30 * GIB


def test_libtpu_refuses_a_topology():
  chip = parse_topology("v5e:4x4").chip
  with pytest.raises(InputError, match=r"topology: v5e:3x5: .*expected one that libtpu knows"):
    devices(Topology(chip, (3, 5)))
