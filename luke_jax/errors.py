"""Errors that a user can correct."""

import contextlib
import difflib
from collections.abc import Generator, Iterable


class InputError(ValueError):
  """Error in what the user gave, as one line: place, fault and what was expected.

  The command line prints it without a traceback and exits with status 2.
  """


def not_installed(package: str | None, use: str, extra: str) -> InputError:
  """Returns the error for a missing optional package, with the command that installs it."""
  install = f"pip install 'luke_jax[{extra}]'"
  return InputError(f"{package}: not installed; expected it {use}: {install}")


def perhaps(name: str, options: Iterable[str]) -> str:
  """Returns the end of a message: the option that a name seems to be meant for, "" for none."""
  near = difflib.get_close_matches(name, list(options), n=1)
  return f", perhaps {near[0]}" if near else ""


def check_whole(least: int, **numbers: object) -> None:
  """Raises InputError for a number that is not whole, or lower than `least`."""
  for name, number in numbers.items():
    if type(number) is not int or number < least:
      raise InputError(f"{name}: {number!r}; expected a whole number from {least}")


@contextlib.contextmanager
def at(place: object) -> Generator[None, None, None]:
  """Raises InputErrors of the block again with their place, such as a file, before them."""
  try:
    yield
  except InputError as fault:
    raise InputError(f"{place}: {fault}") from None
