"""Which packages are installed, and which of the optional parts are not."""

import importlib.metadata
import json
import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlparse

OURS = "luke_jax"
# What each optional part is for.
PURPOSES = {
  "tpu": "TPUs, and luke-jax plan",
  "cuda": "NVIDIA GPUs",
  "beam": "dump builds on several machines",
  "hub": "fetching models from Hugging Face",
  "parity": "comparing with PyTorch and transformers",
  "notebooks": "the notebooks of colab/",
  "dev": "working on luke_jax itself",
}


class Requirement(NamedTuple):
  """A package that another one needs, at which version at least, and for which of its extras."""

  name: str
  extras: tuple[str, ...]
  least: str | None
  extra: str | None


class Package(NamedTuple):
  """A package, and which version is installed and needed."""

  name: str
  version: str | None
  least: str | None

  @property
  def fits(self) -> bool:
    """Whether it is there and new enough."""
    if self.version is None:
      return False
    return self.least is None or numbers(self.version) >= numbers(self.least)


class Part(NamedTuple):
  """An optional part, what of it is missing, and the command that gets it."""

  name: str
  purpose: str
  missing: tuple[str, ...]
  command: str


def base_packages() -> list[Package]:
  """What luke_jax cannot do without."""
  needed = [r for r in requirements(OURS) if r.extra is None]
  found = [Package(r.name, version(r.name), r.least) for r in needed]
  return [*found[:1], Package("jaxlib", version("jaxlib"), None), *found[1:]]


def optional_parts(python: str) -> list[Part]:
  """The extras of luke_jax."""
  ours = requirements(OURS)
  parts = []
  for extra in dict.fromkeys(r.extra for r in ours if r.extra):
    missing = _missing(r for r in ours if r.extra == extra)
    command = shlex.join([python, "-m", "pip", "install", *_target(extra)])
    parts.append(Part(extra, PURPOSES.get(extra, ""), missing, command))
  return parts


def requirements(name: str) -> list[Requirement]:
  """What an installed package says that it needs; nothing where it is not installed."""
  try:
    lines = importlib.metadata.requires(name) or []
  except importlib.metadata.PackageNotFoundError:
    return []
  return [parse(line) for line in lines]


def parse(line: str) -> Requirement:
  """A line such as `jax[tpu]>=0.7; extra == "tpu"`."""
  wanted, _, marker = line.partition(";")
  name = re.match(r"\s*([\w.-]+)\s*(?:\[([^]]*)\])?", wanted)
  assert name is not None
  least = re.search(r">=\s*([\w.]+)", wanted)
  extra = re.search(r"extra\s*==\s*[\"']([\w.-]+)[\"']", marker)
  extras = tuple(x.strip() for x in (name[2] or "").split(",") if x.strip())
  return Requirement(name[1], extras, least and least[1], extra and extra[1])


def version(name: str) -> str | None:
  """The version that is installed."""
  try:
    return importlib.metadata.version(name)
  except importlib.metadata.PackageNotFoundError:
    return None


def numbers(text: str) -> tuple[int, ...]:
  """A version as numbers that can be compared: 0.10.2.dev1 is 0.10.2."""
  leading = re.match(r"\d+(\.\d+)*", text)
  found = tuple(map(int, leading[0].split("."))) if leading else ()
  return found + (0,) * (4 - len(found))


def _missing(needed: Iterable[Requirement]) -> tuple[str, ...]:
  """Of packages and what their own extras need, those that are not there."""
  names = []
  for requirement in needed:
    if not Package(requirement.name, version(requirement.name), requirement.least).fits:
      names.append(requirement.name)
    inner = [r for r in requirements(requirement.name) if r.extra in requirement.extras]
    names += _missing(inner)
  return tuple(dict.fromkeys(names))


def _target(extra: str) -> Sequence[str]:
  """What pip is told to install: the folder that luke_jax came from, where there is one."""
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
