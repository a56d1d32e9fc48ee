"""Runs as commands: killed, told to leave, and spread over processes."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time

import pytest
from tiny_runs import logged, same

from luke_jax.training.export import read_run

EXPERIMENT = """
import dataclasses
from tiny_runs import experiment

def config():
  return experiment(run={"steps": 24, "log_every": 1, "save_every": 3})
"""


@pytest.fixture(scope="module")
def command(tmp_path_factory):
  """Starts `luke-jax train` in a process of its own, with as many devices as asked for."""
  folder = tmp_path_factory.mktemp("commands")
  (folder / "tiny.py").write_text(EXPERIMENT)
  environment = os.environ | {
    "PYTHONPATH": os.pathsep.join(sys.path),
    "JAX_COMPILATION_CACHE_DIR": str(folder / "cache"),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
  }

  def start(output, *arguments, devices=1, largest_file="unlimited"):
    flags = environment["XLA_FLAGS"].replace("device_count=8", f"device_count={devices}")
    train = [sys.executable, "-m", "luke_jax", "train", folder / "tiny.py", "--output"]
    return subprocess.Popen(
      ["bash", "-c", f'ulimit -f {largest_file}; exec "$@"', "", *train, output, *arguments],
      env=environment | {"XLA_FLAGS": flags},
      stdout=subprocess.PIPE,
      stderr=subprocess.PIPE,
      text=True,
    )

  return start


def finish(*processes):
  """What processes printed last, once all have ended well."""
  outputs = [process.communicate(timeout=150) for process in processes]
  for process, (_, errors) in zip(processes, outputs, strict=True):
    assert process.returncode == 0, errors[-2000:]
  return [out.strip().splitlines()[-1:] for out, _ in outputs]


def refused(process):
  """The one line that a command said before it left with status 2."""
  _, errors = process.communicate(timeout=150)
  assert process.returncode == 2 and "Traceback" not in errors, errors[-2000:]
  return errors.strip().splitlines()[-1]


def wait_for_step(folder, step, process):
  """Waits until a run has logged a step."""
  for _ in range(3000):
    assert process.poll() is None, process.communicate()
    path = folder / "metrics.jsonl"
    if path.exists() and f'"step": {step},' in path.read_text():
      return
    time.sleep(0.05)
  raise AssertionError(f"step {step} did not come")


@pytest.fixture(scope="module")
def whole(command, tmp_path_factory):
  folder = tmp_path_factory.mktemp("whole") / "run"
  begun = time.monotonic()
  finish(command(folder))
  return folder, time.monotonic() - begun


def losses(folder):
  return {line["step"]: line["loss"] for line in logged(folder) if "loss" in line}


def killed_and_resumed(command, whole, folder, kills):
  """Kills a run again and again at random moments, then lets it finish."""
  rng = random.Random(kills)
  expected, seconds = whole
  done = 0
  for _ in range(100):
    process = command(folder)
    try:
      # From the first imports to the last write; later kills fall into ever shorter runs.
      process.wait(timeout=rng.uniform(0.2, 1.0) * seconds)
    except subprocess.TimeoutExpired:
      process.send_signal(signal.SIGKILL)
      process.communicate()
      done += 1
    else:
      process.communicate()
      assert process.returncode == 0
      if done < kills:  # it ended before it was killed: the next run starts at the beginning
        check(folder, expected)
        folder = folder.with_name(f"{folder.name}+")
    if done == kills:
      break
  (summary,) = finish(command(folder))
  check(folder, expected)
  return json.loads(summary[0])


def check(folder, expected):
  assert same(read_run(folder)[2], read_run(expected)[2])
  assert losses(folder) == losses(expected)


def test_a_killed_run_ends_like_one_that_was_not(command, whole, tmp_path):
  summary = killed_and_resumed(command, whole, tmp_path / "run", kills=1)
  assert summary["status"] == "done"


@pytest.mark.slow
def test_a_run_killed_at_ten_moments_ends_like_one_that_was_not(command, whole, tmp_path):
  killed_and_resumed(command, whole, tmp_path / "run", kills=10)


@pytest.mark.slow
def test_sigterm_saves_and_leaves(command, whole, tmp_path):
  folder = tmp_path / "run"
  process = command(folder, "--set", "run.save_every=1000")
  wait_for_step(folder, 3, process)
  begun = time.monotonic()
  process.send_signal(signal.SIGTERM)
  ((summary,),) = finish(process)
  assert json.loads(summary)["status"] == "preempted"
  assert time.monotonic() - begun < 20
  ((summary,),) = finish(command(folder, "--set", "run.save_every=1000"))
  assert json.loads(summary)["status"] == "done"
  assert losses(folder) == losses(whole[0])


def together(command, folder, count, *arguments, devices=2):
  """One command in each of several processes on this machine."""
  with socket.socket() as free:
    free.bind(("localhost", 0))
    port = free.getsockname()[1]
  coordinator = ["--coordinator", f"localhost:{port}", "--processes", str(count)]
  return [
    command(folder, *coordinator, "--process", str(i), *arguments, devices=devices)
    for i in range(count)
  ]


@pytest.mark.slow
@pytest.mark.parametrize(
  ("count", "arguments"),
  [
    (2, ()),
    (4, ("--set", "mesh.replica=2", "--set", "data.workers=1")),
  ],
)
def test_processes_together_do_what_one_does(count, arguments, command, whole, tmp_path):
  outputs = finish(*together(command, tmp_path / "run", count, *arguments))
  assert json.loads(outputs[0][0])["status"] == "done"
  assert not any(line.startswith("{") for last in outputs[1:] for line in last)
  expected = losses(whole[0])
  assert losses(tmp_path / "run") == pytest.approx(expected, rel=1e-5)


@pytest.mark.slow
def test_sigterm_to_one_process_saves_on_all_and_a_single_one_goes_on(command, whole, tmp_path):
  folder = tmp_path / "run"
  processes = together(command, folder, 2, "--set", "run.save_every=1000")
  wait_for_step(folder, 3, processes[0])
  processes[1].send_signal(signal.SIGTERM)
  ((summary,), _) = finish(*processes)
  assert json.loads(summary)["status"] == "preempted"
  finish(command(folder, "--set", "run.save_every=1000"))
  assert losses(folder) == pytest.approx(losses(whole[0]), rel=1e-5)


def test_a_host_that_disagrees_is_told(command, tmp_path):
  with socket.socket() as free:
    free.bind(("localhost", 0))
    port = free.getsockname()[1]
  flags = ["--coordinator", f"localhost:{port}", "--processes", "2", "--process"]
  one = command(tmp_path / "run", *flags, "0")
  other = command(tmp_path / "run", *flags, "1", "--set", "run.seed=7")
  for process in (one, other):
    assert "the experiment: differs on process 1 from process 0" in refused(process)
  assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_full_disk_is_one_line(command, tmp_path):
  """Stood in for by a limit on the size of files, in KiB."""
  line = refused(command(tmp_path / "run", largest_file=100))
  assert "checkpoints: not written" in line and line.endswith("before it: none")
  finish(command(tmp_path / "run"))
