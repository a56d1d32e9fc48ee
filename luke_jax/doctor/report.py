"""The whole look: what was found, what is wrong with it, and the verdict in one sentence."""

import dataclasses
import os
import platform
import sys
from collections.abc import Mapping
from typing import Any

from luke_jax.doctor import packages, traps
from luke_jax.doctor.asking import ask
from luke_jax.doctor.machine import Machine, this_machine
from luke_jax.doctor.packages import Package, Part
from luke_jax.doctor.traps import Finding

SETTINGS = ("JAX_", "XLA_", "TPU_", "LIBTPU_", "CUDA_", "MEGASCALE_", "TF_GPU_", "LD_PRELOAD")


@dataclasses.dataclass(frozen=True)
class Report:
  """What was found."""

  version: str
  python: str
  executable: str
  packages: tuple[Package, ...]
  faults: Mapping[str, str]  # why packages cannot be imported, by name
  devices: Mapping[str, Any]  # what JAX says, or a "fault"
  libtpu: Mapping[str, Any]  # its version, and what it answers or a "fault"
  machine: Machine
  settings: Mapping[str, str]  # environment variables that steer JAX
  parts: tuple[Part, ...]

  @property
  def findings(self) -> list[Finding]:
    """What is broken, then what is good to know."""
    found = [
      *traps.of_packages(self.packages, self.faults),
      *traps.of_devices(self.devices, self.settings, self.machine),
      *traps.of_settings(self.settings),
      *traps.of_libtpu(self.libtpu),
      *traps.of_machine(self.machine),
    ]
    return sorted(found, key=lambda finding: not finding.broken)

  @property
  def works(self) -> bool:
    """Whether everything that luke_jax needs is there."""
    return not any(finding.broken for finding in self.findings)

  @property
  def sentence(self) -> str:
    """The verdict."""
    findings = self.findings
    if not self.works:
      return f"broken: {findings[0].said}"
    kinds = ", ".join(f"{number} x {kind}" for kind, number in self.devices["kinds"].items())
    known = f"; good to know: {len(findings)}, above" if findings else ""
    return f"works: luke_jax {self.version} with JAX on {kinds}{known}"

  def to_json(self) -> dict[str, Any]:
    """All of it."""
    machine = self.machine
    rooms = {"memory": machine.memory, "shared_memory": machine.shared_memory}
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
      | {name: room and room._asdict() for name, room in rooms.items()}
      | {"disks": {folder: room._asdict() for folder, room in machine.disks.items()}},
      "settings": dict(self.settings),
      "optional": {part.name: part._asdict() for part in self.parts},
    }


def examine(seconds: float) -> Report:
  """Looks at everything. Each of the three questions to a child process takes so long at most."""
  from luke_jax import __version__

  base = packages.base_packages()
  there = [package.name for package in base if package.version is not None]
  return Report(
    version=__version__,
    python=platform.python_version(),
    executable=sys.executable,
    packages=tuple(base),
    faults=ask(["packages", *there], seconds),
    devices=ask(["devices"], seconds),
    libtpu=_libtpu(seconds),
    machine=this_machine(),
    settings={k: v for k, v in sorted(os.environ.items()) if v and k.startswith(SETTINGS)},
    parts=tuple(packages.optional_parts(sys.executable)),
  )


def _libtpu(seconds: float) -> dict[str, Any]:
  version = packages.version("libtpu")
  if version is None:
    return {"version": None}
  # A chip that another process works with is not to be touched.
  answer = ask(["libtpu"], seconds, environment={"JAX_PLATFORMS": "cpu"})
  return {"version": version, **answer}
