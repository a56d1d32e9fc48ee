"""Known faults of machines and installations, recognised in what was examined."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from luke_jax.doctor.inventory import SHARED_MEMORY, Machine, Package, numbers

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
  if not any(package.least for package in packages):
    yield Finding(False, "luke_jax: imported from a folder, not installed; expected pip install .")
  for package in packages:
    if package.version is None:
      yield Finding(True, f"{package.name}: not installed; expected luke_jax reinstalled with pip")
    elif not package.fits:
      yield Finding(True, f"{package.name}: {package.version}; expected {package.least} or newer")
  if "fault" in faults:
    yield Finding(True, f"packages: {faults['fault']}; expected them to import")
    return
  for name, fault in faults.items():
    yield Finding(True, f"{name}: cannot be imported ({fault}); expected it reinstalled with pip")
  versions = {package.name: package.version for package in packages}
  jax, jaxlib = versions.get("jax"), versions.get("jaxlib")
  if jax and jaxlib and numbers(jax)[:3] != numbers(jaxlib)[:3]:
    yield Finding(False, f"jaxlib: {jaxlib} with jax {jax}; expected the same version of both")


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
