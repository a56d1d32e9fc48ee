"""Complete diagnosis: everything that was examined, its findings and the verdict.

What may crash or hang is examined in child processes, with a time limit that holds in any case.
"""

import contextlib
import dataclasses
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from luke_jax.doctor import inventory, traps
from luke_jax.doctor.inventory import Extra, Machine, Package, this_machine
from luke_jax.doctor.traps import Finding

SETTINGS = ("JAX_", "XLA_", "TPU_", "LIBTPU_", "CUDA_", "MEGASCALE_", "TF_GPU_", "LD_PRELOAD")


@dataclasses.dataclass(frozen=True)
class Report:
  """Everything that one examination saw."""

  version: str
  python: str
  executable: str
  packages: tuple[Package, ...]
  faults: Mapping[str, str]  # why packages cannot be imported, by name
  devices: Mapping[str, Any]  # the probe's result, or a "fault"
  libtpu: Mapping[str, Any]  # its version, and the probe's result or a "fault"
  machine: Machine
  settings: Mapping[str, str]  # environment variables that configure JAX
  parts: tuple[Extra, ...]

  @property
  def findings(self) -> list[Finding]:
    """Returns the findings, those of broken parts first."""
    findings = [
      *traps.package_findings(self.packages, self.faults),
      *traps.device_findings(self.devices, self.settings, self.machine),
      *traps.setting_findings(self.settings),
      *traps.libtpu_findings(self.libtpu),
      *traps.machine_findings(self.machine),
    ]
    return sorted(findings, key=lambda finding: not finding.broken)

  @property
  def works(self) -> bool:
    """Returns whether nothing that luke_jax needs is broken."""
    return not any(finding.broken for finding in self.findings)

  @property
  def sentence(self) -> str:
    """Returns the verdict in one sentence."""
    findings = self.findings
    if not self.works:
      return f"broken: {findings[0].message}"
    kinds = ", ".join(f"{number} x {kind}" for kind, number in self.devices["kinds"].items())
    warnings = f"; good to know: {len(findings)}, above" if findings else ""
    return f"works: luke_jax {self.version} with JAX on {kinds}{warnings}"

  def to_json(self) -> dict[str, object]:
    """Returns the whole report as JSON values."""
    machine = self.machine
    memories = {"memory": machine.memory, "shared_memory": machine.shared_memory}
    return {
      "works": self.works,
      "sentence": self.sentence,
      "findings": [finding._asdict() for finding in self.findings],
      "versions": {"luke_jax": self.version, "python": self.python}
      | {package.name: package.version for package in self.packages},
      "import_faults": dict(self.faults),
      "devices": dict(self.devices),
      "libtpu": dict(self.libtpu),
      "machine": {"cores": machine.cores, "accelerators": machine.accelerators}
      | {"cache": machine.cache, "cached_bytes": machine.cached_bytes}
      | {name: room and room._asdict() for name, room in memories.items()}
      | {"disks": {folder: room._asdict() for folder, room in machine.disks.items()}},
      "settings": dict(self.settings),
      "optional": {part.name: part._asdict() for part in self.parts},
    }


def examine(seconds: float) -> Report:
  """Examines the machine; each of its three child processes may take `seconds`."""
  from luke_jax import __version__

  required = inventory.base_packages()
  installed = [package.name for package in required if package.version is not None]
  return Report(
    version=__version__,
    python=platform.python_version(),
    executable=sys.executable,
    packages=tuple(required),
    faults=run_probe(["packages", *installed], seconds),
    devices=run_probe(["devices"], seconds),
    libtpu=_examined_libtpu(seconds),
    machine=this_machine(),
    settings={k: v for k, v in sorted(os.environ.items()) if v and k.startswith(SETTINGS)},
    parts=tuple(inventory.optional_parts(sys.executable)),
  )


def _examined_libtpu(seconds: float) -> dict[str, Any]:
  version = inventory.version("libtpu")
  if version is None:
    return {"version": None}
  # On the CPU, so that chips which another process uses are left alone.
  result = run_probe(["libtpu"], seconds, environment={"JAX_PLATFORMS": "cpu"})
  return {"version": version, **result}


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


def _last_object(lines: Sequence[str]) -> dict[str, object] | None:
  for line in reversed(lines):
    with contextlib.suppress(ValueError):
      value = json.loads(line)
      if isinstance(value, dict):
        return value
  return None
