"""Distances between queries and candidates, |q - e| by the L1 or the L2 norm, for many at once.

Letters: C queries and N candidates of a chunk, K the width of a vector.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

# Coordinates, or vectors, that one turn of a loop adds to its sums. So each sum is loaded and
# stored once for as many additions, and CPUs add vectors of numbers: XLA's own form of the
# derivative takes 27 times as long.
UNROLLED = 16
TINY = 1e-12  # the least squared distance, whose root has a derivative


def distances(queries: jax.Array, candidates: jax.Array, norm: int) -> jax.Array:
  """Returns the distances (C, N) of queries (C, K) from candidates (N, K).

  Its derivative holds no array of C x N x K numbers. L2 is a product of matrices.
  """
  if norm == 1:
    return _absolute(*(_whole_turns(x) for x in (queries, candidates)))
  return _euclidean(queries, candidates)


def pair_distances(differences: jax.Array, norm: int) -> jax.Array:
  """Returns the norms of vectors (..., K)."""
  if norm == 1:
    return jnp.abs(differences).sum(-1)
  return jnp.sqrt(jnp.maximum(jnp.square(differences).sum(-1), TINY))


def ranked_distances(queries: jax.Array, candidates: jax.Array, norm: int) -> jax.Array:
  """Returns numbers (C, N) in the order of the distances of queries (C, K) from candidates (N, K).

  Equal vectors have equal numbers, wherever they are: every sum is taken in the same order.
  """
  size = jnp.abs if norm == 1 else jnp.square
  queries, candidates = (_whole_turns(x) for x in (queries, candidates))
  return _summed(lambda q, e: size(q[:, None] - e[None]), queries.T, candidates.T)


def _euclidean(queries: jax.Array, candidates: jax.Array) -> jax.Array:
  products = jnp.matmul(queries, candidates.T, precision=jax.lax.Precision.HIGHEST)
  squares = jnp.square(queries).sum(-1)[:, None] + jnp.square(candidates).sum(-1) - 2 * products
  return jnp.sqrt(jnp.maximum(squares, TINY))


def _whole_turns(vectors: jax.Array) -> jax.Array:
  """Returns vectors with zeros after them, up to two or more turns of the loop over coordinates.

  What is left over, and a single turn, XLA would put into each operation that reads the sums: it
  would be computed several times, and be rounded differently.
  """
  width = vectors.shape[1]
  turns = max(2, -(-width // UNROLLED))
  return jnp.pad(vectors, ((0, 0), (0, turns * UNROLLED - width)))


@jax.custom_vjp
def _absolute(queries: jax.Array, candidates: jax.Array) -> jax.Array:
  return _summed(lambda q, e: jnp.abs(q[:, None] - e[None]), queries.T, candidates.T)


def _absolute_forward(queries: jax.Array, candidates: jax.Array) -> tuple[jax.Array, object]:
  return _absolute(queries, candidates), (queries, candidates)


def _absolute_backward(residuals: Any, gradient: jax.Array) -> tuple[jax.Array, jax.Array]:
  queries, candidates = residuals
  return _signed(queries, candidates, gradient.T), _signed(candidates, queries, gradient)


_absolute.defvjp(_absolute_forward, _absolute_backward)


def _signed(vectors: jax.Array, others: jax.Array, weights: jax.Array) -> jax.Array:
  """Returns the sums (C, K) over others (N, K) of weights (N, C) with the signs of differences."""

  def term(other: jax.Array, weight: jax.Array) -> jax.Array:
    return jnp.where(vectors > other, weight[:, None], -weight[:, None])

  return _summed(term, others, weights)


def _summed(term: Callable, *arrays: jax.Array) -> jax.Array:
  """Returns the sum of `term` over the first axis of the arrays, one after another."""
  full, rest = divmod(len(arrays[0]), UNROLLED)
  shape = jax.eval_shape(term, *(x[0] for x in arrays))

  def add(total: jax.Array, parts: tuple) -> tuple[jax.Array, None]:
    terms = (term(*(x[i] for x in parts)) for i in range(len(parts[0])))
    return functools.reduce(jnp.add, terms, total), None

  total = jnp.zeros(shape.shape, shape.dtype)
  if full:
    blocks = tuple(x[: full * UNROLLED].reshape(full, UNROLLED, *x.shape[1:]) for x in arrays)
    total, _ = jax.lax.scan(add, total, blocks)
  return add(total, tuple(x[full * UNROLLED :] for x in arrays))[0] if rest else total
