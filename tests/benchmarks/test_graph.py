"""The benchmark of TransE: what a step needs, and what is printed of it."""

import json

import jax
import numpy as np
import pytest

from benchmarks import graph
from benchmarks.__main__ import main
from benchmarks.roofline import Needs, Roofline, Speeds, needs
from benchmarks.timing import Timing

pytestmark = pytest.mark.slow  # beside the library

# 2 chunks of 8 triples with 4 negatives each.
SHAPES = {"heads": (2, 8), "tails": (2, 8), "relations": (2, 8), "negatives": (2, 4)}
SHAPES |= {"known": (2, 8, 4)}


@pytest.mark.parametrize(("norm", "operations"), [(1, 1), (2, 2)])
def test_needs_are_counted_from_shapes(norm, operations):
  shapes = {name: jax.ShapeDtypeStruct(x, np.int32) for name, x in SHAPES.items()}
  found = needs(shapes, (1000, 3), 10, norm)
  assert found.arithmetic == 3 * operations * (2 * 8) * 4 * 10
  # 16 heads, 16 tails and 8 negatives, and all 3 relations; three tables, read and written.
  assert found.row_bytes == (40 + 3) * 10 * 4 * 3 * 2
  assert needs(shapes, (20, 3), 10, norm).row_bytes == (20 + 3) * 10 * 4 * 3 * 2


def test_shares_are_those_of_the_least_time():
  line = Roofline(Needs(100.0, 50.0), Speeds([10.0, 20.0, 50.0], [50.0]), [12.0], [8.0])
  assert line.least == {"arithmetic": 5.0, "row_bytes": 1.0}
  assert line.shares == {"step": 0.5, "step_and_host_rows": 0.3}


@pytest.mark.parametrize("norm", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_the_command_reports_what_bounds_a_step(norm, tmp_path, capsys, monkeypatch):
  monkeypatch.setattr(graph, "find_spec", lambda name: None)
  file = tmp_path / "figures.json"
  ask = ["graph", "--width", "4", "--negatives", "2", "--rounds", "1"]
  assert main([*ask, "--norm", norm, "--output", str(file)]) == 0
  printed = capsys.readouterr().out
  assert "What bounds a step" in printed and "of the limit" in printed
  figures, line = json.loads(file.read_text()), json.loads(printed.splitlines()[-1])
  assert set(line) == {"triples_per_second", "ratio", "of_limit"}
  assert line["of_limit"].keys() == {"step", "step_and_host_rows"}
  assert all(x > 0 for x in line["of_limit"].values())
  roofline = figures["roofline"]
  assert roofline["needs"]["arithmetic"] == 3 * int(norm) * graph.BATCH * 2 * 4
  assert all(x > 0 for part in roofline["speeds"].values() for x in part)
  assert figures["parts"].keys() == {"step", "host_rows"}


def test_a_gpu_has_no_limit_of_a_core(capsys):
  parts = {"step": [2.0], "host_rows": [1.0]}
  result = graph.GraphTimes("an H200", 4096, 1, 4, 2, Timing([4.0], []), parts, None)
  graph.report(result, None)
  printed = capsys.readouterr().out
  assert "steps on rows in place" in printed and "What bounds a step" not in printed
  line = json.loads(printed.splitlines()[-1])
  assert line["of_limit"] is None and line["triples_per_second"] == {"luke_jax": 1024.0}
