"""A jaxpr, operation by operation, as nodes of an ONNX graph."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from jax.extend.core import Literal
from jax.lax import GatherScatterMode

from luke_jax.convert.onnx.graph import (
  BY_VALUE,
  KnownArray,
  OnnxGraph,
  Operand,
  Tensor,
  element_type,
)
from luke_jax.convert.onnx.primitives import (
  ELEMENTWISE_AND_SHAPES,
  Operation,
  Rule,
  reshaped,
  whole,
)
from luke_jax.errors import InputError


def _product(graph: OnnxGraph, operation: Operation) -> Tensor:
  """Returns a product, by axes that both have, then those of the left, then those of the right."""
  (left, right), (left_batch, right_batch) = operation["dimension_numbers"]
  batch = len(left_batch)
  own, other = _own(operation, 0, (*left_batch, *left)), _own(operation, 1, (*right_batch, *right))
  # Without axes that both have, all rows of the left go through one matrix, whatever their number.
  narrow = len(own) == 1 or (not batch and len(left) == 1)
  rows = _matrix(graph, operation, 0, [list(left_batch), own, list(left)], keep=narrow)
  columns = _matrix(graph, operation, 1, [list(right_batch), list(right), other], keep=False)
  name = graph.node("MatMul", rows, columns)
  if not narrow or len(other) != 1:
    name = reshaped(graph, name, operation.shape)
  return Tensor(name, operation.shape)


def _own(operation: Operation, number: int, others: Sequence[int]) -> list[int]:
  return [axis for axis in range(len(operation.read(number))) if axis not in others]


def _matrix(
  graph: OnnxGraph, operation: Operation, number: int, groups: list[list[int]], *, keep: bool
) -> str:
  """Returns an operand with its axes in the order of groups, the last two of which are one each.

  `keep` leaves several axes of the second group as they are.
  """
  shape, order = operation.read(number), [axis for group in groups for axis in group]
  sizes = [shape[axis] for axis in groups[0]]
  for i, group in enumerate(groups[1:]):
    alone = keep and i == 0
    sizes += [shape[x] for x in group] if alone else [math.prod(shape[x] for x in group)]
  operand = operation.operands[number]
  if isinstance(operand, KnownArray) and operand.shape == shape and not graph.writes(operand.array):
    if order == sorted(order) and tuple(sizes) == shape:
      return graph.constant(operand.array, operand.name)
    return graph.constant(operand.array.transpose(order).reshape(sizes), operand.name)
  name = whole(graph, operation, number)
  if order != sorted(order):
    name = graph.node("Transpose", name, perm=order)
  if tuple(sizes) != tuple(shape[axis] for axis in order):
    name = reshaped(graph, name, sizes)
  return name


def _lookup(graph: OnnxGraph, operation: Operation) -> Tensor:
  """Returns values at places that are in bounds: where they are not, ONNX raises an error."""
  numbers, shape = operation["dimension_numbers"], operation.read(0)
  axes, batch = tuple(numbers.start_index_map), tuple(numbers.operand_batching_dims)
  if len(operation.read(1)) == 1:
    return _part(graph, operation)
  places, axis = len(operation.read(1)) - 1, axes[0]
  others = [operation["slice_sizes"][i] == n for i, n in enumerate(shape) if i not in axes + batch]
  plain = len(axes) == 1 and axes == tuple(numbers.collapsed_slice_dims) and all(others)
  plain &= operation["mode"] != GatherScatterMode.CLIP
  # Axes that are not looked up stay before those of the places, and after them.
  kept = [*range(axis), *range(axis + places, len(operation.shape))]
  if batch:
    plain &= tuple(numbers.start_indices_batching_dims) == batch == tuple(range(axis))
    kept = [*range(places, len(operation.shape))]
  if not plain or tuple(numbers.offset_dims) != tuple(kept):
    raise InputError(f"gather: {numbers}; expected one of rows, in ONNX")
  table, indices = whole(graph, operation), whole(graph, operation, 1)
  if batch:
    indices = graph.node("Cast", indices, to=element_type(np.int64))
    name = graph.node("GatherND", table, indices, batch_dims=len(batch))
  else:
    indices = graph.node("Squeeze", indices, graph.integers([places]))
    name = graph.node("Gather", table, indices, axis=axis)
  return Tensor(name, operation.shape)


def _part(graph: OnnxGraph, operation: Operation) -> Tensor:
  """Returns the part of an array from one place on."""
  numbers, sizes = operation["dimension_numbers"], operation["slice_sizes"]
  axes, starts = tuple(numbers.start_index_map), operation.operands[1]
  lengths = graph.shape([sizes[axis] for axis in axes])
  if isinstance(starts, KnownArray):
    first = graph.integers(starts.array.tolist())
  else:
    first = graph.node("Cast", whole(graph, operation, 1), to=element_type(np.int64))
  last = graph.node("Add", first, lengths)
  name = graph.node("Slice", whole(graph, operation), first, last, graph.integers(axes))
  if numbers.collapsed_slice_dims:
    name = graph.node("Squeeze", name, graph.integers(numbers.collapsed_slice_dims))
  return Tensor(name, operation.shape)


RULES: dict[str, Rule] = ELEMENTWISE_AND_SHAPES | {"dot_general": _product, "gather": _lookup}
_SAME = ("name", "optimization_barrier", "stop_gradient")


def translate(graph: OnnxGraph, program: Any, inputs: Sequence[Operand]) -> list[Operand]:
  """Adds a closed jaxpr to a graph and returns its outputs.

  What depends on constants alone is computed here. Raises InputError for a primitive without a
  rule, by its name.
  """
  jaxpr, constants = program.jaxpr, [KnownArray(np.asarray(x)) for x in program.consts]
  values: dict[Any, Operand] = dict(zip(jaxpr.constvars, constants, strict=True))
  values |= zip(jaxpr.invars, inputs, strict=True)

  def read(variable: Any) -> Operand:
    return _literal(variable) if isinstance(variable, Literal) else values[variable]

  for equation in jaxpr.eqns:
    operands = [read(variable) for variable in equation.invars]
    values |= zip(equation.outvars, _outputs(graph, equation, operands), strict=True)
  return [read(variable) for variable in jaxpr.outvars]


def _literal(variable: Any) -> KnownArray:
  return KnownArray(np.asarray(variable.val, variable.aval.dtype))


def _outputs(graph: OnnxGraph, equation: Any, operands: list[Operand]) -> Sequence[Operand]:
  name, parameters = equation.primitive.name, equation.params
  if name in _SAME:
    return operands
  if name == "scan":
    return _unrolled(graph, equation, operands)
  called = parameters.get("jaxpr") or parameters.get("call_jaxpr")
  if called is not None:
    return translate(graph, called, operands)
  if _is_known(graph, equation, operands):
    return _computed(equation, operands)
  if name not in RULES:
    raise InputError(f"{name}: no rule for this primitive of JAX in ONNX; expected another network")
  outputs = RULES[name](graph, Operation(operands, equation))
  return outputs if isinstance(outputs, list) else [outputs]


def _is_known(graph: OnnxGraph, equation: Any, operands: Sequence[Operand]) -> bool:
  """Returns whether an operation reads constants alone, whole, and of sizes that are known.

  A table that is in the graph stays one: it is turned there, and not written a second time.
  """
  if any(
    isinstance(x, KnownArray) and x.array.size > BY_VALUE and graph.writes(x.array)
    for x in operands
  ):
    return False
  shapes = [x.aval.shape for x in equation.invars]
  whole = all(
    isinstance(x, KnownArray) and x.shape == y for x, y in zip(operands, shapes, strict=True)
  )
  sizes = [size for x in equation.outvars for size in x.aval.shape]
  return whole and all(isinstance(x, int) for x in sizes) and "dim" not in equation.params


def _computed(equation: Any, operands: Sequence[Any]) -> list[Operand]:
  arrays = [x.array for x in operands]
  result = equation.primitive.bind(*arrays, **equation.params)
  results = result if equation.primitive.multiple_results else [result]
  names = [x.name for x in operands if x.name]
  return [KnownArray(np.asarray(x), names[0] if names else "") for x in results]


def _unrolled(graph: OnnxGraph, equation: Any, operands: list[Operand]) -> list[Operand]:
  """Adds the steps of a scan over constants, such as the layers of an encoder, one by one."""
  p = equation.params
  fixed, first = p["num_consts"], p["num_consts"] + p["num_carry"]
  constants, carry, rest = operands[:fixed], operands[fixed:first], operands[first:]
  stacks = [x for x in rest if isinstance(x, KnownArray)]
  if len(stacks) < len(rest) or len(equation.outvars) > p["num_carry"] or p["reverse"]:
    raise InputError("scan: over values of the inputs; expected one over layers alone")
  for i in range(p["length"]):
    step = [KnownArray(x.array[i], f"{x.name}/{i}" if x.name else "") for x in stacks]
    carry = translate(graph, p["jaxpr"], [*constants, *carry, *step])
  return carry
