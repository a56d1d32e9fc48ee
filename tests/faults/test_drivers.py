"""The drivers of faults, each run small with all of its options."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def lines(driver, *options):
  """What a driver printed."""
  command = [sys.executable, "-m", f"tests.faults.{driver}", *options]
  done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
  assert done.returncode == 0, done.stderr[-2000:]
  return done.stdout.splitlines()


@pytest.mark.slow
def test_killed_runs_and_exports_end_as_others_do():
  counts = ast.literal_eval(lines("kills", "--kills", "3", "--seed", "2")[-1])
  assert counts["kills"] == 3 and counts["differing bits"] == 0


@pytest.mark.slow
def test_a_table_of_signals():
  _, _, *rows = lines("pods", "--processes", "2", "--signals", "SIGKILL")
  cells = [row.split(" | ") for row in rows]
  assert [row[1:4] for row in cells] == [[f"SIGKILL to {i}", "-9", "75"] for i in range(2)]
  assert all(0 < float(row[4].rstrip(" |")) < 60 for row in cells)


@pytest.mark.slow
def test_a_full_disk_and_a_place_without_a_folder():
  full, nowhere = lines("disk", "--kib", "100")
  assert full.startswith("100 KiB: ") and "checkpoints: not written" in full
  assert full.endswith("before it: none")
  assert nowhere.startswith("no folder: luke-jax: ")
