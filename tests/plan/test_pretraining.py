"""Pretraining compiles for slices of every kind, fits, and moves no table of entities."""

from pathlib import Path

import pytest
from tpu_options import QUICK

from luke_jax.cli.plan import PlannedStep, lowered_step
from luke_jax.plan.chips import parse_topology
from luke_jax.plan.compiling import Compiled, memory_of
from luke_jax.plan.hlo import execution, parse
from luke_jax.plan.traffic import _inside, traffic

pytestmark = pytest.mark.tpu_aot

FILE = Path(__file__).parents[2] / "experiments" / "pretraining.py"
TABLE = 500_000 * 256 * 2  # bytes, in bfloat16
BASE = ("data.batch_size=64", "run.accumulation=1")  # 8 sequences a chip of v5e:2x4


@pytest.fixture(scope="module", autouse=True)
def libtpu():
  pytest.importorskip("libtpu", reason="compiling for a TPU needs the extra `tpu`")


def compiled(name, topology, *changes):
  """The program of a step, which fits."""
  slice_ = parse_topology(topology)
  lowered, _ = lowered_step(FILE.with_name(f"{FILE.name}:{name}"), changes, slice_, 1)
  step = lowered.compile(QUICK)
  assert memory_of(step).total < slice_.chip.hbm_bytes
  return parse(step.as_text())


AWARE = "model.use_entity_aware_attention=true"


def largest(program):
  """The bytes of the largest whole array that any collective moves."""
  return max(
    array.bytes * (collective.group if collective.kind == "all-gather" else 1)
    for run in execution(program).instructions
    for collective in _inside(program, run.computation, run.instruction)
    for array in collective.operands
  )


@pytest.mark.minutes
def test_large_fits_and_moves_no_table():
  step = PlannedStep(
    FILE.with_name(f"{FILE.name}:luke-large"),
    ("data.batch_size=128", AWARE),
    parse_topology("v5e:4x4"),
  )
  result = step.compiled()
  assert isinstance(result, Compiled)
  assert 0 < largest(result.program) < TABLE


# A step takes a minute to compile; smaller ones for v6e and v5p are in
# tests/training/test_slices.py, and kernels for all chips in tests/nn.
def test_what_moves_does_not_grow_with_the_table():
  sent = {}
  for entities in (500_000, 20_000):
    program = compiled("luke-base", "v5e:2x4", *BASE, f"model.entity_vocab_size={entities}")
    assert largest(program) < TABLE
    sent[entities] = sum(row.bytes for row in traffic(program, execution(program)))
  assert 0 < sent[20_000] <= sent[500_000] < sent[20_000] + TABLE / 20


def test_a_million_entities_fit():
  compiled("mluke-large", "v5e:16x16")
