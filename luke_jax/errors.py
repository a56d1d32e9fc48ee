"""The one exception for what a user can mend."""


class InputError(ValueError):
  """Something the user gave is wrong. The message is one line: place, fault, expectation.

  The command line prints it without a traceback and exits with status 2.
  """


def not_installed(package: str | None, use: str, extra: str) -> InputError:
  """The fault of an optional package that is missing; only the doctor knows what to tell pip."""
  return InputError(
    f"{package}: not installed; expected it {use}: the extra {extra}, which luke-jax doctor tells"
    " how to get"
  )
