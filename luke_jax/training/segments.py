"""Lines of a run in a bucket, whose objects cannot be appended to: one object after another.

Each is named by the step of its first line, so that a resumed run finds what runs again.
"""

import json
import time
from collections.abc import Iterator

from luke_jax.files import Path, whole

SECONDS = 30.0  # between two objects, unless a checkpoint is saved before


class SegmentWriter:
  """A writer of lines with steps, whose object is written every half a minute and when asked to.

  Lines that an earlier process wrote for steps after `start_step` are dropped.
  """

  def __init__(self, folder: Path, start_step: int) -> None:
    self._folder, self._lines, self._written = folder, [], time.monotonic()
    self._name = ""
    for path in _segments(folder):
      if int(path.stem) > start_step:
        path.unlink()
        continue
      lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
      kept = [line for line in lines if json.loads(line)["step"] <= start_step]
      if len(kept) < len(lines):
        _write(path, kept)

  def write(self, step: int, line: str) -> None:
    """Adds a line."""
    self._name = self._name or f"{step:012}.jsonl"
    self._lines.append(line)
    if time.monotonic() > self._written + SECONDS:
      self.flush()

  def flush(self) -> None:
    """Writes the lines since the last object."""
    if self._lines:
      _write(self._folder / self._name, self._lines)
    self._lines, self._name, self._written = [], "", time.monotonic()

  close = flush


def read_segments(folder: Path) -> Iterator[str]:
  """Yields the lines of all objects in the order of their steps."""
  for path in _segments(folder):
    yield from path.read_text(encoding="utf-8").splitlines()


def _segments(folder: Path) -> list[Path]:
  return sorted(folder.glob("*.jsonl")) if folder.is_dir() else []


def _write(path: Path, lines: list[str]) -> None:
  with whole(path) as part:
    part.write_text("".join(lines), encoding="utf-8")
