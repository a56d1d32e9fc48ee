"""Description of the machine that measures, and limiting a measurement to one core."""

import contextlib
import os
import platform
from collections.abc import Iterator

from luke_jax.files import Path


def cores_and_processor() -> str:
  """Returns the number of cores this process may use, and the processor's name."""
  cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
  return f"{cores} core{'s' if cores != 1 else ''}, {_processor()}"


@contextlib.contextmanager
def one_core() -> Iterator[None]:
  """Limits this process to one core where the system can, and tokenizers to one thread."""
  variable, pinned = "TOKENIZERS_PARALLELISM", hasattr(os, "sched_setaffinity")
  before = os.environ.get(variable)
  cores = os.sched_getaffinity(0) if pinned else set()
  os.environ[variable] = "false"
  try:
    if pinned:
      os.sched_setaffinity(0, {min(cores)})
    yield
  finally:
    if pinned:
      os.sched_setaffinity(0, cores)
    if before is None:
      del os.environ[variable]
    else:
      os.environ[variable] = before


def _processor() -> str:
  try:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
  except OSError:
    lines = []
  names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
  return names[0] if names else platform.processor() or platform.machine()
