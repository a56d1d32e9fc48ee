"""Console of a command on stderr, for progress."""

from rich.console import Console


def stderr_console() -> Console:
  """Returns a console on stderr, without animation in a notebook, which keeps every frame of it."""
  console = Console(stderr=True)
  if console.is_jupyter:
    return Console(stderr=True, force_jupyter=False, force_terminal=False)
  return console
