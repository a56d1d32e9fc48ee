"""Where a command shows that it is at work."""

from rich.console import Console


def aside() -> Console:
  """The standard error. A notebook's is no terminal, whatever it says: it keeps every movement."""
  console = Console(stderr=True)
  if console.is_jupyter:
    return Console(stderr=True, force_jupyter=False, force_terminal=False)
  return console
