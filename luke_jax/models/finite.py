"""Refusal of numbers that are none: weights that are not finite, and what is computed of them."""

import numpy as np

from luke_jax.errors import InputError


def is_finite(array: np.ndarray) -> bool:
  """Returns whether all numbers of a float32 array are finite, in one pass and without a copy."""
  flat = array.reshape(-1)
  with np.errstate(all="ignore"):
    # Finite sums of squares have finite terms; others may be sums of large ones.
    return bool(np.isfinite(np.dot(flat, flat)) or np.isfinite(flat).all())


def check_finite(name: str, array: np.ndarray) -> None:
  """Raises InputError for an array with numbers that are not finite."""
  if not is_finite(array):
    count = array.size - np.count_nonzero(np.isfinite(array))
    raise InputError(f"{name}: {count} of {array.size} numbers are not finite; expected all to be")
