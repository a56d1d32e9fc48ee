"""A question to a process of its own, with a time limit that holds whatever it does."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

# -P: a file jax.py where the user happens to be is none of the installation.
PROBE = (sys.executable, "-P", "-m", "luke_jax.doctor.probe")
# A look at a GPU is not to take its memory from who works there.
MODEST = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}


def ask(
  question: Sequence[str],
  seconds: float,
  *,
  command: Sequence[str] = PROBE,
  environment: Mapping[str, str] | None = None,
) -> dict[str, Any]:
  """The answer, which has a "fault" where there is none: it died, or took too long."""
  # Files and not pipes, which whatever the process started could keep open.
  with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
    process = subprocess.Popen(
      [*command, *question],
      stdin=subprocess.DEVNULL,
      stdout=out,
      stderr=err,
      env={**os.environ, **MODEST, **_same_modules(), **(environment or {})},
      start_new_session=True,
    )
    try:
      status = process.wait(seconds)
    except subprocess.TimeoutExpired:
      return {"fault": f"no answer in {seconds:g} s", "late": True}
    finally:
      _end(process)
    answer = _last_object(_lines(out))
    if answer is None:
      said = [line for line in _lines(err) if line.strip()]
      return {"fault": f"the process ended with {status}: {said[-1][:300] if said else 'no word'}"}
    return answer


def _same_modules() -> dict[str, str]:
  """Where this process finds modules, as its children are told."""
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
