"""Complete diagnosis: everything that was examined, its findings and the verdict."""

import dataclasses
import os
import platform
import sys
from collections.abc import Mapping
from typing import Any

from luke_jax.doctor import packages, traps
from luke_jax.doctor.child_process import run_probe
from luke_jax.doctor.machine import Machine, this_machine
from luke_jax.doctor.packages import Extra, Package
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

  def to_json(self) -> dict[str, Any]:
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

  required = packages.base_packages()
  installed = [package.name for package in required if package.version is not None]
  return Report(
    version=__version__,
    python=platform.python_version(),
    executable=sys.executable,
    packages=tuple(required),
    faults=run_probe(["packages", *installed], seconds),
    devices=run_probe(["devices"], seconds),
    libtpu=_libtpu(seconds),
    machine=this_machine(),
    settings={k: v for k, v in sorted(os.environ.items()) if v and k.startswith(SETTINGS)},
    parts=tuple(packages.optional_parts(sys.executable)),
  )


def _libtpu(seconds: float) -> dict[str, Any]:
  version = packages.version("libtpu")
  if version is None:
    return {"version": None}
  # On the CPU, so that chips which another process uses are left alone.
  result = run_probe(["libtpu"], seconds, environment={"JAX_PLATFORMS": "cpu"})
  return {"version": version, **result}
