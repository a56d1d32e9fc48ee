"""The mesh, and the sharding of every array of a run."""

import dataclasses
import re
from collections.abc import Callable, Sequence
from typing import Literal

import jax
import numpy as np
from jax.experimental import mesh_utils

from luke_jax.errors import InputError, check_whole
from luke_jax.nn.layers import BATCH_AXES, spread
from luke_jax.training.task import Params, Tree

# Vocabularies are padded to a multiple of this for any mesh, so that a run can resume on another
# number of devices.
VOCABULARY_MULTIPLE = 512

STACKED = re.compile(r"(^|/)layers/")  # axis 0 counts the scanned layers


@dataclasses.dataclass(frozen=True)
class MeshShape:
  """Devices as `replica` x `data`, and the arrays that are spread over `data`."""

  replica: int = 1  # groups of devices that each hold all parameters
  data: int | None = None  # None: all devices
  # Arrays that are spread over the devices of a group: all, the entity table, none.
  fsdp: Literal["all", "entities", "none"] = "all"

  def __post_init__(self) -> None:
    if self.fsdp not in ("all", "entities", "none"):
      raise InputError(f"mesh.fsdp: {self.fsdp!r}; expected 'all', 'entities' or 'none'")
    check_whole(1, **{"mesh.replica": self.replica})
    if self.data is not None:
      check_whole(1, **{"mesh.data": self.data})

  @property
  def vocabulary_axis(self) -> Literal["data"] | None:
    """Returns the axis of the mesh that spreads the entity table."""
    return None if self.fsdp == "none" else "data"


def make_mesh(shape: MeshShape, devices: Sequence[object] | None = None) -> jax.sharding.Mesh:
  """Returns the mesh over all devices, or over those given."""
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
  sizes, every = (shape.replica, data), jax.devices() if devices is None else devices
  slices = len({getattr(device, "slice_index", 0) for device in every})
  if slices == 1:
    return jax.make_mesh(sizes, BATCH_AXES, axis_types=axis_types, devices=devices)
  if shape.replica % slices:
    raise InputError(
      f"mesh.replica: {shape.replica} on {slices} slices; expected a multiple of {slices}, as only"
      " gradients should go over the network between slices"
    )
  within = (shape.replica // slices, data)
  grid = mesh_utils.create_hybrid_device_mesh(within, (slices, 1), list(every))
  return jax.sharding.Mesh(grid, BATCH_AXES, axis_types=axis_types)


def shardings(tree: Tree, mesh: jax.sharding.Mesh, fsdp: str, tables: tuple[str, ...]) -> Tree:
  """Returns a sharding for every array of a tree of parameters or of moments, by path and shape.

  `tables` are the ends of the paths of arrays whose first axis is a vocabulary to be spread.
  """

  def sharding(path, array) -> jax.NamedSharding:
    name = jax.tree_util.keystr(path, simple=True, separator="/")
    table = bool(tables) and name.endswith(tables)
    return jax.NamedSharding(mesh, spec(name, array.shape, mesh.shape["data"], fsdp, table=table))

  return jax.tree.map_with_path(sharding, tree)


def spec(
  path: str, shape: tuple[int, ...], devices: int, fsdp: str, *, table: bool = False
) -> jax.sharding.PartitionSpec:
  """Returns the spec of one array.

  A table is spread by rows, others along the largest axis that divides; with fsdp "none" none is.
  """
  if fsdp == "none" or not shape:
    return jax.P()
  if table:
    return jax.P("data")
  if fsdp == "entities":
    return jax.P()
  return spread(shape, devices, first=1 if STACKED.search(path) else 0)


def batch_sharding(mesh: jax.sharding.Mesh) -> jax.NamedSharding:
  """Returns the sharding of batches (micro-batches, rows, ...): rows over all devices."""
  return jax.NamedSharding(mesh, jax.P(None, BATCH_AXES))


def own_rows(mesh: jax.sharding.Mesh, rows: int) -> np.ndarray:
  """Returns the indices of the rows of a micro-batch that this process makes, in order."""
  sharding = jax.NamedSharding(mesh, jax.P(BATCH_AXES))
  parts = sharding.addressable_devices_indices_map((rows,)).values()
  return np.unique(np.concatenate([np.arange(rows)[part] for part in parts]))


def padded_tables(params: Params, tables: tuple[str, ...], rows: int, padding: int) -> Params:
  """Returns parameters whose tables of `rows` rows have as many more of zeros.

  Raises InputError for a table of another size: its ids would mean something else.
  """

  def padded(name: str, array: np.ndarray) -> np.ndarray:
    if len(array) != rows:
      raise InputError(f"{name}: {len(array)} rows; expected {rows}, one for each entity")
    return np.pad(array, [(0, padding), *[(0, 0)] * (array.ndim - 1)])

  return _changed_tables(params, tables, padded)


def without_padding(params: Params, tables: tuple[str, ...], rows: int) -> Params:
  """Returns parameters whose tables have their first `rows` rows."""
  return _changed_tables(params, tables, lambda _, array: array[:rows])


def _changed_tables(
  params: Params, tables: tuple[str, ...], change: Callable[[str, np.ndarray], np.ndarray]
) -> Params:
  def changed(path, array: np.ndarray) -> np.ndarray:
    name = jax.tree_util.keystr(path, simple=True, separator="/")
    return change(name, array) if tables and name.endswith(tables) else array

  return jax.tree.map_with_path(changed, params)
