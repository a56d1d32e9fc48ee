"""Nearest vectors of a table that may be larger than the memory."""

import numpy as np

BLOCK = 2**16  # vectors that are compared at once


def nearest(
  table: np.ndarray, query: np.ndarray, count: int, norm: int
) -> tuple[np.ndarray, np.ndarray]:
  """Returns the rows of a table (U, K) that are nearest to a vector (K,), and their distances."""
  rows = np.empty(0, np.int64)
  distances = np.empty(0, np.float32)
  for start in range(0, len(table), BLOCK):
    block = np.asarray(table[start : start + BLOCK], np.float32)
    here = np.linalg.norm(block - query, norm, axis=1)
    rows = np.concatenate([rows, start + np.arange(len(block))])
    distances = np.concatenate([distances, here])
    order = np.argsort(distances, kind="stable")[:count]
    rows, distances = rows[order], distances[order]
  return rows, distances
