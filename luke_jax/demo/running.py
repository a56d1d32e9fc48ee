"""Runs steps as processes, as many at once as there is room for, and those that are done never."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from luke_jax.demo.steps import REPOSITORY, Step
from luke_jax.errors import InputError
from luke_jax.files import write_json
from luke_jax.training.directory import read_json

DONE, LOGS = "steps.json", "logs"
MOST_AT_ONCE = 4
PAUSE = 0.2  # seconds
TAIL = 4096  # bytes of a log, in which its last line is
COMPILED = "compiled"  # programs: half of them are the same in two steps


Cores = frozenset[int]  # that a step has to itself; empty where none can be kept for it


class Child(NamedTuple):
  """A step on its way."""

  process: subprocess.Popen
  log: Path
  since: float
  cores: Cores = Cores()


class State(NamedTuple):
  """Where the steps are: seconds of the done ones, and what the running ones said last."""

  steps: Sequence[Step]
  done: Mapping[str, float]
  running: Mapping[str, Child]


def run(steps: Sequence[Step], folder: Path, show: Callable[[State], None]) -> dict[str, float]:
  """Runs what is not done yet; how many seconds each step took, now or before."""
  (folder / LOGS).mkdir(parents=True, exist_ok=True)
  done, free = _done(steps, folder), shares()
  with _children() as running:
    while len(done) < len(steps):
      for step in _ready(steps, done, running)[: len(free)]:
        running[step.name] = _start(step, folder, free.pop())
      time.sleep(PAUSE)
      for step in [step for step in steps if step.name in running]:
        child = running[step.name]
        if child.process.poll() is None:
          continue
        if child.process.returncode:
          raise InputError(_failure(step, child))
        free.append(child.cores)
        done[step.name] = time.monotonic() - running.pop(step.name).since
        _note(steps, done, folder)
      show(State(steps, done, running))
  return done


def shares() -> list[Cores]:
  """The cores of each of the steps that run at once: two that share cores take twice as long."""
  if not hasattr(os, "sched_setaffinity"):
    return [Cores()] * 2
  cores = sorted(os.sched_getaffinity(0))
  number = min(len(cores), MOST_AT_ONCE)
  return [Cores(cores[first::number]) for first in range(number)]


def last_line(log: Path) -> str:
  """What a command said last."""
  with log.open("rb") as file:
    file.seek(max(0, log.stat().st_size - TAIL))
    lines = file.read().decode("utf-8", "replace").split("\n")
  return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _done(steps: Sequence[Step], folder: Path) -> dict[str, float]:
  """The steps that an earlier call finished, with their seconds."""
  noted = read_json(folder / DONE) if (folder / DONE).exists() else {}
  same = {step.name for step in steps if noted.get(step.name, {}).get("command") == step.command}
  kept: dict[str, float] = {}
  for step in steps:  # in their order: what a step needs stands before it
    if step.name in same and all(need in kept for need in step.needs):
      kept[step.name] = noted[step.name]["seconds"]
  return kept


def _note(steps: Sequence[Step], done: Mapping[str, float], folder: Path) -> None:
  by_name = {step.name: step for step in steps}
  noted = {
    name: {"command": by_name[name].command, "seconds": seconds} for name, seconds in done.items()
  }
  write_json(folder / DONE, noted)


def _ready(
  steps: Sequence[Step], done: Mapping[str, float], running: Mapping[str, Child]
) -> list[Step]:
  waiting = [step for step in steps if step.name not in done and step.name not in running]
  return [step for step in waiting if all(need in done for need in step.needs)]


def _start(step: Step, folder: Path, cores: Cores) -> Child:
  log = folder / LOGS / f"{step.name}.txt"
  with log.open("w", encoding="utf-8") as file:
    process = subprocess.Popen(
      [sys.executable, "-m", "luke_jax", *step.arguments],
      cwd=REPOSITORY,
      env=os.environ | _environment(folder),
      stdin=subprocess.DEVNULL,
      stdout=file,
      stderr=subprocess.STDOUT,
    )
  if cores:
    os.sched_setaffinity(process.pid, cores)
  return Child(process, log, time.monotonic(), cores)


def _environment(folder: Path) -> dict[str, str]:
  return {
    "JAX_COMPILATION_CACHE_DIR": str(folder / COMPILED),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    # So small are the models that no accelerator gains anything, and two processes cannot share it.
    "JAX_PLATFORMS": "cpu",
    # They compile in a third less time, and are as fast.
    "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} --xla_backend_optimization_level=1",
  }


def _failure(step: Step, child: Child) -> str:
  return (
    f"{step.command}: status {child.process.returncode}, {last_line(child.log)!r}; all of it is in"
    f" {child.log}"
  )


@contextmanager
def _children() -> Iterator[dict[str, Child]]:
  """The running steps; whatever happens, none is left alone."""
  running: dict[str, Child] = {}
  before = signal.signal(signal.SIGTERM, _stop)
  try:
    yield running
  finally:
    for child in running.values():
      child.process.terminate()  # a training saves a checkpoint, and goes on from there
    for child in running.values():
      child.process.wait()
    signal.signal(signal.SIGTERM, before)


def _stop(*_: object) -> None:
  raise KeyboardInterrupt
