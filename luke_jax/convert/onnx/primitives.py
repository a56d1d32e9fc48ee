"""Rules from primitives of JAX to operations of ONNX."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from luke_jax.convert.onnx.graph import KnownArray, OnnxGraph, Operand, Size, Tensor, element_type


@dataclasses.dataclass(frozen=True)
class Operation:
  """An operation of a program, and what it reads."""

  operands: Sequence[Operand]
  equation: Any

  def __getitem__(self, parameter: str) -> Any:
    """Returns one of its parameters."""
    return self.equation.params[parameter]

  @property
  def shape(self) -> tuple[Size, ...]:
    """Returns the shape of its first output."""
    return self.equation.outvars[0].aval.shape

  @property
  def dtype(self) -> Any:
    """Returns the type of its first output."""
    return self.equation.outvars[0].aval.dtype

  def read(self, number: int) -> tuple[Size, ...]:
    """Returns the shape of what it reads."""
    return self.equation.invars[number].aval.shape


Rule = Callable[[OnnxGraph, Operation], Operand | list[Operand]]


def as_is(graph: OnnxGraph, operand: Operand) -> str:
  """Returns the name of an operand's tensor, which may repeat."""
  return (
    operand.name if isinstance(operand, Tensor) else graph.constant(operand.array, operand.name)
  )


def tensor(graph: OnnxGraph, operand: Operand, shape: Sequence[Size]) -> str:
  """Returns the name of a tensor of a shape, along which an operand may repeat."""
  name = as_is(graph, operand)
  return name if operand.shape == shape else graph.node("Expand", name, graph.shape(shape))


def whole(graph: OnnxGraph, operation: Operation, number: int = 0) -> str:
  """Returns the name of a tensor of the shape that an operation reads."""
  return tensor(graph, operation.operands[number], operation.read(number))


def repeated(operands: Sequence[Operand]) -> tuple[Size, ...]:
  """Returns the shape that operands have together, each of which may repeat."""
  rank = max(len(x.shape) for x in operands)
  shapes = [(1,) * (rank - len(x.shape)) + tuple(x.shape) for x in operands]
  return tuple(
    functools.reduce(lambda a, b: b if _one(a) else a, axis) for axis in zip(*shapes, strict=True)
  )


def _one(size: Size) -> bool:
  return isinstance(size, int) and size == 1


def _formula(form: Callable[..., str]) -> Rule:
  """Returns the rule of a function of numbers, made of one or several operations."""

  def rule(graph: OnnxGraph, operation: Operation) -> Tensor:
    names = [as_is(graph, operand) for operand in operation.operands]
    return Tensor(form(graph, operation, *names), repeated(operation.operands))

  return rule


def _elementwise(name: str) -> Rule:
  return _formula(lambda graph, _, *inputs: graph.node(name, *inputs))


def _of_whole(form: Callable[..., str]) -> Rule:
  """Returns the rule of a function of whole arrays."""

  def rule(graph: OnnxGraph, operation: Operation) -> Tensor:
    names = [whole(graph, operation, i) for i in range(len(operation.operands))]
    return Tensor(form(graph, operation, *names), operation.shape)

  return rule


def _number(graph: OnnxGraph, operation: Operation, value: float) -> str:
  return graph.constant(np.asarray(value, operation.dtype))


def _convert(graph: OnnxGraph, operation: Operation) -> Operand:
  (operand,) = operation.operands
  if operation.equation.invars[0].aval.dtype == operation.dtype:
    return operand
  name = graph.node("Cast", as_is(graph, operand), to=element_type(operation.dtype))
  return Tensor(name, operand.shape)


def _broadcast(graph: OnnxGraph, operation: Operation) -> Operand:
  """Returns an operand with more axes, along which it repeats."""
  (operand, *_), kept = operation.operands, operation["broadcast_dimensions"]
  if not operand.shape:
    return operand
  mapped: list[Size] = [1] * len(operation.shape)
  for axis, size in zip(kept, operand.shape, strict=True):
    mapped[axis] = size
  new = [axis for axis in range(len(mapped)) if axis not in kept]
  if isinstance(operand, KnownArray):
    return KnownArray(operand.array.reshape(mapped), operand.name)
  if not new:
    return operand
  return Tensor(graph.node("Unsqueeze", operand.name, graph.integers(new)), tuple(mapped))


def reshaped(graph: OnnxGraph, name: str, sizes: Sequence[Size]) -> str:
  """Returns the name of a tensor with other sizes, one of which ONNX finds out by itself."""
  if sum(not isinstance(size, int) for size in sizes) == 1:
    sizes = [size if isinstance(size, int) else -1 for size in sizes]
  return graph.node("Reshape", name, graph.shape(sizes), allowzero=1)


def _stack(graph: OnnxGraph, operation: Operation, *names: str) -> str:
  axis = graph.integers([operation["axis"]])
  parts = [graph.node("Unsqueeze", name, axis) for name in names]
  return graph.node("Concat", *parts, axis=operation["axis"])


def _slice(graph: OnnxGraph, operation: Operation, source: str) -> str:
  starts, ends = (graph.shape(operation[x]) for x in ("start_indices", "limit_indices"))
  axes = graph.integers(range(len(operation.shape)))
  steps = graph.integers(operation["strides"] or [1] * len(operation.shape))
  return graph.node("Slice", source, starts, ends, axes, steps)


def _split(graph: OnnxGraph, operation: Operation) -> list[Operand]:
  source, axis, start = whole(graph, operation), graph.integers([operation["axis"]]), 0
  parts: list[Operand] = []
  for size, variable in zip(operation["sizes"], operation.equation.outvars, strict=True):
    ends = graph.size(start), graph.size(start + size)
    parts.append(Tensor(graph.node("Slice", source, *ends, axis), variable.aval.shape))
    start = start + size
  return parts


def _iota(graph: OnnxGraph, operation: Operation) -> Tensor:
  rank, axis = len(operation.shape), operation["dimension"]
  end = graph.node("Squeeze", graph.size(operation.shape[axis]))
  zero, one = (graph.constant(np.asarray(x, np.int64)) for x in (0, 1))
  name = graph.node("Range", zero, end, one)
  name = graph.node("Cast", name, to=element_type(operation["dtype"]))
  if others := [i for i in range(rank) if i != axis]:
    name = graph.node("Unsqueeze", name, graph.integers(others))
  return Tensor(name, tuple(n if i == axis else 1 for i, n in enumerate(operation.shape)))


def _dimension(graph: OnnxGraph, operation: Operation) -> Tensor:
  name = graph.node("Squeeze", graph.size(operation["dim"]))
  return Tensor(graph.node("Cast", name, to=element_type(operation.dtype)), ())


def _reduce(name: str) -> Rule:
  return _of_whole(lambda g, op, x: g.node(name, x, g.integers(op["axes"]), keepdims=0))


def _any_or_all(name: str, graph: OnnxGraph, operation: Operation, source: str) -> str:
  numbers = graph.node("Cast", source, to=element_type(np.int32))
  reduced = graph.node(name, numbers, graph.integers(operation["axes"]), keepdims=0)
  return graph.node("Cast", reduced, to=element_type(np.bool_))


def _cumulative_sum(graph: OnnxGraph, operation: Operation, source: str) -> str:
  axis = graph.constant(np.asarray(operation["axis"], np.int64))
  return graph.node("CumSum", source, axis, reverse=int(operation["reverse"]))


_ELEMENTWISE = {"abs": "Abs", "add": "Add", "and": "And", "cos": "Cos", "div": "Div", "eq": "Equal"}
_ELEMENTWISE |= {"erf": "Erf", "exp": "Exp", "ge": "GreaterOrEqual", "gt": "Greater"}
_ELEMENTWISE |= {"le": "LessOrEqual", "log": "Log", "logistic": "Sigmoid", "lt": "Less"}
_ELEMENTWISE |= {"max": "Max", "min": "Min", "mul": "Mul", "neg": "Neg", "or": "Or", "sign": "Sign"}
_ELEMENTWISE |= {"sin": "Sin", "sqrt": "Sqrt", "sub": "Sub", "tanh": "Tanh"}
ELEMENTWISE_AND_SHAPES: dict[str, Rule] = {
  **{name: _elementwise(op) for name, op in _ELEMENTWISE.items()},
  "broadcast_in_dim": _broadcast,
  "clamp": _formula(lambda g, _, low, x, high: g.node("Min", g.node("Max", x, low), high)),
  "concatenate": _of_whole(lambda g, op, *x: g.node("Concat", *x, axis=op["dimension"])),
  "convert_element_type": _convert,
  "cumsum": _of_whole(_cumulative_sum),
  "dim_as_value": _dimension,
  "integer_pow": _formula(lambda g, op, x: g.node("Pow", x, _number(g, op, op["y"]))),
  "iota": _iota,
  "log1p": _formula(lambda g, op, x: g.node("Log", g.node("Add", x, _number(g, op, 1)))),
  "ne": _formula(lambda g, _, *x: g.node("Not", g.node("Equal", *x))),
  "reduce_and": _of_whole(functools.partial(_any_or_all, "ReduceMin")),
  "reduce_max": _reduce("ReduceMax"),
  "reduce_min": _reduce("ReduceMin"),
  "reduce_or": _of_whole(functools.partial(_any_or_all, "ReduceMax")),
  "reduce_sum": _reduce("ReduceSum"),
  "reshape": _of_whole(lambda g, op, x: reshaped(g, x, op.shape)),
  "rsqrt": _formula(lambda g, op, x: g.node("Reciprocal", g.node("Sqrt", x))),
  "select_n": _formula(lambda g, _, which, no, yes: g.node("Where", which, yes, no)),
  "slice": _of_whole(_slice),
  "split": _split,
  "square": _formula(lambda g, op, x: g.node("Mul", x, x)),
  "squeeze": _of_whole(lambda g, op, x: g.node("Squeeze", x, g.integers(op["dimensions"]))),
  "stack": _of_whole(_stack),
  "transpose": _of_whole(lambda g, op, x: g.node("Transpose", x, perm=op["permutation"])),
}
