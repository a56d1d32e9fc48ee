"""What libraries write to the standard error is passed on, but for the end of a lost process."""

import subprocess
import sys

CODE = """
import os, sys
from luke_jax.training.processes import (LibraryMessages)

with LibraryMessages() as libraries:
  os.write(2, b"W1123 14:03:17.1 9389 tpu.cc:1] a warning of coordination_service.cc\\n")
  print("from Python", file=sys.stderr)
  libraries.read()
  assert not libraries.lost
  os.write(2, b"E1123 14:03:17.5 9389 coordination_service_agent.cc:289] Polled an error\\nmore\\n")
  libraries.read()
  assert libraries.lost.count(b"\\n") == 2
  libraries.say("process 1 is gone")
os.write(2, b"afterwards\\n")
"""


def test_lines_are_passed_on_up_to_the_one_that_tells_of_a_loss():
  done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
  lines = done.stderr.splitlines()
  assert sorted(line.split("] ")[-1] for line in lines) == [
    *("a warning of coordination_service.cc", "afterwards", "from Python", "process 1 is gone")
  ]
