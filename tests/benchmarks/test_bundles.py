"""The files beside this one were written by hand after those of libtpu 0.0.42."""

from pathlib import Path

import pytest

from benchmarks import bundles
from benchmarks.bundles import UNITS, Bundles, Pipeline
from luke_jax.plan.chips import CHIPS

FOLDER = Path(__file__).parent / "final_bundles"
GRANULE = 32
# One trip of the pipeline: 11 bundles, of which the 3 of the inner loop run 5 times.
TRIP = 8 + 3 * 5
ROWS = 2 * 16 + (16 + 8) * 5


def fusion(windows, cores=1):
  return bundles.read_directory(FOLDER, {"fusion.7": windows}, cores)["fusion.1"]


def test_loops_are_multiplied_and_the_pipeline_runs_its_windows():
  found = fusion(12)
  assert found.count == 2 + 12 * TRIP + 1
  assert found.rows == 12 * ROWS
  assert found.unknown_loops == 0
  reads, writes = (2048 * GRANULE,), (512 * GRANULE,)
  assert found.pipelines == (
    Pipeline(starts=1, trips=12, bundles=TRIP, reads=reads, writes=writes),
  )


@pytest.mark.parametrize(
  ("windows", "cores", "trips"),
  [
    (10, 1, 10),  # the other four trips only copy
    (24, 2, 12),  # half of the windows on each core
    (100, 1, 12),  # not what this loop goes over: then all but the first and the last trip
  ],
)
def test_windows(windows, cores, trips):
  assert fusion(windows, cores).rows == trips * ROWS


def test_equal_operations_share_a_file():
  found = bundles.read_directory(FOLDER, {}, 1)
  assert found.keys() == {"fusion.1", "fusion.7", "scatter.2"}
  assert found["fusion.1"] == found["fusion.7"]


def test_a_loop_of_unknown_length_counts_once():
  found = bundles.read_directory(FOLDER, {}, 1)["scatter.2"]
  assert found == Bundles(count=5, rows=0, pipelines=(), reads=False, writes=True, unknown_loops=1)
  assert bundles.cycles(found, UNITS["v5e"]) == 5 + 450


def test_issue_or_matrix_units_whichever_is_longer():
  v5e, v6e = UNITS["v5e"], UNITS["v6e"]
  issue = Bundles(1000, 0, (), False, False, 0)
  assert bundles.cycles(issue, v5e) == 1000
  products = Bundles(1000, 8000, (), False, False, 0)
  assert bundles.cycles(products, v5e) == pytest.approx(1.02 * 8000 / 4)
  assert bundles.cycles(products, v6e) == pytest.approx(1.02 * 8000 / (2 * 2))


def test_memory_that_double_buffering_does_not_hide():
  v5e = UNITS["v5e"]
  size = 546 * 1000  # bytes that take 1,000 cycles
  first_and_last = 1150 + 1000 + 450 + 1000
  hidden = Pipeline(starts=2, trips=10, bundles=2000, reads=(size,), writes=(size,))
  found = Bundles(2 * 10 * 2000, 0, (hidden,), True, True, 0)
  assert bundles.cycles(found, v5e) == pytest.approx(40000 + 2 * first_and_last)
  waited_for = Pipeline(starts=2, trips=10, bundles=500, reads=(size,), writes=(size,))
  found = Bundles(2 * 10 * 500, 0, (waited_for,), True, True, 0)
  steady = 10 * (650 + 1000 - 500)
  assert bundles.cycles(found, v5e) == pytest.approx(10000 + 2 * (first_and_last + steady))


def test_options():
  assert "--xla_jf_dump_to=/some/where " in bundles.options(Path("/some/where"))


@pytest.mark.parametrize(
  ("name", "teraflops"), [("v5e", 197), ("v6e", 918), ("v5p", 459), ("v4", 275)]
)
def test_clock_and_units_reach_the_published_peak(name, teraflops):
  units = UNITS[name]
  assert CHIPS[name].peak_flops == pytest.approx(teraflops * 1e12, rel=0.003)
  side = 256 if name == "v6e" else 128  # of the weights that a unit keeps
  together = units.matrix_units * units.cores
  assert units.flops_per_cycle == 2 * side * side * units.rows_per_cycle * together
