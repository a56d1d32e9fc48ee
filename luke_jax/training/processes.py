"""Processes of a run, one per host: joining them, what they tell each other, and checks among them.

Values pass through the service that JAX starts, without a device, so they arrive too while another
process is stuck in a program.
"""

import contextlib
import ctypes
import hashlib
import itertools
import json
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self, TypeVar

import jax
from jax._src import distributed

from luke_jax.errors import InputError
from luke_jax.files import Path

# Variables that launchers set if there are several processes, which JAX then finds by itself.
LAUNCHERS = (
  "SLURM_NTASKS",
  "OMPI_COMM_WORLD_SIZE",
  "JAX_COORDINATOR_ADDRESS",
  "MEGASCALE_NUM_SLICES",
)
HOSTS = "TPU_WORKER_HOSTNAMES"  # those of a slice, separated by commas
LOST = 30  # seconds without a sign of life until a process counts as gone, as hosts may be busy
T = TypeVar("T")
_PREFIX = "luke_jax/"
_LONGEST = 6 * 3600 * 1000  # ms; a process that is gone ends the others long before
_numbers = itertools.count()
_connecting = threading.Event()
# JAX's service ends every process of a run, by abort() and with a page of text, once one is gone.
_LOST = re.compile(
  rb"^[EF]\d{4} .*coordination.service|JAX distributed service detected fatal errors"
  rb"|^W\d{4} .*Failed to retrieve preemption notice from coordination service"
)


@contextlib.contextmanager
def connecting() -> Iterator[None]:
  """Keeps other threads from asking a client that is there but not connected: JAX ends it then."""
  _connecting.set()
  try:
    yield
  finally:
    _connecting.clear()


def alone() -> bool:
  """Returns whether this process is the only one of the run."""
  return jax.process_count() == 1


def joined_alone() -> bool:
  """Returns whether this process joined no others yet; `alone` would start a device."""
  return _connecting.is_set() or distributed.global_state.client is None or joined() == 1


def joined() -> int:
  """Returns the number of processes that joined."""
  return distributed.global_state.num_processes


def put(name: str, value: object) -> bool:
  """Writes a value under a name, once; returns whether it is this one that stands there."""
  try:
    _client().key_value_set(_PREFIX + name, json.dumps(value))
  except jax.errors.JaxRuntimeError as fault:
    if "ALREADY_EXISTS" in str(fault):
      return False
    raise
  return True


def all_below(name: str) -> dict[str, Any]:
  """Returns the values under `name/` by the last part of their names, without waiting."""
  entries = _client().key_value_dir_get(f"{_PREFIX}{name}/")
  return {key.rpartition("/")[2]: json.loads(value) for key, value in entries}


def gathered(value: T) -> list[T]:
  """Returns the values of all processes, in their order; all of them call it at the same place."""
  if alone():
    return [value]
  name = f"gathered/{next(_numbers)}"
  put(f"{name}/{jax.process_index()}", value)
  return [_waited(f"{name}/{process}") for process in range(jax.process_count())]


def meet() -> None:
  """Waits for all processes; called between the compilation of a program and its first run.

  On CPUs a program waits 30 seconds for the others, and they may compile for longer than this one.
  """
  gathered(None)


def from_first(action: Callable[[], T]) -> T:
  """Returns the JSON value that `action` returns on process 0; if it raises, all processes do."""
  if alone():
    return action()
  name = f"first/{next(_numbers)}"
  if jax.process_index() > 0:
    told = _waited(name)
    if told["fault"] is not None:
      raise InputError(f"process 0: {told['fault']}")
    return told["value"]
  try:
    value = action()
  except (InputError, OSError) as fault:
    put(name, {"fault": str(fault)})
    raise
  put(name, {"fault": None, "value": value})
  return value


def _waited(name: str) -> Any:
  return json.loads(_client().blocking_key_value_get(_PREFIX + name, _LONGEST))


def _client() -> Any:
  client = distributed.global_state.client
  if client is None:
    raise InputError(
      f"{jax.process_count()} processes that cannot reach each other; expected"
      " jax.distributed.initialize() before anything else"
    )
  return client


class LibraryMessages:
  """Pipe in the place of file descriptor 2; Python's own messages go past it.

  Lines are passed on, up to one by which JAX's service says that a process is gone.
  """

  def __enter__(self) -> Self:
    sys.stderr.flush()
    self._real, self._python = os.dup(2), sys.stderr
    self.reading, writing = os.pipe()
    os.set_blocking(self.reading, False)
    os.dup2(writing, 2)
    os.close(writing)
    sys.stderr = os.fdopen(os.dup(self._real), "w", buffering=1, errors="backslashreplace")
    self._rest, self.lost = b"", b""
    # abort() calls the handler with the signal's number: sleep(6) gives the watch the seconds in
    # which it reads what was written, and ends the process by a line and a status of its own.
    library = ctypes.CDLL(None)
    library.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
    library.signal.restype = ctypes.c_void_p
    library.signal(signal.SIGABRT, ctypes.cast(library.sleep, ctypes.c_void_p))
    return self

  def read(self) -> None:
    """Passes on the lines that came; from the one that names a lost process on, keeps them."""
    with contextlib.suppress(BlockingIOError):
      while more := os.read(self.reading, 65536):
        self._rest += more
    *lines, self._rest = self._rest.split(b"\n")
    for line in lines:
      if self.lost or _LOST.search(line):
        self.lost += line + b"\n"
      else:
        os.write(self._real, line + b"\n")

  def say(self, line: str) -> None:
    """Writes a line of the program's own."""
    os.write(self._real, f"{line}\n".encode(errors="backslashreplace"))

  def __exit__(self, *_: object) -> None:
    os.dup2(self._real, 2)
    sys.stderr.flush()
    sys.stderr = self._python
    self.read()
    os.write(self._real, self._rest)
    for descriptor in (self.reading, self._real):
      os.close(descriptor)


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
    with connecting():
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
  every = gathered(hashes)
  for name in sorted({name for values in every for name in values}):
    differing = [i for i, x in enumerate(every) if x.get(name) != every[0].get(name)]
    if differing:
      raise InputError(
        f"{name}: differs on process {', '.join(map(str, differing))} from process 0;"
        " expected the same command and files on every host"
      )
