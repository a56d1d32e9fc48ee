"""Checks of numbers from users."""

import operator
from typing import Any

from luke_jax.errors import InputError

# Far beyond any model, and small enough that no array of such a length is made by mistake.
MOST = 10**6


def whole_number(where: str, value: Any, least: int) -> int:
  """Returns a whole number from `least` to a million; raises InputError for another value."""
  try:
    number = least - 1 if isinstance(value, bool) else operator.index(value)
  except TypeError:
    number = least - 1
  if not least <= number <= MOST:
    raise InputError(f"{where}: {value!r}; expected a whole number from {least} to {MOST}")
  return number
