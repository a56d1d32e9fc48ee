"""The command `luke-jax`: each subcommand is a thin call of the library.

Status 0: done. 1: done, and the answer is no. 2: wrong input, reported in one line. 75: a training
was preempted, and the same command goes on with it. 130: interrupted by Ctrl-C.
"""

import io
import logging
import os
import sys
import warnings
from collections.abc import Sequence

from luke_jax import __version__
from luke_jax.cli.commands import COMMANDS, command, group_overview, nearest, overview
from luke_jax.cli.process import ask_for_huge_pages, keep_programs, outcome
from luke_jax.errors import InputError

HELP = {"-h", "--help", "help"}


def main(arguments: Sequence[str] | None = None) -> int:
  """Runs a subcommand and returns the exit status."""
  if arguments is None:  # not where another program calls this
    keep_programs()
    ask_for_huge_pages(sys.argv[1:])
  arguments = list(sys.argv[1:] if arguments is None else arguments)
  warnings.showwarning = _show_warning
  for stream in (sys.stdout, sys.stderr):
    if isinstance(stream, io.TextIOWrapper):  # the encoding of a terminal may lack some letters
      stream.reconfigure(errors="backslashreplace")
  # They log the tracebacks of exceptions that they also raise: absl for Orbax.
  for library in ("absl", "gcsfs", "google"):
    logging.getLogger(library).setLevel(logging.CRITICAL)
  try:
    return _run(arguments) or 0
  except BrokenPipeError:  # the reader of a pipe has closed it
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
  except BaseException as fault:
    said = outcome(fault)
    if said is None:
      raise
    print(f"luke-jax: {said[0]}", file=sys.stderr)
    return said[1]


def _run(arguments: list[str]) -> int | None:
  if not arguments or set(arguments) <= HELP:
    print(overview())
    return 0
  if arguments[0] == "--version":
    print(__version__)
    return 0
  if arguments[0] in HELP:
    return _run([*arguments[1:], "--help"])
  for name in COMMANDS:
    words = name.split()
    if arguments[: len(words)] == words:
      from luke_jax.cli.arguments import bound
      from luke_jax.pipeline.reads import clear_caches

      clear_caches()
      return bound(command(name), f"luke-jax {name}", arguments[len(words) :])()
  group = [name for name in COMMANDS if name.startswith(f"{arguments[0]} ")]
  if group and set(arguments[1:]) <= HELP:
    print(group_overview(group))
    return 0
  near = nearest(arguments)
  hint = f", perhaps {near!r}" if near else ""
  expected = f"one of {', '.join(group)}" if group else "one of luke-jax --help"
  typed = " ".join(arguments[:2]) if group else arguments[0]
  raise InputError(f"{typed!r}: no such command; expected {expected}{hint}")


def _show_warning(message, category, filename, lineno, file=None, line=None) -> None:
  """Prints a warning as one line, without its source line, which would not help a user."""
  print(f"luke-jax: warning: {message}", file=sys.stderr)
