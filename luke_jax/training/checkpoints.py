"""Checkpoints of a run: written while it goes on, whole or not at all, and checked when read."""

import contextlib
import json
import shutil
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import multihost_utils
from orbax.checkpoint import v1 as ocp

from luke_jax.errors import InputError
from luke_jax.files import write_json
from luke_jax.training.experiment import Run
from luke_jax.training.program import PARAMS, State

DAMAGED = ".damaged"
SIZES = "sizes.json"


class Checkpoints:
  """The checkpoints in a folder, by step: the newest n, every k-th and the best.

  The run itself removes what it was killed while writing. Readers do not: it may be at work.
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
    # Orbax's own types do not fit each other, nor its documents.
    checkpointer: Any = ocp.training.Checkpointer
    self._orbax: Any = checkpointer(
      folder.absolute(),
      save_decision_policy=ocp.training.save_decision_policies.FixedIntervalPolicy(1),
      preservation_policy=policies.AnyPreservationPolicy(keep),
      cleanup_tmp_directories=not reading,
    )

  @property
  def steps(self) -> list[int]:
    """The steps there are checkpoints of, those still being written left out."""
    return sorted(checkpoint.step for checkpoint in self._orbax.checkpoints)

  @property
  def best(self) -> int | None:
    """The step where the best metric is highest, the first of equals."""
    metrics = self._metrics()
    return max(sorted(metrics), key=metrics.__getitem__, default=None)

  def save(self, step: int, state: State, metrics: Mapping[str, float] | None = None) -> None:
    """Starts writing a checkpoint; one that is still being written is finished first."""
    self.wait()
    arrays = _described(state)
    for name, checksum in _checksums(state).items():
      arrays[name].append(checksum)
    with self._told():
      self._writing = self._orbax.save_checkpointables_async(
        step,
        {"state": state},
        overwrite=True,
        metrics=dict(metrics) if metrics else None,
        custom_metadata={"arrays": arrays},
      )

  def wait(self) -> None:
    """Returns when all that was begun is written."""
    if self._writing is not None:
      writing, self._writing = self._writing, None
      with self._told():
        writing.result()
        self._note_sizes()

  def close(self) -> None:
    """Waits and lets go."""
    try:
      self.wait()
    finally:
      with self._told():
        self._orbax.close()

  @contextlib.contextmanager
  def _told(self) -> Iterator[None]:
    """What keeps a checkpoint from being written, in one line."""
    try:
      yield
    except (OSError, ValueError) as fault:  # TensorStore raises the latter, for a full disk too
      reason = str(fault).strip().splitlines()[0][:300]
      older = ", ".join(map(str, self.steps)) or "none"
      raise InputError(
        f"{self.folder}: not written ({reason}); the checkpoints before it are whole: {older}"
      ) from None

  def restore(self, shapes: State) -> tuple[int, State] | None:
    """The newest good checkpoint, placed as the shapes say; damaged ones are set aside.

    Nothing if there were none yet; where all are damaged, a person decides.
    """
    aside = False
    while (latest := self._orbax.latest) is not None:
      try:
        return latest.step, self._read(latest, shapes)
      except (InputError, MemoryError, PermissionError, jax.errors.JaxRuntimeError):
        raise  # not the files' fault
      except Exception as fault:  # whatever reading broken files may raise
        self._set_aside(latest.step, fault)
        aside = True
    if aside or any(self.folder.glob(f"*{DAMAGED}")):
      raise InputError(
        f"{self.folder}: all checkpoints are damaged; expected a new folder, or the folders"
        f" *{DAMAGED} taken away to begin again"
      )
    return None

  def scores(self, step: int) -> dict[str, float]:
    """What the dev split said of the checkpoint of a step; nothing if it was not asked there."""
    found = [x.metrics for x in self._orbax.checkpoints if x.step == step and x.metrics]
    return dict(found[0]) if found else {}

  def better(self, scores: Mapping[str, float]) -> bool:
    """Whether the best metric is higher than at every checkpoint."""
    name = self._best_metric
    return bool(name) and scores[name] > max(self._metrics().values(), default=float("-inf"))

  def _metrics(self) -> dict[int, float]:
    """The best metric where it is known, by step; nothing if there is none."""
    name, checkpoints = self._best_metric, self._orbax.checkpoints
    return {x.step: x.metrics[name] for x in checkpoints if name and x.metrics}

  def read_params(self, step: int, shapes: State) -> State:
    """The trained and frozen parameters of one checkpoint, placed as the shapes say."""
    for checkpoint in self._orbax.checkpoints:
      if checkpoint.step == step:
        kept = {
          part: x if part in PARAMS else jax.tree.map(lambda _: ocp.PLACEHOLDER, x)
          for part, x in shapes.items()
        }
        return {part: x for part, x in self._read(checkpoint, kept).items() if part in PARAMS}
    raise InputError(f"{self.folder}: no checkpoint of step {step}; there are {self.steps}")

  def _read(self, checkpoint: Any, shapes: State) -> State:
    folder = self.folder / str(checkpoint.step)
    noted, sizes = folder / SIZES, _sizes(folder)
    if noted.exists():  # a run that was killed right after writing has none
      for name, size in json.loads(noted.read_text(encoding="utf-8")).items():
        if sizes.get(name) != size:
          raise ValueError(f"{name} has {sizes.get(name, 'no')} bytes, not {size}")
    saved = self._orbax.checkpointables_metadata(checkpoint).custom_metadata["arrays"]
    expected = _described(shapes)
    for name in sorted(saved.keys() | expected.keys()):
      there, here = saved.get(name, ["none"])[:2], expected.get(name, ["none"])
      if here and there != here:  # nothing is expected of what is left out
        raise InputError(
          f"{self.folder / str(checkpoint.step)}: {name}: {_shown(there)}; expected"
          f" {_shown(here)}, as this experiment has it"
        )
    state = self._orbax.load_checkpointables(checkpoint, {"state": shapes})["state"]
    for name, checksum in _checksums(state).items():
      if checksum != saved[name][2]:
        raise ValueError(f"{name} is not what was saved")
    return state

  def _note_sizes(self) -> None:
    """Writes down how long the newest checkpoint's files are: Orbax reads short ones with a din."""
    latest = self._orbax.latest
    if latest is not None and jax.process_index() == 0:
      folder = self.folder / str(latest.step)
      write_json(folder / SIZES, _sizes(folder))

  def _set_aside(self, step: int, fault: Exception) -> None:
    reason = str(fault).strip().split("\n")[0][:200]
    warnings.warn(f"{self.folder / str(step)}: damaged ({reason}); set aside", stacklevel=2)
    if jax.process_index() == 0:
      aside = self.folder / f"{step}{DAMAGED}"
      shutil.rmtree(aside, ignore_errors=True)
      (self.folder / str(step)).rename(aside)
    multihost_utils.sync_global_devices(f"set aside {step}")
    self._orbax.reload()


def _sizes(folder: Path) -> dict[str, int]:
  files = (path for path in sorted(folder.rglob("*")) if path.is_file())
  return {str(path.relative_to(folder)): path.stat().st_size for path in files}


def _named(state: State) -> dict[str, Any]:
  leaves = jax.tree_util.tree_leaves_with_path(state)
  return {jax.tree_util.keystr(path, simple=True, separator="/"): x for path, x in leaves}


def _shown(described: list) -> str:
  return " ".join(map(str, described))


def _described(state: State) -> dict[str, list]:
  """Shape and type of every array; nothing of one that is left out."""
  return {
    name: [] if x is ocp.PLACEHOLDER else [list(x.shape), str(x.dtype)]
    for name, x in _named(state).items()
  }


def _checksums(state: State) -> dict[str, int]:
  """The sum of every array's bits: Orbax reads a flipped one without a word."""
  arrays = {name: x for name, x in _named(state).items() if x is not ocp.PLACEHOLDER}
  return dict(zip(arrays, map(int, jax.device_get(_sums(list(arrays.values())))), strict=True))


@jax.jit
def _sums(arrays: list[jax.Array]) -> jax.Array:
  # One program for all: processes that run many small ones at once wait for each other for ever.
  sums = []
  for x in arrays:
    if jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
      x = jax.random.key_data(x)
    sums.append(jax.lax.bitcast_convert_type(x, jnp.uint32).sum(dtype=jnp.uint32))
  return jnp.stack(sums)
