"""A permutation of any size that is never whole in memory."""

from collections.abc import Callable

import numpy as np

_ROUNDS = 6
_GOLDEN = 0x9E3779B97F4A7C15
_MASK = 2**64 - 1


def permuted(positions: np.ndarray, size: int, seed: int) -> np.ndarray:
  """Returns the values of a permutation of range(size) at the positions.

  The permutation is a Feistel network over the next power of four, repeated for values outside of
  the range. It depends on no library's random numbers.
  """
  return _walked(_network, positions, size, seed)


def places_of(values: np.ndarray, size: int, seed: int) -> np.ndarray:
  """Returns the positions at which the permutation has the values: the inverse of `permuted`."""
  return _walked(_inverse, values, size, seed)


def _walked(network: Callable, numbers: np.ndarray, size: int, seed: int) -> np.ndarray:
  half = max((max(size - 1, 1).bit_length() + 1) // 2, 1)
  keys = [_mixed(np.array([seed * 2**8 + i & _MASK], np.uint64))[0] for i in range(_ROUNDS)]
  result = network(numbers.astype(np.uint64), half, keys)
  while (outside := result >= size).any():
    result[outside] = network(result[outside], half, keys)
  return result.astype(np.int64)


def _inverse(numbers: np.ndarray, half: int, keys: list[np.uint64]) -> np.ndarray:
  mask, shift = np.uint64(2**half - 1), np.uint64(half)
  left, right = numbers >> shift, numbers & mask
  for key in reversed(keys):
    left, right = right ^ (_mixed(left ^ key) & mask), left
  return left << shift | right


def _network(numbers: np.ndarray, half: int, keys: list[np.uint64]) -> np.ndarray:
  mask, shift = np.uint64(2**half - 1), np.uint64(half)
  left, right = numbers >> shift, numbers & mask
  for key in keys:
    left, right = right, left ^ (_mixed(right ^ key) & mask)
  return left << shift | right


def _mixed(numbers: np.ndarray) -> np.ndarray:
  """Applies the finaliser of splitmix64: each bit of a result depends on all of its number."""
  numbers = numbers + np.uint64(_GOLDEN)
  numbers = (numbers ^ numbers >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
  numbers = (numbers ^ numbers >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
  return numbers ^ numbers >> np.uint64(31)
