"""Processes of a run, one per host: joining them, checks among them, and preemption."""

import contextlib
import hashlib
import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import Self

import jax
import numpy as np
from jax.experimental import multihost_utils

from luke_jax.errors import InputError
from luke_jax.files import Path

# Variables that launchers set if there are several processes, which JAX then finds by itself.
LAUNCHERS = (
  "SLURM_NTASKS",
  "OMPI_COMM_WORLD_SIZE",
  "JAX_COORDINATOR_ADDRESS",
  "MEGASCALE_NUM_SLICES",
)


def join(coordinator: str | None, processes: int | None, process: int | None) -> None:
  """Joins the other processes; to be called before anything uses a device.

  Without arguments it joins only if a launcher or a TPU slice reports other processes.
  """
  arguments = (coordinator, processes, process)
  if all(x is not None for x in arguments):
    assert processes is not None and process is not None
    if not 0 <= process < processes:
      raise InputError(f"process: {process}; expected one of 0 to {processes - 1}")
    jax.distributed.initialize(coordinator, num_processes=processes, process_id=process)
  elif any(x is not None for x in arguments):
    raise InputError("coordinator, processes, process: expected all three or none of them")
  elif any(os.environ.get(name, "1") != "1" for name in LAUNCHERS):
    try:
      jax.distributed.initialize()
    except (ValueError, RuntimeError) as fault:
      raise InputError(
        f"processes: {fault}; expected the launcher to set them all, or --coordinator,"
        " --processes and --process"
      ) from None
  elif any(Path("/dev").glob("accel*")) or any(Path("/dev/vfio").glob("[0-9]*")):
    # The metadata of a TPU lists its hosts; a machine without metadata has no others.
    with contextlib.suppress(ValueError, RuntimeError, OSError):
      jax.distributed.initialize()


def agree(what: str, text: str) -> None:
  """Raises InputError if `text` differs between the processes."""
  if jax.process_count() == 1:
    return
  digest = np.frombuffer(hashlib.sha256(text.encode()).digest(), np.uint8)
  others = multihost_utils.process_allgather(digest)
  differing = [i for i, other in enumerate(others) if (other != others[0]).any()]
  if differing:
    raise InputError(
      f"{what}: differs on process {', '.join(map(str, differing))} from process 0;"
      " expected the same command and files on every host"
    )


def on_first(action: Callable[[], None]) -> None:
  """Runs `action` on process 0; if it raises, all processes raise."""
  fault = None
  if jax.process_index() == 0:
    try:
      action()
    except (InputError, OSError) as error:
      fault = error
  if jax.process_count() > 1:
    failed = multihost_utils.broadcast_one_to_all(np.array(fault is not None))
    if failed and fault is None:
      raise InputError("process 0 did not start; expected the cause in its message")
  if fault is not None:
    raise fault


class Preemption:
  """Watch for the machine being taken away (SIGTERM), seen at the same step by every process."""

  def __enter__(self) -> Self:
    self._requested = False
    self._together = jax.distributed.is_initialized()
    self._before = None if self._together else signal.signal(signal.SIGTERM, self._request)
    return self

  def _request(self, number: int, frame: FrameType | None) -> None:
    self._requested = True

  def due(self, step: int) -> bool:
    """Returns whether to save and stop before this step; all processes call it at every step."""
    if self._together:
      return multihost_utils.reached_preemption_sync_point(step)
    return self._requested

  def __exit__(self, *_: object) -> None:
    if not self._together:
      signal.signal(signal.SIGTERM, self._before)
