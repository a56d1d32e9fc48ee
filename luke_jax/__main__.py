"""The command `luke-jax`, which is also `python -m luke_jax`.

It handles signals before it imports anything: imports take seconds, and that of JAX loses the
exception of a Ctrl-C.
"""

import os
import signal
import sys
from collections.abc import Iterable

# What is imported for seconds: while one of these is, nothing has been made yet.
SLOW = ("jax", "jaxlib", "flax", "optax", "orbax", "luke_jax")
TRAININGS = (["train"], ["graph", "train"], ["experiment", "run"])
SERVERS = (["serve"], ["try"])


def main() -> int:
  """Runs the command and returns its exit status."""
  signal.signal(signal.SIGINT, _interrupted)
  if _runs(TRAININGS):
    signal.signal(signal.SIGTERM, _preempted)  # as the watch of a training does later
  if _runs(SERVERS):
    for number in (signal.SIGINT, signal.SIGTERM):
      signal.signal(number, _stopped)  # as while it serves: to be stopped is no failure
  try:
    # A command that started itself again blocked them until here.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM))
    from luke_jax import cli

    return cli.main()
  except KeyboardInterrupt:  # before or after the command itself
    _leave("interrupted", 130)
    raise  # for the type checker: the process has ended


def _runs(commands: Iterable[list[str]]) -> bool:
  return any(sys.argv[1 : len(words) + 1] == words for words in commands)


def _stopped(*_: object) -> None:
  os._exit(0)


def _interrupted(*_: object) -> None:
  if _is_importing():
    _leave("interrupted", 130)
  raise KeyboardInterrupt


def _preempted(*_: object) -> None:
  _leave("SIGTERM while no step runs: nothing to save; the same command goes on", 75)


def _is_importing() -> bool:
  modules = list(sys.modules.items())
  return any(
    getattr(getattr(module, "__spec__", None), "_initializing", False)
    for name, module in modules
    if name.partition(".")[0] in SLOW
  )


def _leave(line: str, status: int) -> None:
  os.write(2, f"luke-jax: {line}\n".encode())  # what is imported may have replaced sys.stderr
  os._exit(status)


if __name__ == "__main__":
  sys.exit(main())
