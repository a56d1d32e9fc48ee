"""Last line and exit status of a command that an exception ends."""

import re

from luke_jax.errors import InputError

_NO_MEMORY = re.compile(r"RESOURCE_EXHAUSTED|[Oo]ut of memory|[Ff]ailed to allocate")


def outcome(fault: BaseException) -> tuple[str, int] | None:
  """Returns a line and a status for a fault that a user can mend; None for one of this program."""
  if isinstance(fault, InputError):
    return str(fault), 2
  if isinstance(fault, OSError):
    return f"{fault.filename}: {fault.strerror}" if fault.filename else str(fault), 2
  if isinstance(fault, KeyboardInterrupt):
    return "interrupted", 130
  if isinstance(fault, MemoryError) or _NO_MEMORY.search(str(fault)):
    message = str(fault).strip().partition("\n")[0] or "out of memory"
    return f"{message}; expected less of it, as a smaller batch or a smaller model needs", 2
  return None
