import jax
import jax.numpy as jnp
import numpy as np
import pytest

from luke_jax.plan.chips import GIB, parse_topology
from luke_jax.plan.compiling import (
  Memory,
  OutOfMemory,
  advice,
  bytes_per_device,
  parse_out_of_memory,
)

NOW = (
  "RESOURCE_EXHAUSTED: Ran out of memory on HBM, the total memory required for HLO temporaries"
  " (16.38G) exceeds available HBM (15.75G)."
)
BEFORE = (
  "RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm."
  " Used 63.80G of 30.75G hbm. Exceeded hbm capacity by 33.05G.\n\nTotal hbm usage >= 65.05G:\n"
)
ON_CHIP = (
  "RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space vmem."
  " Used 32.42M of 16.00M vmem. Exceeded vmem capacity by 16.42M"
)
V5E = parse_topology("v5e:16x16")


@pytest.mark.parametrize(
  ("message", "needed", "available"), [(NOW, 16.38, 15.75), (BEFORE, 63.80, 30.75)]
)
def test_messages(message, needed, available):
  fault = parse_out_of_memory(message, 5)
  assert fault == OutOfMemory(round(needed * GIB), round(available * GIB), 5)


@pytest.mark.parametrize("message", [ON_CHIP, "INTERNAL: (1G) exceeds available HBM (2G)"])
def test_other_faults(message):
  assert parse_out_of_memory(message, 5) is None


@pytest.mark.parametrize(
  ("arguments", "remat", "sharded", "change"),
  [
    (16, "full", False, "shard all parameters, since"),
    (16, "full", True, "take more chips, since"),
    (4, "none", True, "set remat to dots or full, or take a smaller batch"),
    (4, "dots", False, "set remat to full, or take a smaller batch"),
    (4, "full", False, "take a smaller batch: about 7 instead of 16 sequences a chip"),
    (15.7, "full", True, "take more chips"),
    (15.7, "full", False, "shard all parameters, or take more chips"),
  ],
)
def test_advice(arguments, remat, sharded, change):
  fault = OutOfMemory(30 * GIB, int(15.75 * GIB), int(arguments * GIB))
  line = advice(fault, V5E, sequences=16, remat=remat, sharded=sharded)
  assert line.startswith("memory: a step needs 30.00 GiB on each chip of v5e:16x16")
  assert f"expected at most 15.75: {change}" in line
  assert "\n" not in line


def test_total():
  memory = Memory(arguments=100, outputs=60, aliased=50, temporaries=30, code=5)
  assert memory.total == 145


def test_bytes_per_device():
  mesh = jax.sharding.Mesh(
    np.array(jax.devices()[:1]), ("data",), axis_types=(jax.sharding.AxisType.Auto,)
  )
  spread = jax.NamedSharding(mesh, jax.P("data"))
  shapes = {
    "a": jax.ShapeDtypeStruct((8, 3), jnp.bfloat16, sharding=spread),
    "b": jax.ShapeDtypeStruct((), jnp.int32),
  }
  assert bytes_per_device(shapes) == 8 * 3 * 2 + 4
