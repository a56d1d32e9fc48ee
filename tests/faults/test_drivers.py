"""The drivers of faults, run as anyone would; docs/pods.md tells what longer runs of them found."""

import ast
import json
import subprocess
import sys
from collections import Counter

import pytest

from tests.faults import damage, kills, pods
from tests.faults.commands import differing_bits


def driven(name, *arguments):
  """Status and lines of `python -m tests.faults.NAME ARGUMENTS`."""
  command = [sys.executable, "-m", f"tests.faults.{name}", *arguments]
  done = subprocess.run(command, capture_output=True, text=True, timeout=280)
  return done.returncode, done.stdout.strip().splitlines(), done.stderr


def test_bits_that_differ_are_counted():
  one = {"a": b"\x00\xff", "b": b"\x01"}
  assert differing_bits(one, one) == 0
  assert differing_bits(one, one | {"a": b"\x03\xff"}) == 2
  assert differing_bits(one, {"a": b"\x00\xff"}) == 8
  assert differing_bits(one, one | {"b": b"\x01\x00"}) == 16


def test_wrong_values_are_seen(monkeypatch, tmp_path):
  monkeypatch.setattr(damage, "opened", lambda folder: (30, {"bytes": [b"\x01"]}))
  assert damage.outcome(tmp_path, {30: {"bytes": [b"\x00"]}}) == "WRONG VALUES"
  assert damage.outcome(tmp_path, {30: {"bytes": [b"\x01"]}}) == "unharmed"


def test_an_end_in_time_is_no_kill():
  counts = Counter()
  process = subprocess.Popen(["true"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
  assert not kills.kill(process, 20, counts, "export") and not counts
  sleeping = subprocess.Popen(
    ["sleep", "60"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
  )
  assert kills.kill(sleeping, 0.1, counts, "export")
  assert counts == {"kills": 1, "export": 1}


@pytest.mark.slow
def test_killed_runs_and_exports_end_as_one_that_was_not():
  # With this seed nothing is compiled again.
  status, lines, errors = driven("kills", "--kills", "2", "--seed", "2")
  assert status == 0, errors
  counts = ast.literal_eval(lines[-1])
  assert counts["kills"] == 2 and counts["runs"] >= 1 and counts["differing bits"] == 0
  phases = {"start", "compile", "steps or restart", "save", "export"}
  assert sum(count for name, count in counts.items() if name in phases) == 2


@pytest.mark.slow
def test_a_row_tells_how_all_end_after_a_signal_to_one(tmp_path):
  """SIGINT to the first: SIGTERM to the last is in tests/training/test_processes.py."""
  found = pods.ends(tmp_path, 2, "SIGINT", 0)
  assert [end.status for end in found] == [130, 130], found
  cells = [cell.strip() for cell in pods.row(2, "SIGINT", 0, found).strip("|").split("|")]
  assert cells[:4] == ["2", "SIGINT to 0", "130", "130"]
  assert 0 <= float(cells[4]) < 60


@pytest.mark.slow
def test_a_server_under_load_answers_rightly_and_ends_when_told():
  status, lines, errors = driven("load", "--clients", "20", "--seconds", "10")
  assert status == 0, errors
  figures = json.loads("".join(lines))
  assert figures["requests"] > 20 and figures["wrong"] == 0
  before, after = figures["MiB"]
  assert after < before + 200
