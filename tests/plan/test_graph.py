"""A step of TransE on a TPU moves the rows of its batch, and no table."""

from pathlib import Path

import pytest

from luke_jax.cli.plan import PlannedStep
from luke_jax.plan.chips import GIB, parse_topology
from luke_jax.plan.compiling import Compiled

pytestmark = pytest.mark.tpu_aot

FILE = Path(__file__).parents[2] / "experiments" / "graph.py:wikidata"


@pytest.fixture(scope="module", autouse=True)
def libtpu():
  pytest.importorskip("libtpu", reason="compiling for a TPU needs the extra `tpu`")


def test_a_step_moves_rows_and_no_table():
  step = PlannedStep(FILE, (), parse_topology("v5e:1x1"))
  result = step.compiled()
  assert isinstance(result, Compiled)
  plan = step.plan(result)
  assert plan.memory.arguments > 7 * GIB
  assert plan.memory.temporaries < GIB / 10
  assert plan.hbm_bytes < GIB
