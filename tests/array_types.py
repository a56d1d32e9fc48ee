"""What checks the types of functions, by the name that jaxtyping's hook imports."""

import contextlib

from beartype import beartype
from beartype.roar import BeartypeDecorHintPep673Exception


def checked(function):
  """The function with its types checked; what returns `Self` has no arrays, and stays as it is."""
  with contextlib.suppress(BeartypeDecorHintPep673Exception):
    return beartype(function)
  return function
