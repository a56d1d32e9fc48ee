"""Lines that C++ libraries write to the standard error."""

import contextlib
import ctypes
import os
import re
import signal
import sys
from typing import Self

# JAX's service ends every process of a run, by abort() and with a page of text, once one is gone.
_LOST = re.compile(
  rb"^[EF]\d{4} .*coordination.service|JAX distributed service detected fatal errors"
  rb"|^W\d{4} .*Failed to retrieve preemption notice from coordination service"
)


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
    _pause_before_abort()
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


def _pause_before_abort() -> None:
  # abort() calls the handler with the signal's number: sleep(6) gives the watch the seconds in
  # which it reads what was written, and ends the process by a line and a status of its own.
  library = ctypes.CDLL(None)
  library.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
  library.signal.restype = ctypes.c_void_p
  library.signal(signal.SIGABRT, ctypes.cast(library.sleep, ctypes.c_void_p))
