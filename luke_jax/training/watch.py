"""Watch of a run: signals that end it, and other processes that fail or are gone.

A thread watches, since the main one may be in a program that waits for another process.
"""

import contextlib
import os
import re
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Self, TypedDict

import jax
from jax._src import distributed

from luke_jax.training import processes
from luke_jax.training.processes import LOST, LibraryMessages

# sysexits.h's EX_TEMPFAIL: the same command goes on. Shells and systemd give 130 for Ctrl-C.
GOES_ON, INTERRUPTED = 75, 130
STATUS = {"preempted": GOES_ON, "interrupted": INTERRUPTED}
_POLL = 1.0  # seconds between looks at what other processes said
_TOLD = 20.0  # most seconds that process 0, which keeps the messages, waits until all read one
_SIGNALS = {signal.SIGTERM: "preempted", signal.SIGINT: "interrupted"}
# Line and exit status for an exception; None for a traceback.
Outcome = Callable[[BaseException], tuple[str, int] | None]
_active: "list[Watch]" = []


@contextlib.contextmanager
def watching(outcome: Outcome | None = None) -> Iterator["Watch"]:
  """Yields the watch of this process, which the outermost block starts and ends.

  A command gives an `outcome`. Its process may then be ended by the watch: by a signal before the
  first step, and as soon as another process of the run failed.
  """
  if _active:
    yield _active[-1]
    return
  with Watch(outcome) as watch:
    _active.append(watch)
    try:
      yield watch
    finally:
      _active.clear()


class Stop(TypedDict):
  """Why and when a run leaves, as processes tell each other."""

  status: str
  signal: str
  time: float  # when this process heard of it, by a clock that nobody sets


class Watch:
  """Thread that hears of signals and of other processes."""

  def __init__(self, outcome: Outcome | None):
    self._outcome = outcome
    self._lock = threading.Lock()
    self._step: int | None = None  # the newest that was begun
    self._last: int | None = None  # after which all processes leave
    self._ended = self._leaving = False
    self._wake = threading.Event()
    self._asked: Stop | None = None  # an end, by a signal to this process
    self._others: LibraryMessages | None = None
    self.stop: Stop | None = None  # why and when to leave

  def __enter__(self) -> Self:
    self._open = contextlib.ExitStack()
    self._signals, self._signalled = os.pipe()
    os.set_blocking(self._signalled, False)
    if threading.current_thread() is threading.main_thread():
      self._open.callback(signal.set_wakeup_fd, signal.set_wakeup_fd(self._signalled))
      for number in _SIGNALS:  # the number arrives in the pipe
        before = signal.signal(number, lambda *_: None)
        self._open.callback(signal.signal, number, before)
    # Two, as asking the service for messages may hang once that is gone.
    threads = {"watch": self._run, "messages": self._ask}
    self._threads = [threading.Thread(target=x, name=n, daemon=True) for n, x in threads.items()]
    for thread in self._threads:
      thread.start()
    return self

  def with_others(self) -> None:
    """Reads from now on what JAX's service writes when a process is gone."""
    if self._outcome is not None and self._others is None:
      self._others = self._open.enter_context(LibraryMessages())

  def due(self, step: int) -> bool:
    """Returns whether to save and leave before this step; all processes call it at every step."""
    with self._lock:
      self._step = step
      if self.stop is None:
        return False
    if self._last is None:
      self._last = self._agreed(step)
    return step >= self._last

  @property
  def status(self) -> str:
    """Returns why the run leaves: "preempted" or "interrupted"."""
    assert self.stop is not None
    return self.stop["status"]

  def __exit__(self, kind: object, fault: BaseException | None, trace: object) -> None:
    if fault is not None and self._outcome is not None and not processes.joined_alone():
      self._tell(fault, self._outcome)
    self._ended = True
    self._wake.set()
    os.write(self._signalled, b"\0")
    for thread in self._threads:
      thread.join(2 * _POLL)  # one may wait for an answer of the service
    self._open.close()
    os.close(self._signals)
    os.close(self._signalled)

  def _run(self) -> None:
    while not self._ended:
      others = [self._others.reading] if self._others else []
      ready, _, _ = select.select([self._signals, *others], [], [], _POLL)
      if self._signals in ready:
        for number in os.read(self._signals, 64):
          if number in _SIGNALS:
            self._signal(number)
      if self._others:
        self._others.read()
        if self._others.lost:
          self._lost(self._others)

  def _ask(self) -> None:
    """Looks every second, and when a signal came, for messages of other processes."""
    while not self._ended:
      self._wake.wait(_POLL)
      self._wake.clear()
      if not self._ended and not processes.joined_alone():
        with contextlib.suppress(jax.errors.JaxRuntimeError):  # the service is gone: lost, soon
          if self._asked:
            processes.put("stop/all", self._asked)
          self._look()

  def _signal(self, number: int) -> None:
    """Asks for an end of the run; a second Ctrl-C does not wait for it."""
    name = signal.Signals(number).name
    if self.stop is not None:
      if number == signal.SIGINT and time.monotonic() > self.stop["time"] + _POLL:
        self._leave(INTERRUPTED, "interrupted again: nothing more is saved")
      return
    status = _SIGNALS[signal.Signals(number)]
    stop: Stop = {"status": status, "signal": name, "time": time.monotonic()}
    if processes.joined_alone():
      self._heard(stop)
    else:
      self._asked = stop
      self._wake.set()

  def _heard(self, stop: Stop) -> None:
    with self._lock:
      heard = time.monotonic()
      self.stop = {"status": stop["status"], "signal": stop["signal"], "time": heard}
      step = self._step
    if not processes.joined_alone():
      processes.put(f"at/{_own_number()}", None if step is None else step + 1)
    elif step is None:
      self._leave_early()

  def _look(self) -> None:
    """Looks whether another process asks for an end, or failed."""
    for process, fault in processes.all_below("fault").items():
      if int(process) != _own_number() and not self._leaving:
        processes.put(f"read/{_own_number()}", None)
        self._leave(fault["status"], f"process {process}: {fault['line']}")
    stop = processes.all_below("stop").get("all")
    if stop and self.stop is None:
      self._heard(stop)
    if stop and self._step is None and None in processes.all_below("at").values():
      self._leave_early()

  def _leave_early(self) -> None:
    """Ends a command before its first step, when there is nothing to save."""
    assert self.stop is not None
    until = time.monotonic() + _TOLD
    while not processes.joined_alone() and _own_number() == 0 and time.monotonic() < until:
      time.sleep(_POLL)  # with process 0 the messages end, which the others have to hear first
      if len(processes.all_below("at")) == processes.joined():
        until = 0
    line = f"{self.stop['signal']} before the first step: nothing to save; the same command goes on"
    self._leave(STATUS[self.status], line)

  def _agreed(self, step: int) -> int:
    """Returns the first step that every process can still stop before."""
    if processes.joined_alone():
      return step
    while len(steps := processes.all_below("at")) < processes.joined():
      time.sleep(0.05)
    return max(x or 0 for x in steps.values())

  def _tell(self, fault: BaseException, outcome: Outcome) -> None:
    """Ends this process for a fault, once the others can read of it."""
    if isinstance(fault, jax.errors.JaxRuntimeError) and "RESOURCE_EXHAUSTED" not in str(fault):
      # Most often another process is gone, of which the watch will hear.
      time.sleep(LOST + 5 * _POLL)
    self._leaving = True
    line, status = outcome(fault) or ("", 1)
    told = line or f"{type(fault).__name__}: {str(fault).partition(chr(10))[0]}"
    with contextlib.suppress(jax.errors.JaxRuntimeError):
      processes.put(f"fault/{_own_number()}", {"line": told, "status": status})
      until = time.monotonic() + _TOLD
      others = processes.joined() - 1
      while _own_number() == 0 and time.monotonic() < until:
        if len(processes.all_below("read") | processes.all_below("fault")) > others:
          break
        time.sleep(0.1)
    if not line:
      sys.excepthook(type(fault), fault, fault.__traceback__)
    self._leaving = False
    self._leave(status, line)

  def _lost(self, others: LibraryMessages) -> None:
    """Ends this process, as JAX's service would in a moment."""
    time.sleep(0.3)  # the rest of what it writes
    others.read()
    gone = re.search(rb"heartbeats?\):\s*([\d, ]+)", others.lost)
    what = f"process {gone.group(1).decode().strip()} is gone" if gone else _first(others.lost)
    if b"Failed to send RPC" in others.lost:  # to the service, which process 0 has
      what = "process 0 is gone"
    self._leave(
      GOES_ON, f"{what}; the same command, on every host, goes on from the last checkpoint"
    )

  def _leave(self, status: int, line: str) -> None:
    """Ends a command at once: its main thread may wait for a process that is gone."""
    if self._outcome is None or self._leaving:
      return
    self._leaving = True
    sys.stdout.flush()
    if line and self._others:
      self._others.say(f"luke-jax: {line}")
    elif line:
      print(f"luke-jax: {line}", file=sys.stderr, flush=True)
    sys.stderr.flush()
    os._exit(status)


def _first(text: bytes) -> str:
  """Returns the first line of what a library logged, without its time and place."""
  _, _, line = text.partition(b"\n")[0].decode(errors="replace").partition("] ")
  line = line.rpartition("absl::Status: ")[2]  # after three lines of advice
  return line.strip()[:200] or "another process is gone"


def _own_number() -> int:
  """Returns the number of this process among those that joined."""
  return distributed.global_state.process_id
