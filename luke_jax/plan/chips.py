"""TPU chips and slices to compile for, with their published speeds."""

import dataclasses
import importlib.util
import math
import os
import tomllib
from collections.abc import Mapping
from typing import Any

from luke_jax.errors import InputError, not_installed
from luke_jax.files import packaged

GIB = 2**30


@dataclasses.dataclass(frozen=True)
class Chip:
  """Kind of TPU chip; each chip of these kinds is one JAX device."""

  name: str
  peak_flops: float  # bfloat16 operations per second, of all its cores
  hbm_gib: float  # available to a program
  hbm_bandwidth: float  # bytes per second
  link_bandwidth: float  # bytes per second, sent over all its links together
  network_bandwidth: float  # bytes per second between slices, a chip's share; 0: not published
  dimensions: int  # of the torus
  most_chips: int  # in one slice
  options: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # for the compiler

  @property
  def hbm_bytes(self) -> int:
    """Returns the memory that is available to a program."""
    return int(self.hbm_gib * GIB)


_TABLES = tomllib.loads(packaged("plan/chips.toml"))
CHIPS = {name: Chip(name, **fields) for name, fields in _TABLES.items()}


@dataclasses.dataclass(frozen=True)
class Topology:
  """Slices of one shape: chips of one kind in a mesh, which a slower network joins."""

  chip: Chip
  shape: tuple[int, ...]
  slices: int = 1

  @property
  def devices(self) -> int:
    """Returns the number of chips of all slices."""
    return math.prod(self.shape) * self.slices

  @property
  def hosts(self) -> int:
    """Returns the number of machines of a slice, of four chips each."""
    return max(1, math.prod(self.shape) // 4)

  @property
  def slice(self) -> str:
    """Returns one slice as it is written on the command line."""
    return f"{self.chip.name}:{'x'.join(map(str, self.shape))}"

  def __str__(self) -> str:
    """Returns the name of the slice, after their number if there are several."""
    return self.slice if self.slices == 1 else f"{self.slices} slices {self.slice}"


def parse_topology(text: str, slices: int = 1) -> Topology:
  """Parses a slice such as `v5e:16x16`, of which there may be several."""
  name, _, dims = text.partition(":")
  if name not in CHIPS:
    raise InputError(f"topology: {text!r}; expected one of {', '.join(CHIPS)}, as in v5e:16x16")
  chip = CHIPS[name]
  sizes = dims.split("x")
  example = f"{name}:{'x'.join(['4'] * chip.dimensions)}"
  if len(sizes) != chip.dimensions or not all(s.isdecimal() and int(s) for s in sizes):
    raise InputError(f"topology: {text!r}; expected {chip.dimensions} sizes, as in {example}")
  topology = Topology(chip, tuple(map(int, sizes)), slices)
  chips = math.prod(topology.shape)
  if chips > chip.most_chips:
    raise InputError(f"topology: {text!r} has {chips} chips; expected at most {chip.most_chips}")
  if slices < 1 or (slices > 1 and not chip.network_bandwidth):
    names = ", ".join(name for name, x in CHIPS.items() if x.network_bandwidth)
    raise InputError(f"slices: {slices} of {name}; expected 1, or several of {names}")
  # A host holds 2 x 2 chips, or is one of the machines with a single chip.
  if chips > 1 and (topology.shape[0] % 2 or topology.shape[1] % 2):
    raise InputError(f"topology: {text!r}; expected even first two sizes, as in {example}")
  return topology


def prepare_environment() -> None:
  """Sets libtpu's variables for compiling without a chip; to be called before it loads."""
  os.environ["TPU_SKIP_MDS_QUERY"] = "1"
  # Without it two processes that compile would wait for the same lock file.
  os.environ["ALLOW_MULTIPLE_LIBTPU_LOAD"] = "1"


def devices(topology: Topology) -> list[Any]:
  """Returns the devices of slices that are not attached, to make a mesh of and compile for."""
  if importlib.util.find_spec("libtpu") is None:
    raise not_installed("libtpu", "to compile for TPUs", "tpu")
  from jax.experimental import topologies

  prepare_environment()
  options = dict(topology.chip.options)
  if topology.slices > 1:
    options["num_slices"] = topology.slices
  if math.prod(topology.shape) == 1:
    options["chips_per_host_bounds"] = (1, 1, 1)
  try:
    description = topologies.get_topology_desc(
      platform="tpu", topology_name=topology.slice, **options
    )
  except RuntimeError as error:
    fault = str(error).splitlines()[0]
    raise InputError(f"topology: {topology}: {fault}; expected one that libtpu knows") from None
  return list(description.devices)
