"""Checkpoints of a run: written asynchronously and atomically, and verified when read."""

import contextlib
import json
import os
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import multihost_utils
from orbax.checkpoint import v1 as ocp

from luke_jax.errors import InputError
from luke_jax.files import Path, remove, sizes, write_sizes
from luke_jax.training.experiment import Run
from luke_jax.training.program import AVERAGE, State

DAMAGED = ".damaged"
SIZES = "sizes.json"


class Checkpoints:
  """Checkpoints in a folder, by step: the newest n, every k-th and the best.

  The run itself removes what it was writing when it was killed. Readers do not, since it may be
  running.
  """

  def __init__(self, folder: Path, run: Run, *, reading: bool = False):
    policies = ocp.training.preservation_policies
    keep: list[Any] = [policies.LatestN(run.keep)]
    if run.keep_every:
      keep.append(policies.EveryNSteps(run.keep_every))
    if run.best_metric:
      keep.append(
        policies.BestN(
          get_metric_fn=lambda metrics: metrics[run.best_metric],
          n=1,
          keep_checkpoints_without_metrics=False,
        )
      )
    self.folder = folder
    self._best_metric = run.best_metric
    self._writing: Any = None
    # Orbax's types contradict each other and its documentation.
    checkpointer: Any = ocp.training.Checkpointer
    self._orbax: Any = checkpointer(
      os.fspath(folder.absolute()),
      save_decision_policy=ocp.training.save_decision_policies.FixedIntervalPolicy(1),
      preservation_policy=policies.AnyPreservationPolicy(keep),
      cleanup_tmp_directories=not reading,
    )

  @property
  def steps(self) -> list[int]:
    """Returns the steps of finished checkpoints."""
    return sorted(checkpoint.step for checkpoint in self._orbax.checkpoints)

  @property
  def best(self) -> int | None:
    """Returns the step where the best metric is highest, the first of equals."""
    metrics = self._metrics()
    return max(sorted(metrics), key=metrics.__getitem__, default=None)

  def save(self, step: int, state: State, metrics: Mapping[str, float] | None = None) -> None:
    """Starts writing a checkpoint, after the previous one is finished."""
    self.wait()
    arrays = _described(state)
    for name, checksum in _checksums(state).items():
      arrays[name].append(checksum)
    with self._as_input_error():
      self._writing = self._orbax.save_checkpointables_async(
        step,
        {"state": state},
        overwrite=True,
        metrics=dict(metrics) if metrics else None,
        custom_metadata={"arrays": arrays},
      )

  def wait(self) -> None:
    """Waits until the checkpoint that is being written is finished."""
    if self._writing is not None:
      writing, self._writing = self._writing, None
      with self._as_input_error():
        writing.result()
        self._write_sizes()

  def close(self) -> None:
    """Waits, and closes Orbax's checkpointer."""
    try:
      self.wait()
    finally:
      with self._as_input_error():
        self._orbax.close()

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

  def restore(self, shapes: State) -> tuple[int, State] | None:
    """Returns the newest intact checkpoint, with the shardings of `shapes`; renames damaged ones.

    Returns None if there were no checkpoints, and raises InputError if all of them are damaged.
    """
    renamed = False
    while (latest := self._orbax.latest) is not None:
      try:
        return latest.step, self._read(latest, shapes)
      except (InputError, MemoryError, PermissionError, jax.errors.JaxRuntimeError):
        raise  # not caused by the files
      except Exception as fault:  # reading damaged files may raise anything
        self._rename_damaged(latest.step, fault)
        renamed = True
    if renamed or any(self.folder.glob(f"*{DAMAGED}")):
      raise InputError(
        f"{self.folder}: all checkpoints are damaged; expected a new folder, or the folders"
        f" *{DAMAGED} moved away to start again"
      )
    return None

  def scores(self, step: int) -> dict[str, float]:
    """Returns the dev scores of a checkpoint; empty if it was not evaluated."""
    scores = [x.metrics for x in self._orbax.checkpoints if x.step == step and x.metrics]
    return dict(scores[0]) if scores else {}

  def better(self, scores: Mapping[str, float]) -> bool:
    """Returns whether the best metric is higher than at every checkpoint."""
    name = self._best_metric
    return bool(name) and scores[name] > max(self._metrics().values(), default=float("-inf"))

  def _metrics(self) -> dict[int, float]:
    """Returns the best metric by step, of the checkpoints that have it."""
    name, checkpoints = self._best_metric, self._orbax.checkpoints
    return {x.step: x.metrics[name] for x in checkpoints if name and x.metrics}

  def read_params(self, step: int, shapes: State) -> State:
    """Returns the trained and frozen parameters of a checkpoint, sharded as `shapes`.

    The trained ones are their average, where there is one.
    """
    trained = AVERAGE if AVERAGE in shapes else "trained"
    for checkpoint in self._orbax.checkpoints:
      if checkpoint.step == step:
        wanted = {
          part: x if part in (trained, "frozen") else jax.tree.map(lambda _: ocp.PLACEHOLDER, x)
          for part, x in shapes.items()
        }
        state = self._read(checkpoint, wanted)
        return {"trained": state[trained], "frozen": state["frozen"]}
    raise InputError(f"{self.folder}: no checkpoint of step {step}; there are {self.steps}")

  def _read(self, checkpoint: Any, shapes: State) -> State:
    folder = self.folder / str(checkpoint.step)
    sizes_file, found = folder / SIZES, sizes(folder)
    if sizes_file.exists():  # missing if the run was killed right after writing
      for name, size in json.loads(sizes_file.read_text(encoding="utf-8")).items():
        if found.get(name) != size:
          raise ValueError(f"{name} has {found.get(name, 'no')} bytes, not {size}")
    saved = self._orbax.checkpointables_metadata(checkpoint).custom_metadata["arrays"]
    expected = _described(shapes)
    for name in sorted(saved.keys() | expected.keys()):
      saved_array, expected_array = saved.get(name, ["none"])[:2], expected.get(name, ["none"])
      if expected_array and saved_array != expected_array:  # placeholders are not compared
        raise InputError(
          f"{self.folder / str(checkpoint.step)}: {name}: {_shown(saved_array)}; expected"
          f" {_shown(expected_array)}, as this experiment has it"
        )
    state = self._orbax.load_checkpointables(checkpoint, {"state": shapes})["state"]
    for name, checksum in _checksums(state).items():
      if checksum != saved[name][2]:
        raise ValueError(f"{name} differs from what was saved")
    return state

  def _write_sizes(self) -> None:
    """Writes the sizes of the newest checkpoint's files: Orbax logs much about truncated ones."""
    latest = self._orbax.latest
    if latest is not None and jax.process_index() == 0:
      write_sizes(self.folder / str(latest.step), SIZES)

  def _rename_damaged(self, step: int, fault: Exception) -> None:
    reason = str(fault).strip().split("\n")[0][:200]
    warnings.warn(
      f"{self.folder / str(step)}: damaged ({reason}); renamed to {step}{DAMAGED}", stacklevel=2
    )
    if jax.process_index() == 0:
      damaged = self.folder / f"{step}{DAMAGED}"
      remove(damaged)
      (self.folder / str(step)).rename(damaged)
    multihost_utils.sync_global_devices(f"renamed {step}")
    self._orbax.reload()


def _named(state: State) -> dict[str, Any]:
  leaves = jax.tree_util.tree_leaves_with_path(state)
  return {jax.tree_util.keystr(path, simple=True, separator="/"): x for path, x in leaves}


def _shown(described: list) -> str:
  return " ".join(map(str, described))


def _described(state: State) -> dict[str, list]:
  """Returns shape and dtype of every array; an empty list for placeholders."""
  return {
    name: [] if x is ocp.PLACEHOLDER else [list(x.shape), str(x.dtype)]
    for name, x in _named(state).items()
  }


def _checksums(state: State) -> dict[str, int]:
  """Returns the sum of every array's bits, as Orbax does not notice a flipped bit."""
  arrays = {name: x for name, x in _named(state).items() if x is not ocp.PLACEHOLDER}
  return dict(zip(arrays, map(int, jax.device_get(_sums(list(arrays.values())))), strict=True))


@jax.jit
def _sums(arrays: list[jax.Array]) -> jax.Array:
  # One program for all arrays: processes that run many small ones at once can deadlock.
  sums = []
  for x in arrays:
    if jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
      x = jax.random.key_data(x)
    sums.append(jax.lax.bitcast_convert_type(x, jnp.uint32).sum(dtype=jnp.uint32))
  return jnp.stack(sums)
