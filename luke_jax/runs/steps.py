"""Steps, each a process of luke-jax, several at once, finished ones never again.

Their progress is shown on a terminal, or in a log.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import NamedTuple

from rich.console import Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from luke_jax.errors import InputError
from luke_jax.files import Path, write_json
from luke_jax.terminal import Console
from luke_jax.training.directory import read_json

DONE, LOGS = "steps.json", "logs"
MOST_AT_ONCE = 4
PAUSE = 0.2  # seconds
TAIL = 4096  # bytes at a log's end that hold its last line

Cores = frozenset[int]  # reserved for a step; empty where the system cannot reserve them


class Step(NamedTuple):
  """Command of luke-jax, the names of the steps that it needs, and the folder that it makes.

  A step that is `long` computes on all cores, also on those that shorter ones have until they end.
  """

  name: str
  title: str
  arguments: tuple[str, ...]  # to luke-jax
  needs: tuple[str, ...] = ()
  makes: str = ""  # in the folder of all steps; nothing for a file or what lies elsewhere
  long: bool = False
  also: tuple[str, ...] = ()  # arguments that change nothing of what is made

  @property
  def command(self) -> str:
    """Returns the command as a user would type it."""
    quoted = (f"'{x}'" if set(x) & set(" ()[]'\"") else x for x in self.arguments)
    return f"luke-jax {' '.join(quoted)}"


class Where(NamedTuple):
  """The directory that steps run in, and what their environment has beside that of this process."""

  directory: Path | None = None
  environment: Mapping[str, str] = MappingProxyType({})


HERE = Where()


class Child(NamedTuple):
  """Process of a running step."""

  process: subprocess.Popen
  log: Path
  since: float
  cores: Cores = Cores()


class Status(NamedTuple):
  """Progress of the steps: the seconds of finished ones and the processes of running ones."""

  steps: Sequence[Step]
  done: Mapping[str, float]
  running: Mapping[str, Child]


def run(
  steps: Sequence[Step], folder: Path, show: Callable[[Status], None], where: Where = HERE
) -> dict[str, float]:
  """Runs the steps that are not done yet, and returns the seconds of every step."""
  (folder / LOGS).mkdir(parents=True, exist_ok=True)
  done, free = _done(steps, folder), shares()
  _remove_outdated(steps, folder)
  with _children() as running:
    while len(done) < len(steps):
      for step in _ready(steps, done, running)[: len(free)]:
        running[step.name] = _start(step, folder, free.pop(), where)
      time.sleep(PAUSE)
      for step in [step for step in steps if step.name in running]:
        child = running[step.name]
        if child.process.poll() is None:
          continue
        if child.process.returncode:
          fault = f"status {child.process.returncode}, {last_line(child.log)!r}"
          raise InputError(f"{step.command}: {fault}; the whole log is {child.log}")
        free.append(child.cores)
        done[step.name] = time.monotonic() - running.pop(step.name).since
        _write_done(steps, done, folder)
      show(Status(steps, done, running))
  return done


def shares() -> list[Cores]:
  """Returns disjoint sets of cores for the steps that run at once.

  Two steps that share cores would take twice as long.
  """
  if not hasattr(os, "sched_setaffinity"):
    return [Cores()] * 2
  cores = sorted(os.sched_getaffinity(0))
  number = min(len(cores), MOST_AT_ONCE)
  return [Cores(cores[first::number]) for first in range(number)]


def last_line(log: Path) -> str:
  """Returns the last line of a log that is not blank."""
  with log.open("rb") as file:
    file.seek(max(0, log.stat().st_size - TAIL))
    lines = file.read().decode("utf-8", "replace").split("\n")
  return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _written(folder: Path) -> dict[str, dict]:
  return read_json(folder / DONE) if (folder / DONE).exists() else {}


def _remove_outdated(steps: Sequence[Step], folder: Path) -> None:
  """Removes what other commands made, as those of another version, and what was made from it.

  A training that found its folder there would go on with it, or take its result for its own.
  """
  written, outdated = _written(folder), set[str]()
  for step in steps:
    by_another = written.get(step.name, {}).get("command", step.command) != step.command
    if by_another or outdated.intersection(step.needs):
      outdated.add(step.name)
      if step.makes:
        shutil.rmtree(folder / step.makes, ignore_errors=True)


def _done(steps: Sequence[Step], folder: Path) -> dict[str, float]:
  """Returns the steps that an earlier call finished, with their seconds."""
  written = _written(folder)
  same = {step.name for step in steps if written.get(step.name, {}).get("command") == step.command}
  valid: dict[str, float] = {}
  for step in steps:  # in their order, in which a step follows those it needs
    if step.name in same and all(need in valid for need in step.needs):
      valid[step.name] = written[step.name]["seconds"]
  return valid


def _write_done(steps: Sequence[Step], done: Mapping[str, float], folder: Path) -> None:
  by_name = {step.name: step for step in steps}
  value = {
    name: {"command": by_name[name].command, "seconds": seconds} for name, seconds in done.items()
  }
  write_json(folder / DONE, value)


def _ready(
  steps: Sequence[Step], done: Mapping[str, float], running: Mapping[str, Child]
) -> list[Step]:
  waiting = [step for step in steps if step.name not in done and step.name not in running]
  return [step for step in waiting if all(need in done for need in step.needs)]


def _start(step: Step, folder: Path, cores: Cores, where: Where) -> Child:
  log = folder / LOGS / f"{step.name}.txt"
  with log.open("w", encoding="utf-8") as file:
    process = subprocess.Popen(
      [sys.executable, "-m", "luke_jax", *step.arguments, *step.also],
      cwd=where.directory,
      env=os.environ | where.environment,
      stdin=subprocess.DEVNULL,
      stdout=file,
      stderr=subprocess.STDOUT,
    )
  if cores and not step.long:
    os.sched_setaffinity(process.pid, cores)
  return Child(process, log, time.monotonic(), cores)


@contextmanager
def _children() -> Iterator[dict[str, Child]]:
  """Yields the running steps, and ends them in any case when the block is left."""
  running: dict[str, Child] = {}
  before = signal.signal(signal.SIGTERM, _stop)
  try:
    yield running
  finally:
    for child in running.values():
      child.process.terminate()  # a training saves a checkpoint, from which it resumes
    for child in running.values():
      child.process.wait()
    signal.signal(signal.SIGTERM, before)


def _stop(*_: object) -> None:
  raise KeyboardInterrupt


BAR = 12  # characters
STEP_OF = re.compile(r"step (\d+)/(\d+): (.*)")


class Screen:
  """Display of the steps: on a terminal a list with bars, elsewhere a line per finished step."""

  def __init__(self, console: Console) -> None:
    self._console, self._printed, self._began = console, set[str](), time.monotonic()
    live = console.is_terminal and not console.is_dumb_terminal
    self._live = Live(console=console, refresh_per_second=4) if live else None

  def __enter__(self) -> "Screen":
    if self._live:
      self._live.start()
    return self

  def __exit__(self, *fault) -> None:
    if self._live:
      self._live.stop()

  def show(self, status: Status) -> None:
    """Shows the progress of the steps."""
    if self._live:
      self._live.update(self._table(status))
      return
    for number, step in enumerate(status.steps, start=1):
      here = f"[{number}/{len(status.steps)}] {step.title}"
      if step.name in status.done and step.name not in self._printed:
        self._printed.add(step.name)
        self._console.print(Text(f"{here}: {status.done[step.name]:.0f} s"), soft_wrap=True)

  def _table(self, status: Status) -> Group:
    # On a narrow terminal only the last column, a step's last message, is cut.
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(min_width=1)
    table.add_column(min_width=max(len(step.title) for step in status.steps))
    table.add_column(min_width=len("100 s"), justify="right")
    table.add_column(min_width=BAR)
    table.add_column(ratio=1, no_wrap=True)
    for step in status.steps:
      table.add_row(*self._row(status, step))
    seconds = time.monotonic() - self._began
    summary = f"{len(status.done)} of {len(status.steps)} steps, {seconds:.0f} s"
    return Group(table, Text(summary, "bold"))

  def _row(self, status: Status, step: Step) -> tuple:
    """Returns a step's mark, title, seconds, bar and last message."""
    if step.name in status.done:
      return Text("✓", "green"), step.title, f"{status.done[step.name]:.0f} s", "", ""
    if step.name not in status.running:
      return "", Text(step.title, "dim"), "", "", ""
    child = status.running[step.name]
    message, bar = last_line(child.log), ""
    if match := STEP_OF.match(message):
      message, bar = match[3], ProgressBar(int(match[2]), int(match[1]), width=BAR)
    seconds = f"{time.monotonic() - child.since:.0f} s"
    return Text("…", "yellow"), Text(step.title, "bold"), seconds, bar, Text(message, "dim")
