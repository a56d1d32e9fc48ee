"""Folder of a run: its config, checkpoints, metrics and ledger."""

import contextlib
import json
import os
import time
from collections.abc import Callable, Generator, Mapping
from typing import Any, Literal, get_args

from luke_jax.errors import InputError
from luke_jax.files import Path, in_bucket, is_part, write_json
from luke_jax.files.locks import LOCK
from luke_jax.training.experiment import Experiment, differences, from_dict, to_dict

NOTED = 30.0  # seconds between notes of the wall clock in a bucket
CONFIG, LEDGER, CHECKPOINTS = "config.json", "ledger.json", "checkpoints"
DEV = "dev.json"  # what is behind the best scores of dev
WHOLE = "whole.json"  # step and scores on all of dev, where a part of it chose the checkpoint
FOLDS = "folds"  # of a cross-validation, in the folder of the run on all examples
DATA = "data.json"  # fingerprints of what the run reads, by name
PIPED = "piped"  # examples that were piped into the command, with an ending; before the run, too
LABELS = "labels"  # folder with what a task reads its labels as; it is made before the run

# Fields that may change when a run is resumed, since its numbers do not depend on them.
FREE = ("mesh", "running.remat", "data.workers", "data.evaluation_batch_size")
FREE += tuple(f"run.{name}" for name in ("log_every", "save_every", "keep", "keep_every"))
# A run that met a bad step goes on with it, and one that met none is not changed by it.
FREE += ("run.skip_bad_steps",)
# Those in which a run may differ from one that it branches from, beside these and the schedule.
BRANCHED = ("schedule", "run.branch", "run.steps", "run.epochs", "run.evaluate_every")
BRANCHED += ("run.best_metric", "run.tolerance", "run.patience")
Part = Literal["start", "compile", "data", "step", "evaluation", "checkpoint", "lost"]
PARTS: tuple[Part, ...] = get_args(Part)


class Ledger:
  """Clock that charges all time since it was made to one of `PARTS`, "step" by default.

  Time is counted in whole nanoseconds, so that the parts add up exactly.
  """

  def __init__(
    self,
    previous: Mapping[str, int] | None = None,
    *,
    clock: Callable[[], int] = time.perf_counter_ns,
  ) -> None:
    self._clock = clock
    self._spent: dict[str, int] = dict.fromkeys(PARTS, 0)
    self._current: Part = "step"
    self._since = clock()
    self.noted = 0.0  # the wall clock when it was last written
    self.add_previous(previous or {})

  @contextlib.contextmanager
  def part(self, name: Part) -> Generator[None, None, None]:
    """Charges the time of a block to a part; of nested blocks the inner one is charged."""
    if name not in PARTS:
      raise KeyError(name)
    outer = self._switch(name)
    try:
      yield
    finally:
      self._switch(outer)

  def add_previous(self, state: Mapping[str, int]) -> None:
    """Adds what an earlier process of the run had spent, which is its `state()`."""
    for name in PARTS:
      self._spent[name] += state.get(name, 0)

  def add_lost(self, seconds: float) -> None:
    """Adds what an earlier process had spent on steps after its last checkpoint."""
    self._spent["lost"] += round(seconds * 1e9)

  def state(self) -> dict[str, int]:
    """Returns nanoseconds by part until now, as JSON values."""
    self._switch(self._current)
    return dict(self._spent)

  @property
  def seconds(self) -> dict[str, float]:
    """Returns seconds by part until now."""
    return {name: spent / 1e9 for name, spent in self.state().items()}

  @property
  def wall(self) -> float:
    """Returns the seconds of all processes of the run together until now."""
    return sum(self.state().values()) / 1e9

  def share(self, name: Literal["data", "step"]) -> float:
    """Returns the share of "data" or "step" in the time of steps, waiting for data included."""
    spent = self.state()
    return spent[name] / max(spent["data"] + spent["step"], 1)

  @property
  def goodput(self) -> float:
    """Returns the share of the wall clock, over restarts too, that went into steps."""
    return self.state()["step"] / 1e9 / max(self.wall, 1e-9)

  def read(self, folder: Path) -> int | None:
    """Adds the time of the run's earlier processes; time after their last checkpoint is lost.

    Returns the last step of a run that is done.
    """
    path = folder / LEDGER
    if not path.exists():
      return None
    previous = read_json(path)
    self.add_previous(previous["saved"])
    self.add_lost(previous["wall"] - previous["saved_wall"])
    return previous.get("done")

  def write(self, folder: Path, done: int | None = None) -> None:
    """Writes the time as of a checkpoint, and the last step of a run that is done."""
    wall = self.wall
    times = {"saved": self.state(), "saved_wall": wall, "wall": wall, "done": done}
    write_json(folder / LEDGER, times | {"goodput": round(self.goodput, 4)})

  def write_wall(self, folder: Path) -> None:
    """Updates the wall clock alone, so that time after the checkpoint is counted if killed.

    An object in a bucket may not be written more than once a second, and takes a while.
    """
    path = folder / LEDGER
    if in_bucket(folder) and self.wall < self.noted + NOTED:
      return
    self.noted = self.wall
    previous = read_json(path) if path.exists() else {"saved": {}, "saved_wall": 0.0}
    write_json(path, previous | {"wall": self.wall})

  def _switch(self, name: Part) -> Part:
    """Charges the time since the last switch, and from now on to `name`; returns the last part."""
    now, last = self._clock(), self._current
    self._spent[last] += now - self._since
    self._since, self._current = now, name
    return last


def prepare(folder: Path, experiment: Experiment, data: Mapping[str, str]) -> None:
  """Makes the folder and writes config and data; raises InputError if it holds another run.

  `data` has fingerprints of what the run reads, by name. It also removes what an earlier process of
  the run was writing when it was killed.
  """
  current = to_dict(experiment)
  path = folder / CONFIG
  # A run that ended before its first step, such as by an error in its config, may be overwritten.
  begun = path.exists() and (_has_files(folder / CHECKPOINTS) or (folder / LEDGER).exists())
  if begun:
    check_data(folder, data)
    if lines := others(folder, experiment):
      raise InputError(f"{folder}: holds another run ({lines}); expected a new folder")
  elif not path.exists() and _has_files(folder):
    raise InputError(f"{folder}: is not empty and holds no run; expected a new folder")
  folder.mkdir(parents=True, exist_ok=True)
  if not in_bucket(folder) and not os.access(folder, os.W_OK):
    raise InputError(f"{folder}: no permission to write")
  for part in filter(is_part, folder.iterdir()):
    part.unlink()
  write_json(path, current)
  write_json(folder / DATA, dict(data))


def others(folder: Path, experiment: Experiment, free: tuple[str, ...] = ()) -> str:
  """Returns the differences of a run's experiment from another, but for fields that may differ."""
  lines = differences(_saved(folder / CONFIG, experiment), to_dict(experiment))
  return "; ".join(x for x in lines if not _free(x, (*FREE, *free)))


def _saved(path: Path, experiment: Experiment) -> dict[str, Any]:
  """Returns a run's config, with the defaults of fields that are younger than the run."""
  saved = read_json(path)
  with contextlib.suppress(InputError):  # what is wrong with it is among the differences
    return to_dict(from_dict(saved, experiment))
  return saved


def check_data(folder: Path, data: Mapping[str, str]) -> None:
  """Raises InputError for data that changed since the run began."""
  if not (folder / DATA).exists():  # of a run that began before data had fingerprints
    return
  before = read_json(folder / DATA)
  for name in sorted(before.keys() | data.keys()):
    there, here = before.get(name, "none"), data.get(name, "none")
    if there != here:
      raise InputError(
        f"{folder}: the data changed since the run began: {name}: {there[:16]} then,"
        f" {here[:16]} now; expected the same, or a new folder"
      )


def _has_files(folder: Path) -> bool:
  inside = folder.iterdir() if folder.exists() else ()
  return any(x.name not in (LOCK, LABELS) and x.stem != PIPED for x in inside)


def _free(line: str, fields: tuple[str, ...]) -> bool:
  name = line.split(":")[0]
  return any(name == free or name.startswith(f"{free}.") for free in fields)


def read_json(path: Path) -> Any:
  """Reads a JSON file of a run; raises InputError if it is not JSON."""
  try:
    return json.loads(path.read_text(encoding="utf-8"))
  except ValueError as fault:
    raise InputError(f"{path}: {fault}; expected JSON") from None
