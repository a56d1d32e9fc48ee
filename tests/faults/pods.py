"""Sends a signal to one of 1, 2, 4 and 8 processes of a run; prints how and when all of them end.

python -m tests.faults.pods --processes 1 2 4 8
"""

import argparse
import signal
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from tests.faults.commands import together, wait_for_step

SIGNALS = {"SIGTERM": signal.SIGTERM, "SIGINT": signal.SIGINT, "SIGKILL": signal.SIGKILL}


class End(NamedTuple):
  """End of a process: its status, seconds after the signal, and its last line."""

  status: int
  seconds: float
  line: str


def ends(place: Path, count: int, name: str, victim: int) -> list[End]:
  """The ends of all processes of a new run after a signal to one of them."""
  folder = place / f"{count}-{name}-{victim}"
  processes = together(place / "cache", folder, count, "--set", "run.steps=100000")
  wait_for_step(folder, 3, processes)
  processes[victim].send_signal(SIGNALS[name])
  sent = time.monotonic()
  seconds: dict[int, float] = {}
  while len(seconds) < count and time.monotonic() < sent + 150:
    for number, process in enumerate(processes):
      if number not in seconds and process.poll() is not None:
        seconds[number] = time.monotonic() - sent
    time.sleep(0.05)
  found = []
  for number, process in enumerate(processes):
    process.kill()  # one that hangs
    _, error = process.communicate()
    lines = [line for line in error.strip().splitlines() if line]
    found.append(End(process.returncode, seconds.get(number, -1), (lines or [""])[-1]))
  return found


def row(count: int, name: str, victim: int, found: list[End]) -> str:
  others = [end for number, end in enumerate(found) if number != victim] or [found[victim]]
  statuses = ", ".join(str(x) for x in sorted({end.status for end in others}))
  latest = max(end.seconds for end in others)
  return f"| {count} | {name} to {victim} | {found[victim].status} | {statuses} | {latest:.1f} |"


if __name__ == "__main__":
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 4, 8])
  parser.add_argument("--signals", nargs="+", default=list(SIGNALS), choices=SIGNALS)
  options = parser.parse_args()
  print("| processes | signal | its status | the others' | seconds to the last end |", flush=True)
  print("|---|---|---|---|---|", flush=True)
  with tempfile.TemporaryDirectory(prefix="luke-jax-pods-") as temporary:
    for processes in options.processes:
      for signalled in options.signals:
        for one in sorted({0, processes - 1}):
          result = ends(Path(temporary), processes, signalled, one)
          print(row(processes, signalled, one, result), flush=True)
