"""Which device holds what: the mesh, and the sharding of every array of a run."""

import dataclasses
import re
from collections.abc import Sequence
from typing import Any, Literal

import jax
import numpy as np

from luke_jax.errors import InputError
from luke_jax.nn.layers import BATCH_AXES, spread

# Vocabularies are padded to a multiple of this whatever the mesh is, so that a run can go on with
# another number of devices.
VOCABULARY_MULTIPLE = 512

# Where the rows of a vocabulary are an array's first axis: spread unless fsdp is "none".
VOCABULARY = re.compile(r"(entity_embeddings/entity/embedding|masked_entities/bias)$")
STACKED = re.compile(r"(^|/)layers/")  # axis 0 counts the scanned layers


@dataclasses.dataclass(frozen=True)
class MeshShape:
  """Devices as `replica` x `data`, and what is spread over `data`."""

  replica: int = 1
  data: int | None = None  # None: all devices there are
  fsdp: Literal["all", "entities", "none"] = "all"

  def __post_init__(self) -> None:
    if self.fsdp not in ("all", "entities", "none"):
      raise InputError(f"mesh.fsdp: {self.fsdp!r}; expected 'all', 'entities' or 'none'")
    for name in ("replica", "data"):
      size = getattr(self, name)
      if size is not None and (type(size) is not int or size < 1):
        raise InputError(f"mesh.{name}: {size!r}; expected a whole number from 1")

  @property
  def vocabulary_axis(self) -> Literal["data"] | None:
    """The axis that spreads the entity table."""
    return None if self.fsdp == "none" else "data"


def make_mesh(shape: MeshShape, devices: Sequence[Any] | None = None) -> jax.sharding.Mesh:
  """The mesh over all devices, or over those given."""
  count = len(devices) if devices is not None else jax.device_count()
  data = shape.data or count // shape.replica
  if shape.replica * data != count:
    sizes = f"{shape.replica} x {shape.data or '?'}"
    raise InputError(f"mesh: {sizes} on {count} devices; expected sizes whose product is {count}")
  if shape.fsdp != "none" and VOCABULARY_MULTIPLE % data:
    raise InputError(
      f"mesh.data: {data}; expected a power of 2 up to {VOCABULARY_MULTIPLE}, as mesh.replica may"
      " take the other factors, or mesh.fsdp 'none'"
    )
  axis_types = (jax.sharding.AxisType.Auto,) * 2
  return jax.make_mesh((shape.replica, data), BATCH_AXES, axis_types=axis_types, devices=devices)


def shardings(tree: Any, mesh: jax.sharding.Mesh, fsdp: str) -> Any:
  """A sharding for every array of a tree of parameters or of moments, by its path and shape."""

  def sharding(path, array) -> jax.NamedSharding:
    name = jax.tree_util.keystr(path, simple=True, separator="/")
    return jax.NamedSharding(mesh, spec(name, array.shape, mesh.shape["data"], fsdp))

  return jax.tree.map_with_path(sharding, tree)


def spec(path: str, shape: tuple[int, ...], devices: int, fsdp: str) -> jax.sharding.PartitionSpec:
  """How one array is spread: vocabularies by rows, others along their largest axis that divides."""
  if fsdp == "none" or not shape:
    return jax.P()
  if VOCABULARY.search(path):
    return jax.P("data")
  if fsdp == "entities":
    return jax.P()
  return spread(shape, devices, first=1 if STACKED.search(path) else 0)


def batch_sharding(mesh: jax.sharding.Mesh) -> jax.NamedSharding:
  """Batches are (micro-batches, rows, ...): the rows are spread over all devices."""
  return jax.NamedSharding(mesh, jax.P(None, BATCH_AXES))


def own_rows(mesh: jax.sharding.Mesh, rows: int) -> np.ndarray:
  """Which rows of a micro-batch this process makes, in their order."""
  sharding = jax.NamedSharding(mesh, jax.P(BATCH_AXES))
  parts = sharding.addressable_devices_indices_map((rows,)).values()
  return np.unique(np.concatenate([np.arange(rows)[part] for part in parts]))


def vocabulary_resized(params: Any, rows: int) -> Any:
  """Parameters with as many rows of every vocabulary: cut off, or filled up with zeros."""

  def resized(path, array) -> Any:
    if not VOCABULARY.search(jax.tree_util.keystr(path, simple=True, separator="/")):
      return array
    missing = max(0, rows - len(array))
    return np.pad(array[:rows], [(0, missing), *[(0, 0)] * (array.ndim - 1)])

  return jax.tree.map_with_path(resized, params)
