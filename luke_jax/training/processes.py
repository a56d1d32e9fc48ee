"""Processes of a run, one per host: joining them, and checks among them."""

import hashlib
import os
import signal
import threading
from collections.abc import Callable, Mapping

import jax

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.training import messages
from luke_jax.training.watch import LOST

# Variables that launchers set if there are several processes, which JAX then finds by itself.
LAUNCHERS = (
  "SLURM_NTASKS",
  "OMPI_COMM_WORLD_SIZE",
  "JAX_COORDINATOR_ADDRESS",
  "MEGASCALE_NUM_SLICES",
)
HOSTS = "TPU_WORKER_HOSTNAMES"  # those of a slice, separated by commas


def join(
  coordinator: str | None,
  processes: int | None,
  process: int | None,
  *,
  before: Callable[[], None] = lambda: None,
) -> None:
  """Joins the other processes; to be called before anything uses a device.

  Without arguments it joins only if a launcher or a TPU slice reports other processes. `before` is
  called if there may be some.
  """
  arguments = (coordinator, processes, process)
  if all(x is not None for x in arguments):
    assert processes is not None and process is not None
    if not 0 <= process < processes:
      raise InputError(f"process: {process}; expected one of 0 to {processes - 1}")
    before()
    try:
      _initialize(coordinator, processes, process)
    except (ValueError, RuntimeError) as fault:
      raise InputError(
        f"--coordinator: {coordinator}: {_line(fault)}; expected the host of process 0 and a port"
        " that is free there"
      ) from None
  elif any(x is not None for x in arguments):
    raise InputError("coordinator, processes, process: expected all three or none of them")
  elif any(os.environ.get(name, "1") != "1" for name in LAUNCHERS):
    before()
    try:
      _initialize()
    except (ValueError, RuntimeError) as fault:
      raise InputError(
        f"processes: {_line(fault)}; expected the launcher to set them all, or --coordinator,"
        " --processes and --process"
      ) from None
  elif _has_tpu():
    before()
    _join_slice()


def _initialize(
  coordinator: str | None = None, processes: int | None = None, process: int | None = None
) -> None:
  try:
    with messages.connecting():
      jax.distributed.initialize(coordinator, processes, process, heartbeat_timeout_seconds=LOST)
  finally:
    # JAX takes SIGTERM for a service of its own, which knows no other signal and no time.
    if threading.current_thread() is threading.main_thread():
      signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGTERM))


def _has_tpu() -> bool:
  return any(Path("/dev").glob("accel*")) or any(Path("/dev/vfio").glob("[0-9]*"))


def _join_slice() -> None:
  """Joins the hosts of a TPU slice, which its metadata lists.

  A machine without metadata has no others. Raises InputError where there are others, whom this
  process would otherwise train beside without a word between them.
  """
  try:
    _initialize()
  except (ValueError, RuntimeError, OSError) as fault:
    hosts = len([x for x in os.environ.get(HOSTS, "").split(",") if x])
    if hosts <= 1:
      hosts = jax.process_count()
    if hosts > 1:
      raise InputError(
        f"processes: {hosts} hosts that cannot join ({_line(fault)}); expected the same command on"
        " every host, or --coordinator, --processes and --process"
      ) from None


def _line(fault: Exception) -> str:
  return " ".join(str(fault).partition("\n")[0].split())[:300]


def agree(values: Mapping[str, str]) -> None:
  """Raises InputError, with its name, for a value that differs between the processes."""
  hashes = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in values.items()}
  every = messages.gathered(hashes)
  for name in sorted({name for values in every for name in values}):
    differing = [i for i, x in enumerate(every) if x.get(name) != every[0].get(name)]
    if differing:
      raise InputError(
        f"{name}: differs on process {', '.join(map(str, differing))} from process 0;"
        " expected the same command and files on every host"
      )
