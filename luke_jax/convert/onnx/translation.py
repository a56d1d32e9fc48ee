"""A jaxpr, operation by operation, as nodes of an ONNX graph."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jax.extend.core import Literal

from luke_jax.convert.onnx.graph import SMALL, Graph, Known, Operand
from luke_jax.convert.onnx.primitives import ELEMENTWISE_AND_SHAPES, Operation
from luke_jax.convert.onnx.products import PRODUCTS
from luke_jax.errors import InputError

RULES = ELEMENTWISE_AND_SHAPES | PRODUCTS
_SAME = ("name", "optimization_barrier", "stop_gradient")


def translate(graph: Graph, program: Any, inputs: Sequence[Operand]) -> list[Operand]:
  """Adds a closed jaxpr to a graph and returns its outputs.

  What depends on constants alone is computed here. Raises InputError for a primitive without a
  rule, by its name.
  """
  jaxpr, constants = program.jaxpr, [Known(np.asarray(x)) for x in program.consts]
  values: dict[Any, Operand] = dict(zip(jaxpr.constvars, constants, strict=True))
  values |= zip(jaxpr.invars, inputs, strict=True)

  def read(variable: Any) -> Operand:
    return _literal(variable) if isinstance(variable, Literal) else values[variable]

  for equation in jaxpr.eqns:
    operands = [read(variable) for variable in equation.invars]
    values |= zip(equation.outvars, _outputs(graph, equation, operands), strict=True)
  return [read(variable) for variable in jaxpr.outvars]


def _literal(variable: Any) -> Known:
  return Known(np.asarray(variable.val, variable.aval.dtype))


def _outputs(graph: Graph, equation: Any, operands: list[Operand]) -> Sequence[Operand]:
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


def _is_known(graph: Graph, equation: Any, operands: Sequence[Operand]) -> bool:
  """Returns whether an operation reads constants alone, whole, and of sizes that are known.

  A table that is in the graph stays one: it is turned there, and not written a second time.
  """
  if any(isinstance(x, Known) and x.array.size > SMALL and graph.writes(x.array) for x in operands):
    return False
  shapes = [x.aval.shape for x in equation.invars]
  whole = all(isinstance(x, Known) and x.shape == y for x, y in zip(operands, shapes, strict=True))
  sizes = [size for x in equation.outvars for size in x.aval.shape]
  return whole and all(isinstance(x, int) for x in sizes) and "dim" not in equation.params


def _computed(equation: Any, operands: Sequence[Any]) -> list[Operand]:
  arrays = [x.array for x in operands]
  result = equation.primitive.bind(*arrays, **equation.params)
  results = result if equation.primitive.multiple_results else [result]
  names = [x.name for x in operands if x.name]
  return [Known(np.asarray(x), names[0] if names else "") for x in results]


def _unrolled(graph: Graph, equation: Any, operands: list[Operand]) -> list[Operand]:
  """Adds the steps of a scan over constants, such as the layers of an encoder, one by one."""
  p = equation.params
  fixed, first = p["num_consts"], p["num_consts"] + p["num_carry"]
  constants, carry, rest = operands[:fixed], operands[fixed:first], operands[first:]
  stacks = [x for x in rest if isinstance(x, Known)]
  if len(stacks) < len(rest) or len(equation.outvars) > p["num_carry"] or p["reverse"]:
    raise InputError("scan: over values of the inputs; expected one over layers alone")
  for i in range(p["length"]):
    step = [Known(x.array[i], f"{x.name}/{i}" if x.name else "") for x in stacks]
    carry = translate(graph, p["jaxpr"], [*constants, *carry, *step])
  return carry
