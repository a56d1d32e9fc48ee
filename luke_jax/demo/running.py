"""Runner of the demo's steps: each a process, several at once, finished ones never again.

Their progress is shown on a terminal, or in a log.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from rich.console import Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

import luke_jax
from luke_jax.convert.published import ENGLISH as MINILM
from luke_jax.errors import InputError
from luke_jax.files import Path, write_json
from luke_jax.terminal import Console
from luke_jax.training.directory import read_json

WIKI = "data/sample_wiki"
_CHECKOUT, _PACKED = Path(luke_jax.__file__).resolve().parents[1], Path(__file__).with_name("files")
# What steps read lies in the repository; a wheel has it beside this module.
REPOSITORY = _CHECKOUT if (_CHECKOUT / WIKI).is_dir() else _PACKED
ENGLISH = "data/english/sample"
SEED = 1
# The record sizes that experiments/pretraining.py:tiny expects.
RECORD_OPTIONS = (
  *("--entities", "300", "--max-words", "48", "--max-entities", "16"),
  *("--unknown-entities", "skip"),
)
FRESH = "-not-pretrained"  # suffix of the step that trains a task from random parameters


class Step(NamedTuple):
  """Command of luke-jax, the names of the steps that it needs, and the folder that it makes.

  A step that is `long` computes on all cores, also on those that shorter ones have until they end.
  """

  name: str
  title: str
  arguments: tuple[str, ...]  # to luke-jax, which runs in the repository
  needs: tuple[str, ...] = ()
  makes: str = ""  # in the demo's folder; nothing for a file or what lies elsewhere
  long: bool = False

  @property
  def command(self) -> str:
    """Returns the command as a user would type it."""
    quoted = (f"'{x}'" if set(x) & set(" ()[]'\"") else x for x in self.arguments)
    return f"luke-jax {' '.join(quoted)}"


def check_repository() -> None:
  """Raises InputError unless the files that steps read are present."""
  for name in (WIKI, ENGLISH, "experiments/sample.py"):
    if not (REPOSITORY / name).exists():
      raise InputError(
        f"{REPOSITORY}: no {name}; expected what a wheel of luke_jax or a checkout of the"
        " repository has"
      )


def steps(folder: Path) -> list[Step]:
  """Returns all steps, each after those it needs; the longest come first."""
  if folder.is_relative_to(REPOSITORY):  # the working directory of the steps
    folder = folder.relative_to(REPOSITORY)
  return [*_english(folder), *_from_a_dump(folder)]


def _english(folder: Path) -> list[Step]:
  """Returns the steps about real English, from weights that know it."""
  fetched = [] if MINILM.is_here else [Step("english", "fetch MiniLM, 83 MB", ("get", "english"))]
  needs = tuple(step.name for step in fetched)
  train = _trained(folder, "relations", "experiments/english.py:relations-demo")
  names = f"{ENGLISH}/ner/test.jsonl"
  scored = ("evaluate", "ner", "english/ner", names, "--html", str(folder / "names.html"))
  convert = ("convert", f"{run_folder(folder, 'relations')}/model", str(folder / "pytorch"))
  return [
    *fetched,
    Step("relations", "train on relations in English", train, needs, "relations", long=True),
    Step("names", "score the names in the box", scored, needs),
    Step("pytorch", "a directory for PyTorch", convert, ("relations",), "pytorch"),
  ]


def _from_a_dump(folder: Path) -> list[Step]:
  """Returns the steps from a wiki's dump to a pretrained model and one that was fine-tuned."""
  records, model, run = folder / "records", folder / "luke", str(folder / "pretraining")
  text = records / "pretraining"
  build = ("wiki", "build", f"{WIKI}/samplewiki-pages-articles-multistream.xml.bz2")
  build += ("--tokenizer", f"{WIKI}/tokenizer", *RECORD_OPTIONS, "--output", str(records))
  pretrain = ("train", "experiments/pretraining.py:tiny", "--output", run)
  pretrain += ("--set", f"task.corpora={json.dumps([str(text)])}")
  typing, changes = "experiments/sample.py:typing", (f"task.text={text}", "run.epochs=2")
  first = _trained(folder, "typing", typing, (*changes, f"run.start={model}"))
  fresh = _trained(folder, "typing" + FRESH, typing, (*changes, "run.start=null"))
  return [
    Step("records", "wiki dump to training records", build, (), "records"),
    Step("pretraining", "pretrain a tiny LUKE", pretrain, ("records",), "pretraining"),
    Step("export", "model directory", ("export", run, str(model)), ("pretraining",), "luke"),
    Step("typing", "fine-tune: types", first, ("export",), "typing"),
    Step("typing" + FRESH, "not pretrained: types", fresh, ("records",), "typing" + FRESH),
  ]


def _trained(
  folder: Path, name: str, experiment: str, changes: Sequence[str] = ()
) -> tuple[str, ...]:
  output = ("--seeds", str(SEED), "--output", str(folder / name))
  sets = (part for change in changes for part in ("--set", change))
  return ("experiment", "run", experiment, *output, *sets)


def run_folder(folder: Path, name: str) -> Path:
  """Returns the folder of a step's run."""
  return folder / name / f"seed-{SEED}"


def result(folder: Path, name: str) -> Mapping[str, Any]:
  """Returns the result that a step's run wrote."""
  return json.loads((run_folder(folder, name) / "result.json").read_text(encoding="utf-8"))


DONE, LOGS = "steps.json", "logs"
MOST_AT_ONCE = 4
PAUSE = 0.2  # seconds
TAIL = 4096  # bytes at a log's end that hold its last line
COMPILED = "compiled"  # XLA's cache, since half of the programs occur in two steps

Cores = frozenset[int]  # reserved for a step; empty where the system cannot reserve them


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


def run(steps: Sequence[Step], folder: Path, show: Callable[[Status], None]) -> dict[str, float]:
  """Runs the steps that are not done yet, and returns the seconds of every step."""
  (folder / LOGS).mkdir(parents=True, exist_ok=True)
  done, free = _done(steps, folder), shares()
  _remove_outdated(steps, folder)
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
  if cores and not step.long:
    os.sched_setaffinity(process.pid, cores)
  return Child(process, log, time.monotonic(), cores)


def _environment(folder: Path) -> dict[str, str]:
  return {
    "JAX_COMPILATION_CACHE_DIR": str(folder / COMPILED),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    # An accelerator gains nothing with such small models, and two processes cannot share one.
    "JAX_PLATFORMS": "cpu",
    # Memory of large arrays is kept for the next step; the system would clear it each time.
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": "100000000000",
    # At this level compiling takes a third less time, and the programs are as fast.
    "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} --xla_backend_optimization_level=1",
  }


def _failure(step: Step, child: Child) -> str:
  return (
    f"{step.command}: status {child.process.returncode}, {last_line(child.log)!r}; the whole log is"
    f" {child.log}"
  )


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
