"""Nearest vectors of a table that may be larger than the memory."""

from collections.abc import Callable

import numpy as np

BLOCK = 2**16  # vectors that are compared at once


def nearest(
  table: np.ndarray, query: np.ndarray, count: int, norm: int
) -> tuple[np.ndarray, np.ndarray]:
  """Returns the rows of a table (U, K) that are nearest to a vector (K,), and their distances."""
  return _smallest(table, count, lambda block: np.linalg.norm(block - query, norm, axis=1))


def most_similar(table: np.ndarray, query: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
  """Returns the rows of a table (U, K) at the smallest angles to a vector (K,), and cosines."""
  unit = query / _lengths(query)
  rows, opposite = _smallest(table, count, lambda block: -(block @ unit) / _lengths(block))
  return rows, -opposite


def _lengths(vectors: np.ndarray) -> np.ndarray:
  return np.maximum(np.linalg.norm(vectors, axis=-1), np.finfo(np.float32).tiny)


def _smallest(
  table: np.ndarray, count: int, measure: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
  rows = np.empty(0, np.int64)
  values = np.empty(0, np.float32)
  for start in range(0, len(table), BLOCK):
    block = np.asarray(table[start : start + BLOCK], np.float32)
    rows = np.concatenate([rows, start + np.arange(len(block))])
    values = np.concatenate([values, measure(block)])
    order = np.argsort(values, kind="stable")[:count]
    rows, values = rows[order], values[order]
  return rows, values
