"""One process a host: joining them, agreeing, and leaving together when told to."""

import contextlib
import hashlib
import os
import signal
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Self

import jax
import numpy as np
from jax.experimental import multihost_utils

from luke_jax.errors import InputError

# What launchers set where more than one process runs and jax can find the others by itself.
LAUNCHERS = (
  "SLURM_NTASKS",
  "OMPI_COMM_WORLD_SIZE",
  "JAX_COORDINATOR_ADDRESS",
  "MEGASCALE_NUM_SLICES",
)


def join(coordinator: str | None, processes: int | None, process: int | None) -> None:
  """Joins the other processes, before anything else touches a device.

  With nothing given, only where a launcher or a TPU slice says that there are others.
  """
  given = (coordinator, processes, process)
  if all(x is not None for x in given):
    assert processes is not None and process is not None
    if not 0 <= process < processes:
      raise InputError(f"process: {process}; expected one of 0 to {processes - 1}")
    jax.distributed.initialize(coordinator, num_processes=processes, process_id=process)
  elif any(x is not None for x in given):
    raise InputError("coordinator, processes, process: expected all three or none of them")
  elif any(os.environ.get(name, "1") != "1" for name in LAUNCHERS):
    try:
      jax.distributed.initialize()
    except (ValueError, RuntimeError) as fault:
      raise InputError(
        f"processes: {fault}; expected the launcher's word of all of them, or --coordinator,"
        " --processes and --process"
      ) from None
  elif any(Path("/dev").glob("accel*")) or any(Path("/dev/vfio").glob("[0-9]*")):
    # A TPU, whose metadata tell of its other hosts; a machine without them has none.
    with contextlib.suppress(ValueError, RuntimeError, OSError):
      jax.distributed.initialize()


def agree(what: str, text: str) -> None:
  """Refuses to go on if the processes have different texts."""
  if jax.process_count() == 1:
    return
  digest = np.frombuffer(hashlib.sha256(text.encode()).digest(), np.uint8)
  others = multihost_utils.process_allgather(digest)
  wrong = [i for i, other in enumerate(others) if (other != others[0]).any()]
  if wrong:
    raise InputError(
      f"{what}: differs on process {', '.join(map(str, wrong))} from process 0;"
      " expected the same command and files on every host"
    )


def on_first(action: Callable[[], None]) -> None:
  """Runs on process 0 alone; if it refuses, all do."""
  fault = None
  if jax.process_index() == 0:
    try:
      action()
    except (InputError, OSError) as error:
      fault = error
  if jax.process_count() > 1:
    failed = multihost_utils.broadcast_one_to_all(np.array(fault is not None))
    if failed and fault is None:
      raise InputError("process 0 refused to start; its message says why")
  if fault is not None:
    raise fault


class Preemption:
  """Notices that the machine is to be taken away (SIGTERM), at the same step on every process."""

  def __enter__(self) -> Self:
    self._told = False
    self._together = jax.distributed.is_initialized()
    self._before = None if self._together else signal.signal(signal.SIGTERM, self._tell)
    return self

  def _tell(self, number: int, frame: FrameType | None) -> None:
    self._told = True

  def due(self, step: int) -> bool:
    """Whether to save and leave before this step; every process asks at every step."""
    if self._together:
      return multihost_utils.reached_preemption_sync_point(step)
    return self._told

  def __exit__(self, *_: object) -> None:
    if not self._together:
      signal.signal(signal.SIGTERM, self._before)
