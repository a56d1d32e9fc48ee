"""Checkpoints of a run: written asynchronously and atomically, and verified when read.

Process 0 alone looks into the folder: it tells the others which checkpoints there are, which one is
damaged, and removes old ones.
"""

import concurrent.futures
import contextlib
import functools
import os
import time
import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import jax

from luke_jax.errors import InputError
from luke_jax.files import Path, check_readable, in_bucket, remove, write_sizes
from luke_jax.lazy import Lazy
from luke_jax.training import integrity, processes
from luke_jax.training.experiment import Run
from luke_jax.training.integrity import DamageError
from luke_jax.training.program import AVERAGE, State

if TYPE_CHECKING:
  from orbax.checkpoint import v1 as ocp
else:
  ocp = Lazy("orbax.checkpoint", "v1")

DAMAGED = ".damaged"
UNFINISHED = ".orbax-checkpoint-tmp"  # in names of folders that Orbax writes into
_REMOVING = "removing"  # a file in a checkpoint that is being removed
_COMMITTED = "commit_success.txt"  # Orbax writes it last
_PAUSE = 1.0  # seconds before the second reading, after which a checkpoint counts as damaged


class Checkpoints:
  """Checkpoints in a folder, by step: the newest n, every k-th and the best.

  The run itself removes what it was writing when it was killed. Readers do not, since it may be
  running.
  """

  def __init__(self, folder: Path, run: Run, *, reading: bool = False):
    self.folder, self._run = folder, run
    self._thread = concurrent.futures.ThreadPoolExecutor(1)
    # What is being written, and the scores by step without it.
    self._writing: tuple[concurrent.futures.Future[None], dict[int, dict[str, float]]] | None = None
    saved = processes.from_first(lambda: self._found(reading))
    for line in saved["warnings"]:
      warnings.warn(line, stacklevel=2)
    self._scores: dict[int, dict[str, float]] = {int(k): x for k, x in saved["scores"].items()}

  @property
  def steps(self) -> list[int]:
    """Returns the steps of finished checkpoints."""
    return sorted(self._scores)

  @property
  def best(self) -> int | None:
    """Returns the step where the best metric is highest, the last of equals."""
    equal = [step for step, x in self._metrics().items() if x >= self._least]
    return max(equal, default=None)

  def save(self, step: int, state: State, scores: Mapping[str, float] | None = None) -> None:
    """Starts writing a checkpoint, after the previous one is finished."""
    self.wait()
    described = integrity.description(state, scores)
    with self._as_input_error():
      writing = ocp.save_checkpointables_async(
        os.fspath(self._place(step)),
        {"state": state},
        overwrite=step in self._scores,
        custom_metadata=described,
      )
    # All processes count it from now on, as they have to decide alike.
    before = dict(self._scores)
    self._scores[step] = described["scores"]
    old = [x for x in self.steps if not self._kept(x)]
    for x in old:
      del self._scores[x]
    self._writing = self._thread.submit(self._finish, step, writing, old), before

  def wait(self) -> None:
    """Waits until the checkpoint that is being written is finished."""
    if self._writing is not None:
      (writing, before), self._writing = self._writing, None
      if writing.exception() is not None:
        self._scores = before
      with self._as_input_error():
        writing.result()

  def close(self) -> None:
    """Waits for what is being written."""
    try:
      self.wait()
    finally:
      self._thread.shutdown()

  def restore(self, shapes: State) -> tuple[int, State] | None:
    """Returns the newest intact checkpoint, with the shardings of `shapes`; renames damaged ones.

    Returns None if there were no checkpoints, and raises InputError if all of them are damaged.
    """
    while self._scores:
      step = max(self._scores)
      state = self._restored(step, shapes)
      if state is not None:
        place = self._place(step)
        processes.from_first(functools.partial(_write_sizes, place))  # missing if killed before
        return step, state
    if processes.from_first(lambda: any(self.folder.glob(f"*{DAMAGED}"))):
      raise InputError(
        f"{self.folder}: all checkpoints are damaged; expected a new folder, or the folders"
        f" *{DAMAGED} moved away to start again"
      )
    return None

  def scores(self, step: int) -> dict[str, float]:
    """Returns the dev scores of a checkpoint; empty if it was not evaluated."""
    return dict(self._scores.get(step, {}))

  def better(self, scores: Mapping[str, float]) -> bool:
    """Returns whether the best metric is as high as at every checkpoint.

    Of equals the last one is kept: where few examples cannot tell, more training does.
    """
    name = self._run.best_metric
    return bool(name) and scores[name] >= self._least

  def read_params(self, step: int, shapes: State) -> State:
    """Returns the trained and frozen parameters of a checkpoint, sharded as `shapes`.

    The trained ones are their average, where there is one.
    """
    trained = AVERAGE if AVERAGE in shapes else "trained"
    wanted = {
      part: x if part in (trained, "frozen") else jax.tree.map(lambda _: ocp.PLACEHOLDER, x)
      for part, x in shapes.items()
    }
    state = self.read_state(step, wanted)
    return {"trained": state[trained], "frozen": state["frozen"]}

  def read_state(self, step: int, shapes: State) -> State:
    """Returns the state of a checkpoint, sharded as `shapes`."""
    if step not in self._scores:
      raise InputError(f"{self.folder}: no checkpoint of step {step}; there are {self.steps}")
    state, fault = self._read(step, shapes)
    if state is None:
      raise InputError(f"{self._place(step)}: {fault}; expected a whole checkpoint")
    return state

  def _place(self, step: int) -> Path:
    return self.folder.absolute() / str(step)

  @property
  def _least(self) -> float:
    """Returns the least value of the best metric that counts as equal to the highest."""
    return max(self._metrics().values(), default=float("-inf")) - self._run.tolerance

  def _metrics(self) -> dict[int, float]:
    """Returns the best metric by step, of the checkpoints that have it."""
    name = self._run.best_metric
    return {step: x[name] for step, x in self._scores.items() if name and name in x}

  def _found(self, reading: bool) -> dict[str, Any]:
    """Returns the scores of all complete checkpoints by step, and warnings of damaged ones."""
    scores: dict[str, object] = {}
    lines = []
    for path in sorted(self.folder.iterdir()) if self.folder.is_dir() else []:
      if not (path.name.isdecimal() or UNFINISHED in path.name) or not path.is_dir():
        continue
      names = {x.name for x in path.iterdir()}  # a refused object is among them
      uncommitted = in_bucket(path) and _COMMITTED not in names  # nothing is renamed there
      if UNFINISHED in path.name or uncommitted or _REMOVING in names:
        if not reading:
          _remove(path)
        continue
      if not any(path.iterdir()):  # killed while it was removed
        continue
      try:
        scores[path.name] = integrity.read_description(path)["scores"]
      except DamageError as fault:
        lines.append(self._set_aside(path, str(fault), keep=reading))
    return {"scores": scores, "warnings": lines}

  def _restored(self, step: int, shapes: State) -> State | None:
    """Returns the state of a checkpoint; None if it is damaged and now set aside."""
    state, fault = self._read(step, shapes)
    if state is not None:
      return state
    path = self._place(step)
    warnings.warn(processes.from_first(lambda: self._set_aside(path, fault)), stacklevel=3)
    del self._scores[step]
    return None

  def _read(self, step: int, shapes: State) -> tuple[State | None, str]:
    """Returns a verified state, or the fault of its files, which is the same on all processes.

    Raises InputError for faults of disk or network, which say nothing of the files.
    """
    state, faults = self._attempt(step, shapes)
    if faults:
      time.sleep(_PAUSE)
      state, faults = self._attempt(step, shapes)
    if not faults:
      return state, ""
    passing = [line for may_pass, line in faults if may_pass]
    if passing:
      raise InputError(
        f"{self._place(step)}: not read ({passing[0]}); expected a disk that answers: the same"
        " command tries again"
      )
    return None, faults[0][1]

  def _attempt(self, step: int, shapes: State) -> tuple[State | None, list[tuple[bool, str]]]:
    """Reads a checkpoint; returns the state, or the faults of all processes."""
    path = self._place(step)
    saved = processes.from_first(lambda: _verified(path))
    if "fault" in saved:
      return None, [saved["fault"]]
    integrity.check_arrays(path, saved["arrays"], integrity.described(shapes))
    fault, state = None, None
    try:
      with _on_its_own():
        state = ocp.load_checkpointables(os.fspath(path), {"state": shapes})["state"]
    except (InputError, MemoryError, jax.errors.JaxRuntimeError):
      raise  # not caused by the files
    except Exception as error:  # reading damaged files may raise anything
      fault = _told(error)
    faults = [x for x in processes.gathered(fault) if x is not None]
    if faults or state is None:
      return None, faults
    try:
      integrity.check_sums(state, saved)
    except DamageError as error:
      return None, [_told(error)]
    return state, []

  def _finish(self, step: int, writing: Any, old: list[int]) -> None:
    """Waits for a checkpoint that all processes write; then old ones may go."""
    writing.result()
    if jax.process_index() == 0:
      _write_sizes(self._place(step))
      for x in old:
        _remove(self._place(x))

  def _kept(self, step: int) -> bool:
    every = self._run.keep_every
    newest = self.steps[-self._run.keep :]
    return step in newest or step == self.best or bool(every and step % every == 0)

  def _set_aside(self, path: Path, reason: str, *, keep: bool = False) -> str:
    """Renames a damaged checkpoint, unless it is to be kept; returns the line that says so.

    Raises InputError if a file of it cannot be read, as who may not read it says nothing of what is
    in it: readers of arrays report a refused file in many ways, also as one that is missing.
    """
    check_readable(path)
    reason = reason.strip().split("\n")[0][:200]
    if keep:
      return f"{path}: damaged ({reason}); left out"
    damaged = path.with_name(f"{path.name}{DAMAGED}")
    remove(damaged)
    path.rename(damaged)
    return f"{path}: damaged ({reason}); renamed to {damaged.name}"

  @contextlib.contextmanager
  def _as_input_error(self) -> Iterator[None]:
    """Raises InputError, in one line, if a checkpoint cannot be written."""
    try:
      yield
    except (OSError, ValueError) as fault:  # TensorStore raises ValueError, also for a full disk
      reason = str(fault).strip().splitlines()[0][:300]
      older = ", ".join(map(str, self.steps)) or "none"
      raise InputError(
        f"{self.folder}: not written ({reason}); complete checkpoints before it: {older}"
      ) from None


def _write_sizes(path: Path) -> None:
  """Writes the sizes of a checkpoint's files beside them, once."""
  if all(x.name != integrity.SIZES for x in path.iterdir()):  # a refused one is among them
    write_sizes(path, integrity.SIZES)


def _verified(path: Path) -> dict[str, Any]:
  """Returns the description of a checkpoint whose files have their sizes, or the fault."""
  try:
    integrity.check_sizes(path)
    return integrity.read_description(path)
  except (DamageError, OSError) as error:
    return {"fault": _told(error)}


def _told(error: Exception) -> tuple[bool, str]:
  lines = str(error).strip().splitlines() or [type(error).__name__]
  return integrity.may_pass(error), lines[0][:300]


def _on_its_own() -> contextlib.AbstractContextManager:
  """Lets a process read its shards without waiting for others, which one that fails would hold."""
  if processes.alone():
    return contextlib.nullcontext()
  process = jax.process_index()
  options = ocp.options.MultiprocessingOptions(
    primary_host=process, active_processes={process}, barrier_sync_key_prefix=f"process_{process}"
  )
  return ocp.Context(multiprocessing_options=options)


def _remove(path: Path) -> None:
  """Removes a checkpoint; one that is half removed is known by a file in it, which goes last."""
  (path / _REMOVING).write_bytes(b"")
  for child in path.iterdir():
    if child.is_dir():
      remove(child)
    elif child.name != _REMOVING:
      child.unlink()
  (path / _REMOVING).unlink()
  if not in_bucket(path):
    path.rmdir()
