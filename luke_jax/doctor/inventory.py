"""Inventory of a machine: cores, memory, disks, accelerators, packages and optional parts."""

import contextlib
import importlib.metadata
import json
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from urllib.parse import unquote, urlparse

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from luke_jax.files import Path, cache_folder

SHARED_MEMORY = Path("/dev/shm")


class Space(NamedTuple):
  """Free and total bytes of a memory or a disk."""

  free: int
  total: int


class Machine(NamedTuple):
  """Resources of one machine."""

  cores: int
  memory: Space | None  # None where the system does not report it
  disks: dict[str, Space]  # by a folder on them
  shared_memory: Space | None
  accelerators: tuple[str, ...]  # paths of device files
  cache: str = ""  # folder of fetched models and compiled programs
  cached_bytes: int = 0  # in that folder


def this_machine() -> Machine:
  """Returns the resources of the machine that this runs on."""
  cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
  folders = (Path(".").absolute(), Path(tempfile.gettempdir()))
  disks = {str(folder): _disk(folder) for folder in folders}
  shared = _disk(SHARED_MEMORY) if SHARED_MEMORY.is_dir() else None
  cache = cache_folder()
  return Machine(cores or 1, memory(), disks, shared, accelerators(), str(cache), _size(cache))


def memory(system: Path = Path("/")) -> Space | None:
  """Returns the memory that is available, within the limit of the container if there is one."""
  try:
    lines = (system / "proc/meminfo").read_text(encoding="utf-8").splitlines()
    figures = {
      name: int(rest.split()[0]) * 1024 for name, _, rest in (x.partition(":") for x in lines)
    }
    room = Space(figures["MemAvailable"], figures["MemTotal"])
  except (OSError, ValueError, KeyError, IndexError):
    return None
  group = system / "sys/fs/cgroup"
  try:
    limit = int((group / "memory.max").read_text(encoding="utf-8"))
    used = int((group / "memory.current").read_text(encoding="utf-8"))
  except (OSError, ValueError):  # no container, or one without a limit
    return room
  return Space(min(room.free, max(0, limit - used)), min(room.total, limit))


def accelerators(devices: Path = Path("/dev")) -> tuple[str, ...]:
  """Returns the device files of TPUs and GPUs, including those that JAX cannot use."""
  patterns = ("accel[0-9]*", "vfio/[0-9]*", "nvidia[0-9]*", "kfd")
  return tuple(str(path) for pattern in patterns for path in sorted(devices.glob(pattern)))


def _size(folder: Path) -> int:
  """Returns the bytes of the files below a folder; those that go meanwhile count nothing."""
  total = 0
  for place, _, names in os.walk(folder):
    for name in names:
      with contextlib.suppress(OSError):
        total += (Path(place) / name).stat().st_size
  return total


def _disk(folder: Path) -> Space:
  usage = shutil.disk_usage(folder)
  return Space(usage.free, usage.total)


OURS = "luke_jax"
# The purpose of each extra.
PURPOSES = {
  "tpu": "TPUs, and luke-jax plan",
  "cuda": "NVIDIA GPUs",
  "datasets": "the benchmarks' datasets, by python -m data.build",
  "beam": "dump builds on several machines",
  "arrow": "tables of luke-jax wiki export as Parquet",
  "serve": "luke-jax try and luke-jax serve",
  "programs": "luke-jax export-program",
  "onnx": "luke-jax export-program --onnx",
  "spacy": "a component of spaCy",
  "gcs": "buckets of Google Cloud",
  "hub": "models to Hugging Face's hub and from it",
  "zstd": "dumps as .xml.zst",
  "zh": "Chinese words by jieba, for python -m data.ernie_baidu.units",
  "parity": "comparing with PyTorch and transformers",
  "browser": "tests of web pages",
  "notebooks": "the notebooks of colab/",
  "docs": "the site of docs/, by make docs",
  "dev": "working on luke_jax itself",
}


class Package(NamedTuple):
  """Package with its installed version and those that are required, such as ">=0.7.2"."""

  name: str
  version: str | None
  required: str = ""

  @property
  def fits(self) -> bool:
    """Returns whether the package is installed in a version that is required or will become one."""
    if self.version is None:
      return False
    return SpecifierSet(self.required).contains(Version(self.version).base_version)


class Extra(NamedTuple):
  """Optional extra of luke_jax, the packages it lacks, and the command that installs them."""

  name: str
  purpose: str
  missing: tuple[str, ...]
  command: str


def base_packages() -> list[Package]:
  """Returns the packages that luke_jax cannot run without."""
  installed = [_package(r) for r in requirements(OURS, "")]
  return [*installed[:1], Package("jaxlib", version("jaxlib")), *installed[1:]]


def optional_parts(python: str) -> list[Extra]:
  """Returns the extras of luke_jax with what is missing of each."""
  lines = "\n".join(_required(OURS))
  parts = []
  for extra in dict.fromkeys(re.findall(r"extra == [\"']([\w.-]+)", lines)):
    missing = tuple(dict.fromkeys(_missing(OURS, extra)))
    parts.append(Extra(extra, PURPOSES.get(extra, ""), missing, install_command(extra, python)))
  return parts


def install_command(extra: str, python: str) -> str:
  """Returns the command that installs an extra."""
  return shlex.join([python, "-m", "pip", "install", *_target(extra)])


def requirements(name: str, extra: str) -> Iterator[Requirement]:
  """Yields what an installed package requires, or what one of its extras requires more."""
  for requirement in map(Requirement, _required(name)):
    marker = requirement.marker
    needed, usual = (marker is None or marker.evaluate({"extra": x}) for x in (extra, ""))
    if needed and usual == (not extra):
      yield requirement


def _required(name: str) -> list[str]:
  try:
    return importlib.metadata.requires(name) or []
  except importlib.metadata.PackageNotFoundError:
    return []


def version(name: str) -> str | None:
  """Returns the installed version of a package, or None."""
  try:
    return importlib.metadata.version(name)
  except importlib.metadata.PackageNotFoundError:
    return None


FIRST_WRONG, RIGHT_AGAIN = "5.0", "5.23"  # of transformers' tokenizers of LUKE


def wrong_tokenizers(transformers: str | None) -> str | None:
  """Returns what LUKE's tokenizers have wrong, in silence, in a version of transformers."""
  if transformers is None:
    return None
  if not Version(FIRST_WRONG) <= Version(transformers) < Version(RIGHT_AGAIN):
    return None
  return (
    f"transformers: {transformers}, whose own tokenizers leave <s> and </s> out of plain text for"
    f" LUKE and may write <s> for <ent> for mLUKE; expected {RIGHT_AGAIN} or newer, or 4.57, if"
    " texts are read there: luke_jax reads them itself"
  )


def _package(required: Requirement) -> Package:
  return Package(required.name, version(required.name), str(required.specifier))


def _missing(name: str, extra: str) -> Iterator[str]:
  """Yields what an extra of a package lacks or has too old, and what its packages' extras lack."""
  for requirement in requirements(name, extra):
    if not _package(requirement).fits:
      yield requirement.name
    for inner in sorted(requirement.extras):
      yield from _missing(requirement.name, inner)


def _target(extra: str) -> Sequence[str]:
  """Returns pip's arguments: the source folder of luke_jax if it has one, else its name."""
  try:
    text = importlib.metadata.distribution(OURS).read_text("direct_url.json")
    source = json.loads(text) if text else {}
  except (importlib.metadata.PackageNotFoundError, ValueError):
    source = {}
  url = urlparse(source.get("url", ""))
  folder = unquote(url.path)
  if url.scheme != "file" or not (Path(folder) / "pyproject.toml").is_file():
    return [f"{OURS}[{extra}]"]
  editable = ["--editable"] if source.get("dir_info", {}).get("editable") else []
  return [*editable, f"{folder}[{extra}]"]
