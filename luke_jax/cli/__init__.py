"""The command `luke-jax`: each subcommand is a thin call of the library.

Status 0: done. 1: done, and the answer is no. 2: wrong input, reported in one line. 75: a training
was preempted, and the same command goes on with it. 130: interrupted by Ctrl-C.
"""

import difflib
import importlib
import logging
import os
import re
import shlex
import sys
import tomllib
import warnings
from collections.abc import Callable, Container, Iterable, Sequence

from luke_jax import __version__
from luke_jax.cli import process
from luke_jax.errors import InputError
from luke_jax.files import packaged

HELP, HELP_ALL = {"-h", "--help", "help"}, "--help-all"
# Purpose -> name -> module of this package, or one and the function in it, and a line on it.
SECTIONS: dict[str, dict[str, tuple[str, str]]] = tomllib.loads(packaged("cli/commands.toml"))
COMMANDS = {name: what for commands in SECTIONS.values() for name, what in commands.items()}
# Former commands, and what does the same in a checkout of the repository; a line says so until 0.3.
MOVED = {
  "bench": "python -m benchmarks",
  "experiment check": "python -m experiments.results.check",
  "experiment compare": "python -m experiments.results.compare",
  "experiment table": "python -m experiments.results.table",
  "data build": "python -m data.build",
  "data units": "python -m data.ernie_baidu.units",
  "graph neighbours": "python -m experiments.neighbours",
  "probe": "python -m experiments.mluke.probe",
  "wiki facts": "python -m experiments.mluke.facts",
  "wiki pairs": "python -m data.ernie_thu.pairs",
  "wiki types": "python -m data.wiki_types.make",
}

BEGIN = """\
Begin here:
  luke-jax get english
  luke-jax predict ner english/ner "Ana lives in Paris."
  luke-jax train ner --train train.conll --model english --output runs/ner
"""
END = """\
luke-jax --help lists the commands that people use first, luke-jax --help-all all of them.
luke-jax COMMAND --help shows more of it, with an example; luke-jax --version the version.
Status 0: done. 1: done, and the answer is no. 2: something given is wrong; one line says what.
75: a training was preempted: the same command goes on with it. 130: interrupted."""

# Commands of the first screen, which people use first.
FIRST = (
  *("get", "try", "demo", "serve", "doctor"),
  *("train", "settings", "predict", "link", "triples", "evaluate", "data check"),
  *("convert", "export", "wiki build"),
)
_SIMILAR = 0.6  # likeness from which a command is suggested


def command(name: str) -> Callable[..., int | None]:
  """Imports the module of a command and returns its function, `run` where the table names none."""
  module, _, function = COMMANDS[name][0].partition(":")
  return getattr(importlib.import_module(f"luke_jax.cli.{module}"), function or "run")


def overview(commands: Container[str]) -> str:
  """Returns a few lines to begin with, and those of the commands."""
  sections = {
    title: [name for name in names if name in commands] for title, names in SECTIONS.items()
  }
  width = max(len(name) for names in sections.values() for name in names)
  listed = [f"{title}:\n{_rows(names, width)}\n" for title, names in sections.items() if names]
  about = "LUKE, the language model of words and entities, in JAX and Flax.\n"
  return "\n".join(["usage: luke-jax COMMAND ...", about, BEGIN, *listed, END])


def group_overview(group: Sequence[str]) -> str:
  """Returns the commands that begin with the same word."""
  usage = f"usage: luke-jax {group[0].split()[0]} ...\n"
  rows = _rows(group, max(map(len, group)))
  return "\n".join([usage, rows, "\nluke-jax COMMAND --help shows more of it, with an example."])


def nearest(arguments: Sequence[str]) -> str | None:
  """Returns the command that seems meant: misspelt, turned round, or one of its words only."""
  first, second = [*arguments[:2], ""][:2]
  tries = {first, f"{first} {second}", f"{second} {first}"}

  def likeness(name: str) -> float:
    likenesses = (difflib.SequenceMatcher(None, phrase.lower(), name).ratio() for phrase in tries)
    # One word of a name is weaker evidence than the whole name.
    parts = (difflib.SequenceMatcher(None, first, x).ratio() for x in re.split("[ -]+", name))
    return max(*likenesses, *(0.9 * part for part in parts))

  best = max((*COMMANDS, "--help", HELP_ALL, "--version"), key=likeness)
  return best if likeness(best) > _SIMILAR else None


def _rows(names: Iterable[str], width: int) -> str:
  return "\n".join(f"  {name:{width}}  {COMMANDS[name][1]}" for name in names)


def main(arguments: Sequence[str] | None = None) -> int:
  """Runs a subcommand and returns the exit status."""
  if arguments is None:  # not where another program calls this
    process.keep_programs()
    if sys.argv[1:2] != ["doctor"]:  # which says what JAX finds by itself
      process.leave_out_tpus()
    if process.computes(sys.argv[1:]):
      process.ask_for_huge_pages()
  given = list(sys.argv[1:] if arguments is None else arguments)
  return ended(lambda: _run(given))


def script(
  run: Callable[..., int | None], prog: str, arguments: Sequence[str] | None = None
) -> int:
  """Runs a function as a program beside the package, such as `python -m experiments.results.table`.

  The arguments are those of the process unless some are given.
  """
  given = sys.argv[1:] if arguments is None else arguments
  return ended(lambda: _called(run, prog, given))


def ended(call: Callable[[], int | None]) -> int:
  """Returns the exit status of a call, which ends with one line where a user can mend its fault."""
  with process.shown_streams():
    return _status(call)


def _status(call: Callable[[], int | None]) -> int:
  warnings.showwarning = _show_warning
  # They log the tracebacks of exceptions that they also raise: absl for Orbax.
  for library in ("absl", "gcsfs", "fsspec", "google"):
    logging.getLogger(library).setLevel(logging.CRITICAL)
  try:
    return call() or 0
  except BrokenPipeError:  # the reader of a pipe has closed it
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
  except BaseException as fault:
    said = process.outcome(fault)
    if said is None:
      raise
    print(f"luke-jax: {process.one_line(said[0])}", file=sys.stderr)
    return said[1]


def _run(arguments: list[str]) -> int | None:
  if not arguments or set(arguments) <= HELP:
    print(overview(FIRST))
    return 0
  if arguments == [HELP_ALL]:
    print(overview(COMMANDS))
    return 0
  if arguments[0] == "--version":
    print(__version__)
    return 0
  if arguments[0] in HELP:
    return _run([*arguments[1:], "--help"])
  for name in COMMANDS:
    words = name.split()
    if arguments[: len(words)] == words:
      return _called(command(name), f"luke-jax {name}", arguments[len(words) :])
  for name, place in MOVED.items():
    if arguments[: len(name.split())] == name.split():
      now = shlex.join([*place.split(), *arguments[len(name.split()) :]])
      raise InputError(f"{name}: moved out of the package; in a checkout of the repository: {now}")
  group = [name for name in COMMANDS if name.startswith(f"{arguments[0]} ")]
  if group and set(arguments[1:]) <= HELP:
    print(group_overview(group))
    return 0
  near = nearest(arguments)
  hint = f", perhaps {near!r}" if near else ""
  expected = f"one of {', '.join(group)}" if group else "one of luke-jax --help-all"
  typed = " ".join(arguments[:2]) if group else arguments[0]
  raise InputError(f"{typed!r}: no such command; expected {expected}{hint}")


def _called(run: Callable[..., int | None], prog: str, arguments: Sequence[str]) -> int | None:
  from luke_jax.cli.arguments import bound
  from luke_jax.pipeline.reads import clear_caches

  clear_caches()
  return bound(run, prog, arguments)()


def _show_warning(message, category, filename, lineno, file=None, line=None) -> None:
  """Prints a warning as one line, without its source line, which would not help a user."""
  print(f"luke-jax: warning: {process.one_line(str(message))}", file=sys.stderr)
