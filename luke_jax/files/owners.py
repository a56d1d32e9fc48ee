"""Owners of locks: processes, by what tells each from all others on any machine at any time."""

import json
import os
import socket
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from luke_jax.errors import InputError


def this_process() -> dict[str, object]:
  """Returns the description of this process in its locks."""
  return {
    "host": socket.gethostname(),
    "process": os.getpid(),
    "since": datetime.now(UTC).isoformat(timespec="seconds"),
    "processes": namespace(),
    "started": _started(os.getpid()),
    "id": uuid.uuid4().hex,
  }


def namespace() -> str:
  """Returns the system, since it was started, in which numbers of processes mean the same."""
  try:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8")
    return boot.strip() + str(Path("/proc/self/ns/pid").readlink())
  except OSError:
    return ""


def _started(process: int) -> str:
  """Returns when a process was started, in ticks since the system was; empty if it is not there."""
  try:
    status = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    return status.rpartition(")")[2].split()[19]
  except OSError:
    return ""


def is_dead(owner: dict[str, Any]) -> bool:
  """Returns whether a lock's owner was a process of this very system that is no more."""
  here = owner.get("processes") and owner.get("processes") == namespace()
  return bool(here) and _started(int(owner.get("process", 0))) != owner.get("started")


def read_owner(text: str) -> dict[str, object]:
  """Returns the owner that a lock names; empty for a lock that is not whole."""
  try:
    value = json.loads(text)
  except ValueError:
    return {}
  return value if isinstance(value, dict) else {}


def occupied(folder: object, text: str) -> InputError:
  """Returns the error for a folder that another process has locked."""
  owner = read_owner(text)
  who = ""
  if owner:
    who = f" (process {owner.get('process')} on {owner.get('host')} since {owner.get('since')})"
  return InputError(f"{folder}: another command is at work here{who}; expected to be alone")
