"""Probes in child processes, with a time limit that holds whatever they do."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

# -P: otherwise a file jax.py in the working directory would be imported instead of JAX.
PROBE = (sys.executable, "-P", "-m", "luke_jax.doctor.probe")
# By default JAX reserves most of a GPU's memory, which other processes may be using.
NO_PREALLOCATION = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}


def run_probe(
  arguments: Sequence[str],
  seconds: float,
  *,
  command: Sequence[str] = PROBE,
  environment: Mapping[str, str] | None = None,
) -> dict[str, Any]:
  """Returns the JSON object that a probe prints; {"fault": ...} if it dies or takes too long."""
  # Files, since pipes could be kept open by what the process itself started.
  with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
    process = subprocess.Popen(
      [*command, *arguments],
      stdin=subprocess.DEVNULL,
      stdout=stdout,
      stderr=stderr,
      env={**os.environ, **NO_PREALLOCATION, **_module_path(), **(environment or {})},
      start_new_session=True,
    )
    try:
      status = process.wait(seconds)
    except subprocess.TimeoutExpired:
      return {"fault": f"no answer in {seconds:g} s", "late": True}
    finally:
      _end(process)
    result = _last_object(_lines(stdout))
    if result is None:
      lines = [line for line in _lines(stderr) if line.strip()]
      message = lines[-1][:300] if lines else "nothing on stderr"
      return {"fault": f"the process ended with status {status}: {message}"}
    return result


def _module_path() -> dict[str, str]:
  """Returns the environment that lets a child import what this process can import."""
  return {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def _end(process: subprocess.Popen) -> None:
  if process.poll() is None:
    with contextlib.suppress(ProcessLookupError):
      os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):  # it may hang in a driver
      process.wait(2)


def _lines(file: Any) -> list[str]:
  file.seek(0)
  return file.read().decode(errors="replace").splitlines()


def _last_object(lines: Sequence[str]) -> dict[str, Any] | None:
  for line in reversed(lines):
    with contextlib.suppress(ValueError):
      value = json.loads(line)
      if isinstance(value, dict):
        return value
  return None
