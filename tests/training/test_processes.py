"""Runs as commands: killed, told to leave, and spread over processes."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tiny_runs import logged, same

from luke_jax.errors import InputError
from luke_jax.training import processes
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

  started = []

  def start(output, *arguments, devices=1, largest_file="unlimited"):
    flags = environment["XLA_FLAGS"].replace("device_count=8", f"device_count={devices}")
    train = [sys.executable, "-m", "luke_jax", "train", folder / "tiny.py", "--output"]
    process = subprocess.Popen(
      ["bash", "-c", f'ulimit -f {largest_file}; exec "$@"', "", *train, output, *arguments],
      env=environment | {"XLA_FLAGS": flags},
      stdout=subprocess.PIPE,
      stderr=subprocess.PIPE,
      text=True,
    )
    started.append(process)
    return process

  yield start
  for process in started:  # of tests that failed
    if process.poll() is None:
      process.kill()
      process.communicate()


def finish(*commands, status=0):
  """What processes printed last, once all have ended with a status."""
  outputs = [process.communicate(timeout=400) for process in commands]
  for process, (_, errors) in zip(commands, outputs, strict=True):
    assert process.returncode == status and "Traceback" not in errors, errors[-2000:]
  return [out.strip().splitlines()[-1:] for out, _ in outputs]


def refused(process):
  """The one line that a command said before it left with status 2."""
  _, errors = process.communicate(timeout=400)
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
  finish(command(folder))
  return folder


def losses(folder):
  return {line["step"]: line["loss"] for line in logged(folder) if "loss" in line}


@pytest.mark.slow
def test_signals_save_and_leave(command, whole, tmp_path):
  """SIGTERM, then SIGINT to the run that goes on; kills are in tests/faults/test_drivers.py."""
  folder = tmp_path / "run"
  for step, number, said, status in (
    (3, signal.SIGTERM, "preempted", 75),
    (12, signal.SIGINT, "interrupted", 130),
  ):
    process = command(folder, "--set", "run.save_every=1000")
    wait_for_step(folder, step, process)
    begun = time.monotonic()
    process.send_signal(number)
    ((summary,),) = finish(process, status=status)
    summary = json.loads(summary)
    assert summary["status"] == said
    assert 0 < summary["seconds_to_leave"] < time.monotonic() - begun < 20
  ((summary,),) = finish(command(folder, "--set", "run.save_every=1000"))
  assert json.loads(summary)["status"] == "done"
  assert losses(folder) == losses(whole)
  assert same(read_run(folder)[2], read_run(whole)[2])


def test_a_signal_before_the_first_step_leaves_at_once(command, tmp_path):
  process = command(tmp_path / "run")
  for line in process.stdout:
    if line.startswith("run"):  # the config, before anything compiles
      break
  process.send_signal(signal.SIGTERM)
  _, errors = process.communicate(timeout=60)
  assert process.returncode == 75, errors
  assert "SIGTERM before the first step: nothing to save; the same command goes on" in errors


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
def test_processes_together_do_what_one_does(command, whole, tmp_path):
  """Four; two do in what follows, until a signal."""
  arguments = ("--set", "mesh.replica=2", "--set", "data.workers=1")
  outputs = finish(*together(command, tmp_path / "run", 4, *arguments, devices=1))
  assert json.loads(outputs[0][0])["status"] == "done"
  assert not any(line.startswith("{") for last in outputs[1:] for line in last)
  expected = losses(whole)
  assert losses(tmp_path / "run") == pytest.approx(expected, rel=1e-5)


@pytest.mark.slow
def test_a_signal_to_one_saves_on_all_and_a_single_one_goes_on(command, whole, tmp_path):
  """SIGINT to one of two is in tests/faults/test_drivers.py."""
  folder = tmp_path / "run"
  both = together(command, folder, 2, "--set", "run.save_every=1000")
  wait_for_step(folder, 3, both[0])
  both[1].send_signal(signal.SIGTERM)
  finish(*both, status=75)
  finish(command(folder, "--set", "run.save_every=1000"))
  assert losses(folder) == pytest.approx(losses(whole), rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("victim", [0, 1])
def test_a_process_that_is_killed_ends_the_other_in_one_line(victim, command, tmp_path):
  folder = tmp_path / "run"
  both = together(command, folder, 2, "--set", "run.steps=100000")
  wait_for_step(folder, 3, both[0])
  both[victim].kill()
  begun = time.monotonic()
  _, errors = both[1 - victim].communicate(timeout=60)
  assert both[1 - victim].returncode == 75, errors[-2000:]
  assert time.monotonic() - begun < 40
  lines = [x for x in errors.splitlines() if not x.startswith("step ") and "compiled in" not in x]
  assert len(lines) == 1 and "is gone; the same command, on every host, goes on" in lines[0]
  both[victim].communicate()


@pytest.mark.slow
def test_a_fault_of_one_process_is_one_line_on_all(command, tmp_path):
  """Here process 0 finds the folder in use for something else, and process 1 waits for it."""
  (tmp_path / "run").mkdir()
  (tmp_path / "run" / "thesis.tex").write_text("")
  for process in together(command, tmp_path / "run", 2):
    assert "is not empty and holds no run" in refused(process)


def descendants(pid):
  tasks = Path(f"/proc/{pid}/task").glob("*/children")  # any thread may have started them
  children = [child for task in tasks for child in task.read_text().split()]
  return [int(x) for x in children] + [y for x in children for y in descendants(x)]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="reads Linux's /proc")
def test_workers_end_with_a_killed_run(command, tmp_path):
  workers = ("--set", "data.workers=2", "--set", "run.steps=100000")
  process = command(tmp_path / "run", *workers)
  wait_for_step(tmp_path / "run", 2, process)
  left = descendants(process.pid)
  assert len(left) >= 2
  process.kill()
  process.communicate()
  until = time.monotonic() + 20
  while any(Path(f"/proc/{pid}").exists() for pid in left) and time.monotonic() < until:
    time.sleep(0.1)
  assert not [pid for pid in left if Path(f"/proc/{pid}").exists()]


def test_hosts_of_a_slice_that_cannot_join_are_refused(monkeypatch):
  def fails(*_, **__):
    raise RuntimeError("connection refused\nwith much more")

  monkeypatch.setattr(processes.jax.distributed, "initialize", fails)
  monkeypatch.setattr(processes, "_has_tpu", lambda: True)
  processes.join(None, None, None)  # one host without metadata
  with pytest.raises(
    InputError, match=r"--coordinator: a:1: connection refused; expected the host"
  ):
    processes.join("a:1", 2, 0)
  monkeypatch.setenv("TPU_WORKER_HOSTNAMES", "host-0,host-1")
  with pytest.raises(
    InputError, match=r"processes: 2 hosts that cannot join .connection refused.;"
  ):
    processes.join(None, None, None)
  monkeypatch.delenv("TPU_WORKER_HOSTNAMES")
  monkeypatch.setattr(processes.jax, "process_count", lambda: 4)
  with pytest.raises(InputError, match=r"processes: 4 hosts that cannot join"):
    processes.join(None, None, None)


def test_nobody_asks_a_client_that_is_not_connected(monkeypatch):
  """JAX makes the client first; a question before it is connected would end the process."""
  state = processes.distributed.global_state
  monkeypatch.setattr(state, "num_processes", 2)
  alone = []

  def connect(*_, **__):
    monkeypatch.setattr(state, "client", object())
    alone.append(processes.joined_alone())

  monkeypatch.setattr(processes.jax.distributed, "initialize", connect)
  processes.join("a:1", 2, 0)
  assert [*alone, processes.joined_alone()] == [True, False]


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
  short = ("--set", "run.steps=3")
  line = refused(command(tmp_path / "run", *short, largest_file=100))
  assert "checkpoints: not written" in line and line.endswith("before it: none")
  finish(command(tmp_path / "run", *short))
