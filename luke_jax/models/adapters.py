"""Adapters: beside each kernel of an encoder, two narrow matrices whose product is added to it.

They train while the kernels stay as they are, and take a fraction of the room (LoRA, Hu et al.
2022). A layer whose parameters have them computes with them.
"""

import math
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

from luke_jax.errors import InputError
from luke_jax.models.keys import Key, flatten, unflatten
from luke_jax.models.system import ModelConfig, System
from luke_jax.nn.layers import ADAPTER


def add_adapters(params: dict, system: type[System], rank: int, key: jax.Array) -> dict:
  """Returns parameters with adapters beside the encoder's kernels, which change nothing yet."""
  if not system.adapters:
    raise InputError(
      f"optimizer.adapter: {rank}; expected 0, as the layers of {system.title} read none"
    )
  leaves, added = flatten(params), {}
  for number, (path, row) in enumerate(_kernels(leaves, system)):
    axes, (inputs, outputs) = _axes(row), _matrix(row, leaves[path].shape)
    lead = leaves[path].shape[:axes]
    first, second = _paths(path)
    normal = jax.random.normal(jax.random.fold_in(key, number), (*lead, inputs, rank))
    added |= {first: normal * inputs**-0.5, second: jnp.zeros((*lead, rank, outputs))}
  return unflatten(leaves | added)


def merge_adapters(params: dict, system: type[System]) -> dict:
  """Returns parameters with every adapter's product in its kernel, and without adapters."""
  leaves = flatten(params)
  for path, _ in list(_kernels(leaves, system)):
    first, second = _paths(path)
    if first in leaves:
      kernel, product = np.asarray(leaves[path]), np.matmul(leaves.pop(first), leaves.pop(second))
      leaves[path] = kernel + product.reshape(kernel.shape)
  return unflatten(leaves)


def is_adapter(path: str) -> bool:
  """Returns true for the path of a part of an adapter."""
  return path.rpartition("/")[2] in ADAPTER


def tensor_axes(path: str, system: type[ModelConfig]) -> tuple[int, int]:
  """Returns how many axes come before a tensor's, and how many are an encoder kernel's inputs."""
  if not issubclass(system, System):
    return 0, 0
  row = (table := system.keys("none")).key(path)
  known = path.startswith(_encoder(system)) and (row.stacked or path in table.rows)
  return _axes(row), row.kernel_inputs * known


def stays(path: str, system: type[System]) -> bool:
  """Returns true for parameters that do not train where adapters do.

  These are the kernels with adapters, and the tables of words, positions and types.
  """
  leaf = path.rpartition("/")[2]
  return (leaf == "kernel" and path.startswith(_encoder(system))) or (
    leaf == "embedding" and path.startswith(f"{system.name}/embeddings/")
  )


def _encoder(system: type[System]) -> str:
  return f"{system.name}/encoder/"


def _kernels(leaves: dict[str, np.ndarray], system: type[System]) -> Iterator[tuple[str, Key]]:
  table = system.keys("none")
  for path in leaves:
    row = table.key(path)
    if path.startswith(_encoder(system)) and row.kernel_inputs:
      yield path, row


def _paths(path: str) -> tuple[str, str]:
  layer = path.removesuffix("kernel")
  return f"{layer}{ADAPTER[0]}", f"{layer}{ADAPTER[1]}"


def _axes(key: Key) -> int:
  """Returns the number of a kernel's axes before those of its matrix: layers, and kinds twice."""
  return key.stacked + 2 * key.by_kind


def _matrix(key: Key, shape: tuple[int, ...]) -> tuple[int, int]:
  matrix, inputs = shape[_axes(key) :], key.kernel_inputs
  return math.prod(matrix[:inputs]), math.prod(matrix[inputs:])
