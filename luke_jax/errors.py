"""The one exception for what a user can mend."""


class InputError(ValueError):
  """Something the user gave is wrong. The message is one line: place, fault, expectation.

  The command line prints it without a traceback and exits with status 2.
  """
