"""Resources of a machine: cores, memory, disks and accelerators."""

import contextlib
import os
import shutil
import tempfile
from typing import NamedTuple

from luke_jax.files import Path, cache_folder

SHARED_MEMORY = Path("/dev/shm")


class Room(NamedTuple):
  """Free and total bytes of a memory or a disk."""

  free: int
  total: int


class Machine(NamedTuple):
  """Resources of one machine."""

  cores: int
  memory: Room | None  # None where the system does not report it
  disks: dict[str, Room]  # by a folder on them
  shared_memory: Room | None
  accelerators: tuple[str, ...]  # paths of device files
  cache: str = ""  # folder of fetched models and compiled programs
  cached_bytes: int = 0  # in that folder


def this_machine() -> Machine:
  """Returns the resources of the machine that this runs on."""
  cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
  folders = (Path(".").absolute(), Path(tempfile.gettempdir()))
  disks = {str(folder): _disk(folder) for folder in folders}
  shared = _disk(SHARED_MEMORY) if SHARED_MEMORY.is_dir() else None
  cache = cache_folder()
  return Machine(cores or 1, memory(), disks, shared, accelerators(), str(cache), _size(cache))


def memory(system: Path = Path("/")) -> Room | None:
  """Returns the memory that is available, within the limit of the container if there is one."""
  try:
    lines = (system / "proc/meminfo").read_text(encoding="utf-8").splitlines()
    figures = {
      name: int(rest.split()[0]) * 1024 for name, _, rest in (x.partition(":") for x in lines)
    }
    room = Room(figures["MemAvailable"], figures["MemTotal"])
  except (OSError, ValueError, KeyError, IndexError):
    return None
  group = system / "sys/fs/cgroup"
  try:
    limit = int((group / "memory.max").read_text(encoding="utf-8"))
    used = int((group / "memory.current").read_text(encoding="utf-8"))
  except (OSError, ValueError):  # no container, or one without a limit
    return room
  return Room(min(room.free, max(0, limit - used)), min(room.total, limit))


def accelerators(devices: Path = Path("/dev")) -> tuple[str, ...]:
  """Returns the device files of TPUs and GPUs, including those that JAX cannot use."""
  patterns = ("accel[0-9]*", "vfio/[0-9]*", "nvidia[0-9]*", "kfd")
  return tuple(str(path) for pattern in patterns for path in sorted(devices.glob(pattern)))


def _size(folder: Path) -> int:
  """Returns the bytes of the files below a folder; those that go meanwhile count nothing."""
  total = 0
  for place, _, names in os.walk(folder):
    for name in names:
      with contextlib.suppress(OSError):
        total += (Path(place) / name).stat().st_size
  return total


def _disk(folder: Path) -> Room:
  usage = shutil.disk_usage(folder)
  return Room(usage.free, usage.total)
