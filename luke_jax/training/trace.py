"""Trace of some steps of a run, for TensorBoard's profiler or Perfetto."""

import contextlib
from typing import Any, Self

import jax

from luke_jax.files import Path

PROFILE = "profile"
_SKIPPED = 3  # steps, in which buffers fill


class Trace:
  """Trace of `steps` steps soon after `first`, written by process 0 into the run's folder."""

  def __init__(self, folder: Path, first: int, steps: int):
    self._folder = folder / PROFILE
    enabled = steps > 0 and jax.process_index() == 0
    self._begin = first + _SKIPPED if enabled else None
    self._end = first + _SKIPPED + steps
    self._open = contextlib.ExitStack()

  def __enter__(self) -> Self:
    return self

  def at(self, step: int) -> None:
    """Begins or ends the trace, before a step is taken."""
    if step == self._begin:
      self._open.enter_context(jax.profiler.trace(str(self._folder)))
    elif self._begin is not None and step == self._end:
      self._open.close()

  def __exit__(self, *_: Any) -> None:
    self._open.close()
