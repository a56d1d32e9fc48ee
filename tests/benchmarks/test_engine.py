"""What `python -m benchmarks engine` says of the loop around the step."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cheap_programs import flags

from benchmarks.__main__ import main
from benchmarks.engine import EngineTimes

ROOT = Path(__file__).resolve().parents[2]


def test_overhead_is_a_median_of_differences():
  result = EngineTimes(
    machine="", device="", versions={}, steps=1, loop=[5, 9, 4], waiting=[], bare=[4, 2, 1]
  )
  assert result.overhead == 3


@pytest.mark.parametrize("option", ["steps", "rounds"])
def test_what_cannot_be_timed(option, capsys):
  assert main(["engine", f"--{option}", "0"]) == 2
  said = capsys.readouterr().err.splitlines()
  assert said[-1] == f"luke-jax: {option}: 0; expected 1 or more"


@pytest.mark.slow
def test_the_loop_adds_little_to_a_step(tmp_path):
  """On one device, so in a process of its own. What the step takes is not the subject."""
  environment = os.environ | {"XLA_FLAGS": flags(devices=1), "PYTHONPATH": str(ROOT)}
  command = [sys.executable, "-m", "benchmarks", "engine", "--steps", "40", "--rounds", "2"]
  command += ["--output", "out.json"]
  done = subprocess.run(
    command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
  )
  figures = json.loads((tmp_path / "out.json").read_text())
  summary = json.loads(done.stdout.splitlines()[-1])
  assert summary == {"overhead_ms": figures["overhead_ms"]}
  assert len(figures["loop"]) == len(figures["bare"]) == 2
  assert all(
    0 < waiting < loop for waiting, loop in zip(figures["waiting"], figures["loop"], strict=True)
  )
  # 2 on an idle machine, up to 18 where other tests run beside it; what compiles or saves in each
  # step takes hundreds.
  assert min(loop - bare for loop, bare in zip(figures["loop"], figures["bare"], strict=True)) < 100
