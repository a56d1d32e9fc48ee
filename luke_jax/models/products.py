"""Matrix products of programs, counted from their traces."""

import math
from typing import Any

import jax


def traced_products(jaxpr: Any) -> float:
  """Returns the multiplications and additions of all matrix products of a program."""
  total = 0.0
  for equation in jaxpr.eqns:
    if equation.primitive.name == "dot_general":
      (contracted, _), _ = equation.params["dimension_numbers"]
      shape = equation.invars[0].aval.shape
      total += 2 * equation.outvars[0].aval.size * math.prod(shape[axis] for axis in contracted)
    times = equation.params.get("length", 1) if equation.primitive.name == "scan" else 1
    for inner in jax.tree.leaves(equation.params, is_leaf=lambda x: hasattr(x, "eqns")):
      if hasattr(inner, "eqns"):
        total += times * traced_products(getattr(inner, "jaxpr", inner))
  return total
