"""What a machine has: cores, memory, disks, and accelerators that the system shows."""

import os
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

SHARED_MEMORY = Path("/dev/shm")


class Room(NamedTuple):
  """Bytes of a memory or a disk."""

  free: int
  total: int


class Machine(NamedTuple):
  """What a machine has."""

  cores: int
  memory: Room | None  # None: the system does not say
  disks: dict[str, Room]  # by folder
  shared_memory: Room | None
  accelerators: tuple[str, ...]  # device files


def this_machine() -> Machine:
  """The machine that this runs on."""
  cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
  disks = {str(folder): _disk(folder) for folder in (Path.cwd(), Path(tempfile.gettempdir()))}
  shared = _disk(SHARED_MEMORY) if SHARED_MEMORY.is_dir() else None
  return Machine(cores or 1, memory(), disks, shared, accelerators())


def memory(system: Path = Path("/")) -> Room | None:
  """What can still be had, within what a container is allowed."""
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
    most = int((group / "memory.max").read_text(encoding="utf-8"))
    used = int((group / "memory.current").read_text(encoding="utf-8"))
  except (OSError, ValueError):  # no container, or one without a limit
    return room
  return Room(min(room.free, max(0, most - used)), min(room.total, most))


def accelerators(devices: Path = Path("/dev")) -> tuple[str, ...]:
  """Device files of TPUs and GPUs, whether or not JAX can use them."""
  patterns = ("accel[0-9]*", "vfio/[0-9]*", "nvidia[0-9]*", "kfd")
  return tuple(str(path) for pattern in patterns for path in sorted(devices.glob(pattern)))


def _disk(folder: Path) -> Room:
  usage = shutil.disk_usage(folder)
  return Room(usage.free, usage.total)
