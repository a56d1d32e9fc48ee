"""What is known to go wrong, and how to tell it by what was found."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from luke_jax.doctor.machine import SHARED_MEMORY, Machine
from luke_jax.doctor.packages import Package, numbers

GB = 10**9
LEAST_MEMORY, LEAST_DISK, LEAST_SHARED_MEMORY = 2 * GB, 5 * GB, GB
# Settings that change numbers or speed unnoticed.
TELLING = {
  "JAX_ENABLE_X64": "arrays may be of 64 bits, which TPUs compute slowly",
  "JAX_DISABLE_JIT": "nothing is compiled, so all is slow",
  "JAX_DEBUG_NANS": "every step waits for a check",
  "XLA_FLAGS": "the compiler is told otherwise than it would do",
  "LIBTPU_INIT_ARGS": "the TPU's compiler is told otherwise than it would do",
}


class Finding(NamedTuple):
  """Something broken, or good to know."""

  broken: bool
  said: str


def of_packages(packages: Sequence[Package], faults: Mapping[str, str]) -> Iterator[Finding]:
  """Packages that are missing, too old, that cannot be imported or do not fit each other."""
  if not any(package.least for package in packages):
    yield Finding(False, "luke_jax: not installed, only found here; expected pip install .")
  for package in packages:
    if package.version is None:
      yield Finding(True, f"{package.name}: not installed; expected pip install of luke_jax anew")
    elif not package.fits:
      yield Finding(True, f"{package.name}: {package.version}; expected {package.least} or newer")
  if "fault" in faults:
    yield Finding(True, f"packages: {faults['fault']}; expected to import them")
    return
  for name, fault in faults.items():
    yield Finding(True, f"{name}: cannot be imported ({fault}); expected pip install of it anew")
  versions = {package.name: package.version for package in packages}
  jax, jaxlib = versions.get("jax"), versions.get("jaxlib")
  if jax and jaxlib and numbers(jax)[:3] != numbers(jaxlib)[:3]:
    yield Finding(False, f"jaxlib: {jaxlib} with jax {jax}; expected the same version of both")


def of_devices(
  devices: Mapping[str, Any], settings: Mapping[str, str], machine: Machine
) -> Iterator[Finding]:
  """No device, or not the one that the machine has."""
  chosen = settings.get("JAX_PLATFORMS")
  why = f"JAX_PLATFORMS is {chosen}" if chosen else "JAX_PLATFORMS is not set"
  there = ", ".join(machine.accelerators[:3])
  if devices.get("late"):
    yield Finding(
      True,
      f"devices: {devices['fault']}; expected none of its hosts to be missing and no other process"
      f" on them ({why})",
    )
  elif "fault" in devices:
    expected = "it unset, or naming what is here" if chosen else "a device that JAX can use"
    fault = devices["fault"].partition(" (set JAX_PLATFORMS")[0]
    yield Finding(True, f"devices: {fault} ({why}); expected {expected}")
  elif devices["platform"] == "cpu" and machine.accelerators:
    part = "cuda" if "nvidia" in there else "tpu"
    expected = "it unset" if chosen else f"the optional part {part}, see below"
    if not chosen or "cpu" in chosen:
      yield Finding(False, f"devices: CPU, though {there} is here ({why}); expected {expected}")


def of_settings(settings: Mapping[str, str]) -> Iterator[Finding]:
  """Settings that change what comes out or how fast."""
  for name, effect in TELLING.items():
    if settings.get(name, "").lower() not in ("", "0", "false"):
      yield Finding(False, f"{name}: {settings[name]}; {effect}")


def of_libtpu(libtpu: Mapping[str, Any]) -> Iterator[Finding]:
  """A compiler for TPUs that is there and does not answer."""
  if "fault" in libtpu:
    yield Finding(
      False, f"libtpu: {libtpu['fault']}; expected it to compile, as luke-jax plan needs"
    )


def of_machine(machine: Machine) -> Iterator[Finding]:
  """Too little room."""
  rooms = [("memory", machine.memory, LEAST_MEMORY)]
  rooms += [(f"disk of {folder}", room, LEAST_DISK) for folder, room in machine.disks.items()]
  rooms += [(str(SHARED_MEMORY), machine.shared_memory, LEAST_SHARED_MEMORY)]
  for name, room, least in rooms:
    if room is not None and room.free < least:
      free = f"{room.free / GB:.1f} GB free"
      yield Finding(False, f"{name}: {free}; expected {least / GB:g} or more for real data")
