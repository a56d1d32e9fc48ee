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
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from packaging.version import Version

from luke_jax.doctor import inventory
from luke_jax.doctor.inventory import SHARED_MEMORY, Extra, Machine, Package, this_machine

GB = 10**9
LEAST_MEMORY, LEAST_DISK, LEAST_SHARED_MEMORY = 2 * GB, 5 * GB, GB
# Settings that change results or speed without a message, and their effects.
SETTING_EFFECTS = {
  "JAX_ENABLE_X64": "arrays may have 64 bits, which TPUs compute slowly",
  "JAX_DISABLE_JIT": "nothing is compiled, so everything is slow",
  "JAX_DEBUG_NANS": "every step waits for a check of its values",
  "XLA_FLAGS": "the compiler's defaults are overridden",
  "LIBTPU_INIT_ARGS": "the defaults of the TPU's compiler are overridden",
}


class Finding(NamedTuple):
  """Fault or warning; `broken` where luke_jax cannot work with it."""

  broken: bool
  message: str


def package_findings(packages: Sequence[Package], faults: Mapping[str, str]) -> Iterator[Finding]:
  """Yields packages that are missing, too old, not importable or of mismatched versions."""
  if not any(package.required for package in packages):
    yield Finding(False, "luke_jax: imported from a folder, not installed; expected pip install .")
  for package in packages:
    if package.version is None:
      yield Finding(True, f"{package.name}: not installed; expected luke_jax reinstalled with pip")
    elif not package.fits:
      expected = f"expected {package.required}"
      yield Finding(True, f"{package.name}: {package.version}; {expected}")
  if "fault" in faults:
    yield Finding(True, f"packages: {faults['fault']}; expected them to import")
    return
  for name, fault in faults.items():
    yield Finding(True, f"{name}: cannot be imported ({fault}); expected it reinstalled with pip")
  versions = {package.name: package.version for package in packages}
  jax, jaxlib = versions.get("jax"), versions.get("jaxlib")
  if jax and jaxlib and Version(jax).release[:3] != Version(jaxlib).release[:3]:
    yield Finding(False, f"jaxlib: {jaxlib} with jax {jax}; expected the same version of both")


def transformers_findings(version: str | None) -> Iterator[Finding]:
  """Yields a finding for a transformers that reads texts of LUKE wrongly."""
  if fault := inventory.wrong_tokenizers(version):
    yield Finding(False, fault)


def device_findings(
  devices: Mapping[str, Any], settings: Mapping[str, str], machine: Machine
) -> Iterator[Finding]:
  """Yields a finding if JAX has no device, or uses the CPU though there is an accelerator."""
  chosen = settings.get("JAX_PLATFORMS")
  setting = f"JAX_PLATFORMS is {chosen}" if chosen else "JAX_PLATFORMS is not set"
  present = ", ".join(machine.accelerators[:3])
  if devices.get("late"):
    yield Finding(
      True,
      f"devices: {devices['fault']} ({setting}); expected every host of the slice to run, and no"
      " other process on its devices",
    )
  elif "fault" in devices:
    expected = (
      "it unset, or naming a platform of this machine" if chosen else "a device that JAX can use"
    )
    fault = devices["fault"].partition(" (set JAX_PLATFORMS")[0]
    yield Finding(True, f"devices: {fault} ({setting}); expected {expected}")
  elif devices["platform"] == "cpu" and machine.accelerators:
    part = "cuda" if "nvidia" in present else "tpu"
    expected = "it unset" if chosen else f"the optional part {part}, see below"
    if not chosen or "cpu" in chosen:
      yield Finding(
        False, f"devices: CPU, though {present} exists ({setting}); expected {expected}"
      )


def setting_findings(settings: Mapping[str, str]) -> Iterator[Finding]:
  """Yields environment variables that change results or speed."""
  for name, effect in SETTING_EFFECTS.items():
    if settings.get(name, "").lower() not in ("", "0", "false"):
      yield Finding(False, f"{name}: {settings[name]}; {effect}")


def libtpu_findings(libtpu: Mapping[str, object]) -> Iterator[Finding]:
  """Yields a finding if libtpu is installed and does not work."""
  if "fault" in libtpu:
    yield Finding(
      False, f"libtpu: {libtpu['fault']}; expected it to compile, as luke-jax plan needs"
    )


def machine_findings(machine: Machine) -> Iterator[Finding]:
  """Yields memories and disks with too little free space."""
  minimums = [("memory", machine.memory, LEAST_MEMORY)]
  minimums += [(f"disk of {folder}", room, LEAST_DISK) for folder, room in machine.disks.items()]
  minimums += [(str(SHARED_MEMORY), machine.shared_memory, LEAST_SHARED_MEMORY)]
  for name, room, least in minimums:
    if room is not None and room.free < least:
      free = f"{room.free / GB:.1f} GB free"
      yield Finding(False, f"{name}: {free}; expected {least / GB:g} or more for real data")


SETTINGS = ("JAX_", "XLA_", "TPU_", "LIBTPU_", "CUDA_", "MEGASCALE_", "TF_GPU_", "LD_PRELOAD")


@dataclasses.dataclass(frozen=True)
class Diagnosis:
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
  transformers: str | None = None  # its version

  @property
  def findings(self) -> list[Finding]:
    """Returns the findings, those of broken parts first."""
    findings = [
      *package_findings(self.packages, self.faults),
      *transformers_findings(self.transformers),
      *device_findings(self.devices, self.settings, self.machine),
      *setting_findings(self.settings),
      *libtpu_findings(self.libtpu),
      *machine_findings(self.machine),
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


def examine(seconds: float) -> Diagnosis:
  """Examines the machine; each of its three child processes may take `seconds`."""
  from luke_jax import __version__

  required = inventory.base_packages()
  installed = [package.name for package in required if package.version is not None]
  return Diagnosis(
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
    transformers=inventory.version("transformers"),
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
