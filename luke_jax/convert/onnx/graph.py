"""ONNX graphs in the making: nodes, constants, and sizes that are known only when a graph runs."""

import ast
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from onnx import helper, numpy_helper

from luke_jax.errors import InputError

Size = Any  # of an axis: an int, or an expression in named dimensions
_OPERATIONS: dict[type, str] = {ast.Add: "Add", ast.Sub: "Sub", ast.Mult: "Mul"}
BY_VALUE = 64  # numbers of an array that is known by its values


class Tensor(NamedTuple):
  """An array of a program: the name of a tensor, and the shape of that.

  Where an array repeats itself along an axis, the tensor may be 1 there, or without axes: most
  operations of ONNX repeat by themselves.
  """

  name: str
  shape: tuple[Size, ...]


class KnownArray(NamedTuple):
  """An array whose values are known; it is written only if an operation reads it."""

  array: np.ndarray
  name: str = ""

  @property
  def shape(self) -> tuple[Size, ...]:
    """Returns the shape of the array, which may be repeated as that of a tensor."""
    return self.array.shape


Operand = Tensor | KnownArray


class Constant(NamedTuple):
  """An array that is written, which is kept so that no other one gets its identity."""

  array: np.ndarray
  tensor: Any


class OnnxGraph:
  """Nodes and constants so far."""

  def __init__(self) -> None:
    """Starts an empty graph."""
    self.nodes: list[Any] = []
    self.inputs: list[Any] = []
    self.constants: dict[object, Constant] = {}
    self._names: set[str] = set()
    self._sizes: dict[str, str] = {}  # names of tensors with a size, by its expression

  def add_input(self, name: str, shape: Sequence[Size], dtype: Any) -> Tensor:
    """Adds an input; dimensions that only have a name get their size from it."""
    self._names.add(name)
    self.inputs.append(tensor_info(name, shape, dtype))
    for axis, size in enumerate(shape):
      expression = str(size)
      if not isinstance(size, int) and expression.isidentifier() and expression not in self._sizes:
        self._sizes[expression] = self.node("Shape", name, start=axis, end=axis + 1)
    return Tensor(name, tuple(shape))

  def node(self, operation: str, *inputs: str, **attributes: Any) -> str:
    """Adds an operation and returns the name of its output."""
    output = self._new(operation)
    self.nodes.append(helper.make_node(operation, inputs, [output], name=output, **attributes))
    return output

  def add_output(self, tensor: str, name: str) -> None:
    """Gives a tensor a name of its own."""
    self._names.add(name)
    self.nodes.append(helper.make_node("Identity", [tensor], [name], name=name))

  def constant(self, array: np.ndarray, name: str = "") -> str:
    """Returns the name of a constant; one array is written once, and so are equal small ones."""
    key = (array.dtype.str, array.shape, array.tobytes()) if array.size <= BY_VALUE else id(array)
    if key not in self.constants:
      new = self._new(name or "constant")
      tensor = numpy_helper.from_array(np.ascontiguousarray(array), new)
      self.constants[key] = Constant(array, tensor)
    return self.constants[key].tensor.name

  def needed(self, outputs: Sequence[str]) -> tuple[list[Any], list[Any]]:
    """Returns the nodes and the constants that outputs depend on.

    What a backward pass would have kept is computed by nobody.
    """
    read, nodes = set(outputs), []
    for node in reversed(self.nodes):
      if not read.isdisjoint(node.output):
        nodes.append(node)
        read.update(node.input)
    tensors = (constant.tensor for constant in self.constants.values())
    return nodes[::-1], [tensor for tensor in tensors if tensor.name in read]

  def writes(self, array: np.ndarray) -> bool:
    """Returns whether an array is among the constants already."""
    return id(array) in self.constants

  def integers(self, numbers: Sequence[int]) -> str:
    """Returns the name of a constant (n,) of int64."""
    return self.constant(np.asarray(numbers, np.int64))

  def shape(self, sizes: Sequence[Size]) -> str:
    """Returns the name of a tensor (n,) of int64 with these sizes."""
    if all(isinstance(size, int) for size in sizes):
      return self.integers(sizes)
    key = str(tuple(sizes))
    if key not in self._sizes:
      self._sizes[key] = self.node("Concat", *map(self.size, sizes), axis=0)
    return self._sizes[key]

  def size(self, size: Size) -> str:
    """Returns the name of a tensor (1,) of int64 with a size."""
    if isinstance(size, int):
      return self.integers([size])
    return self._evaluated(ast.parse(str(size).replace("^", "**"), mode="eval").body)

  def _evaluated(self, tree: ast.expr) -> str:
    """Returns the value of an expression in named dimensions, as JAX prints it."""
    expression = ast.unparse(tree)
    if expression in self._sizes:
      return self._sizes[expression]
    match tree:
      case ast.Constant(value=int(number)):
        return self.integers([number])
      case ast.BinOp(left=base, op=ast.Pow(), right=ast.Constant(value=int(power))):
        factors = [self._evaluated(base)] * power
        name = functools.reduce(lambda one, other: self.node("Mul", one, other), factors)
      case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _OPERATIONS:
        sides = self._evaluated(left), self._evaluated(right)
        name = self.node(_OPERATIONS[type(operation)], *sides)
      case _:
        raise InputError(f"size {expression}: unknown in ONNX; expected sums and products")
    self._sizes[expression] = name
    return name

  def _new(self, name: str) -> str:
    number, new = 0, name
    while new in self._names:
      number += 1
      new = f"{name}_{number}"
    self._names.add(new)
    return new


def tensor_info(name: str, shape: Sequence[Size], dtype: Any) -> Any:
  """Returns the shape, whose unknown sizes are names, and the type of an input or an output."""
  sizes = [size if isinstance(size, int) else str(size) for size in shape]
  return helper.make_tensor_value_info(name, element_type(dtype), sizes)


def element_type(dtype: Any) -> int:
  """Returns the number that ONNX has for a type of numbers."""
  return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
