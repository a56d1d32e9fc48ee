"""A command that is stopped while it still imports."""

import signal
import subprocess
import sys

import pytest

AGAIN = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM])
os.kill(os.getpid(), int(sys.argv[1]))
os.execv(sys.executable, [sys.executable, "-m", "luke_jax", *sys.argv[2:]])
"""
ENDS = [
  (signal.SIGINT, 130, "luke-jax: interrupted"),
  (signal.SIGTERM, 75, "luke-jax: SIGTERM while no step runs"),
]


@pytest.mark.parametrize(("number", "status", "line"), ENDS)
def test_a_training_that_imports_jax_leaves_at_once(number, status, line, tmp_path):
  command = [sys.executable, "-X", "importtime", "-m", "luke_jax", "train", "none.py"]
  command += ["--output", str(tmp_path / "run")]
  with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
    for said in process.stderr:
      if "jax._src.config" in said:  # one of its first modules
        process.send_signal(number)
        break
    rest = [said for said in process.stderr if not said.startswith("import time:")]
  assert process.returncode == status
  assert len(rest) == 1 and rest[0].startswith(line)


@pytest.mark.parametrize(("number", "status", "line"), ENDS)
def test_a_signal_that_comes_while_python_starts_again_is_kept(number, status, line):
  command = [sys.executable, "-c", AGAIN, str(int(number)), "train", "none.py"]
  run = subprocess.run(command, capture_output=True, text=True, check=False)
  assert run.returncode == status
  assert run.stderr.startswith(line) and run.stderr.count("\n") == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_that_is_stopped_before_it_serves_ends_as_later(number):
  command = [sys.executable, "-c", AGAIN, str(int(number)), "serve", "none"]
  run = subprocess.run(command, capture_output=True, text=True, check=False)
  assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
