"""Metrics of a run, as lines of JSON and as events for TensorBoard."""

import contextlib
import importlib
import json
import math
import time
from collections.abc import Generator, Iterator, Mapping
from typing import Self

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path, in_bucket, sync, whole, write_text

METRICS, SEGMENTS, TENSORBOARD = "metrics.jsonl", "metrics", "tensorboard"
_FLUSH_SECONDS = 30  # between flushes of TensorBoard's file to the disk, which are slow
SECONDS = 30.0  # between two objects, unless a checkpoint is saved before


class MetricsWriter:
  """Writer that appends to metrics.jsonl and to TensorBoard's events, from a step on.

  In a bucket it writes objects one after another, at the latest at each `flush`.

  Lines that an earlier process wrote for later steps are dropped, since these steps run again. Only
  one process of a run is `enabled`.
  """

  def __init__(self, directory: Path, *, start_step: int, enabled: bool = True) -> None:
    self._path = directory / METRICS
    self._events_path = directory / TENSORBOARD / f"events.out.tfevents.{time.time_ns()}"
    self._start_step = start_step
    self._enabled = enabled
    self._open = contextlib.ExitStack()

  def __enter__(self) -> Self:
    if self._enabled:
      with contextlib.ExitStack() as opened:
        with _as_input_error(self._path):
          self._lines = opened.enter_context(contextlib.closing(self._opened()))
        with _as_input_error(self._events_path):
          self._events = opened.enter_context(
            contextlib.closing(_Events(self._events_path, self._start_step))
          )
        self._open = opened.pop_all()
    return self

  def __exit__(self, kind: object, fault: object, trace: object) -> None:
    try:
      with _as_input_error(self._path.parent):
        self._open.close()
    except InputError:
      # The error that ended the run matters more than one from closing the files.
      if fault is None:
        raise

  def _opened(self) -> "_Lines | SegmentWriter":
    if in_bucket(self._path):
      return SegmentWriter(self._path.with_name(SEGMENTS), self._start_step)
    return _Lines(self._path, self._start_step)

  def flush(self) -> None:
    """Writes all numbers until now to the disk, before a checkpoint from which a run may resume."""
    if self._enabled:
      with _as_input_error(self._path):
        self._lines.flush()

  def write(self, step: int, numbers: Mapping[str, object]) -> None:
    """Writes the numbers of a step. NaN and infinities are the strings "nan", "inf" and "-inf"."""
    if not self._enabled:
      return
    plain = {name: _plain(number) for name, number in numbers.items()}
    line = {"step": step} | {name: _in_json(number) for name, number in plain.items()}
    with _as_input_error(self._path):
      self._lines.write(step, json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n")
    with _as_input_error(self._events_path):
      self._events.write(step, plain)


class _Lines:
  """metrics.jsonl on a disk."""

  def __init__(self, path: Path, start_step: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    _drop_after(path, start_step)
    self._path, self._file = path, path.open("a", encoding="utf-8")

  def write(self, step: int, line: str) -> None:
    self._file.write(line)
    self._file.flush()

  def flush(self) -> None:
    sync(self._path)

  def close(self) -> None:
    self._file.close()


class _Events:
  """TensorBoard's events; tensorboardX's own writer hangs once a disk is full.

  In a bucket, each flush writes an object of its own, which TensorBoard reads one after another.
  """

  def __init__(self, path: Path, start_step: int) -> None:
    # The module's names are made when it is imported, so type checkers do not see them.
    self._event = importlib.import_module("tensorboardX.proto.event_pb2").Event
    self._path, self._opened = path, contextlib.ExitStack()
    self._open()
    # With the start of a session TensorBoard hides that step and later ones of earlier files.
    self._write(step=start_step + 1, session_log={"status": "START"})
    if not in_bucket(path):
      self._records.flush()

  def _open(self) -> None:
    # Imported here, as it takes long where PyTorch is installed.
    from tensorboardX import RecordWriter

    path = self._path
    if in_bucket(path):
      path = path.with_name(f"events.out.tfevents.{time.time_ns()}")
      path = self._opened.enter_context(whole(path))
    else:
      path.parent.mkdir(exist_ok=True)
    self._records = RecordWriter(str(path))
    self._opened.callback(self._records.close)
    self._flushed = time.monotonic()
    self._write(file_version="brain.Event:2")

  def write(self, step: int, numbers: Mapping[str, float]) -> None:
    values = [{"tag": name, "simple_value": number} for name, number in numbers.items()]
    self._write(step=step, summary={"value": values})
    if time.monotonic() > self._flushed + _FLUSH_SECONDS:
      if in_bucket(self._path):
        self._opened.close()
        self._open()
      self._records.flush()
      self._flushed = time.monotonic()

  def _write(self, **fields: object) -> None:
    self._records.write(self._event(wall_time=time.time(), **fields).SerializeToString())

  def close(self) -> None:
    self._opened.close()


def read_lines(folder: Path) -> list[str] | None:
  """Returns the lines of a run's metrics, None if it has none."""
  if (folder / METRICS).is_file():
    return (folder / METRICS).read_text(encoding="utf-8").splitlines()
  return list(read_segments(folder / SEGMENTS)) or None


def read_numbers(folder: Path, name: str, until: int) -> list[float]:
  """Returns the numbers of a name in the order of their steps, up to a step."""
  lines = [json.loads(line) for line in (read_lines(folder) or ()) if name in line]
  return [float(line[name]) for line in lines if line["step"] <= until]


def summary_line(summary: Mapping[str, object]) -> str:
  """Returns a summary as one line of JSON: floats of 6 digits, sorted names, groups last."""
  return json.dumps(_brief(summary), ensure_ascii=False, allow_nan=False)


def _brief(value: object) -> object:
  if isinstance(value, Mapping):
    names = sorted(value, key=lambda name: (isinstance(value[name], Mapping), name))
    return {name: _brief(value[name]) for name in names}
  if isinstance(value, list | tuple):
    return [_brief(item) for item in value]
  if value is None or isinstance(value, str | bool):
    return value
  number = _plain(value)
  return _in_json(float(f"{number:.6g}") if isinstance(number, float) else number)


def _plain(number: object) -> int | float:
  """Returns a number of Python, NumPy or JAX as one of Python."""
  plain = np.asarray(number).item()
  return plain if isinstance(plain, int) else float(plain)


def _in_json(number: int | float) -> int | float | str:
  return number if math.isfinite(number) else str(number)


def _drop_after(path: Path, step: int) -> None:
  """Rewrites a file without the lines of later steps and without an incomplete last line."""
  if not path.is_file():
    return
  with whole(path) as part, path.open("rb") as lines, part.open("wb") as shortened:
    for line in _complete(lines, path):
      if json.loads(line)["step"] <= step:
        shortened.write(line.rstrip(b"\n") + b"\n")


def _complete(lines: Iterator[bytes], path: Path) -> Iterator[bytes]:
  """Yields the lines that have a step; only the last line may have none."""
  incomplete = None
  for number, line in enumerate(lines, 1):
    if incomplete:
      raise InputError(f"{path}: line {incomplete} is not an object with a step; expected metrics")
    if _has_step(line):
      yield line
    else:
      incomplete = number


def _has_step(line: bytes) -> bool:
  try:
    return isinstance(json.loads(line)["step"], int)
  except (ValueError, TypeError, KeyError, RecursionError):
    return False


@contextlib.contextmanager
def _as_input_error(path: Path) -> Generator[None, None, None]:
  try:
    yield
  except OSError as fault:
    raise InputError(f"{path}: {fault.strerror or fault}; expected to write there") from None


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
      before = [line for line in lines if json.loads(line)["step"] <= start_step]
      if len(before) < len(lines):
        _write(path, before)

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
  write_text(path, "".join(lines))
