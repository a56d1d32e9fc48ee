"""The command `luke-jax`: each subcommand is a thin call of the library.

Status 0: done. 1: done, and the answer is no. 2: something given is wrong; one line says what.
"""

import difflib
import importlib
import io
import logging
import os
import sys
import warnings
from collections.abc import Sequence

from luke_jax import __version__
from luke_jax.errors import InputError

# Name -> module of this package with a function `run`, and what it does.
COMMANDS = {
  "convert": ("convert", "Read a model of any origin and write it as a directory for both sides."),
  "parity": ("parity", "Compare a model directory with transformers, number by number."),
  "entities add": ("entities", "Add entities to a trained model's vocabulary."),
  "wiki build": ("wiki_build", "Make pretraining records of a Wikipedia dump."),
  "wiki show": ("wiki_show", "Show pretraining records as text with their entities marked."),
  "wiki join": ("wiki_join", "Join several languages' pages to one entity vocabulary."),
  "wiki mentions": ("wiki_mentions", "Make the table of names and the pages they lead to."),
  "wiki annotate": ("wiki_annotate", "Find the names of pages in a text."),
  "train": ("train", "Train an experiment, or a model for a task on your files; or go on."),
  "evaluate": ("evaluate", "Score a fine-tuned model, and show its mistakes."),
  "predict": ("predict", "Say what a fine-tuned model predicts for texts."),
  "score": ("score", "Score any system's predictions by a task's official metric."),
  "experiment run": ("experiment_run", "Run an experiment with several seeds, and score each."),
  "experiment table": ("experiment_table", "Make the paper's tables of experiments' results."),
  "data build": ("data_build", "Make a dataset of a benchmark's original files."),
  "data check": ("data_check", "Check a file of examples, and say every fault."),
  "export": ("export", "Write a run's best checkpoint as a model directory."),
  "predict-masks": ("predict_masks", "Show what a pretrained model puts in the place of masks."),
  "plan": ("plan", "Say what an experiment costs on TPUs that are not there."),
  "bench encoder": ("bench_encoder", "Time the encoder against transformers, side by side."),
  "bench text": ("bench_text", "Time texts to inputs against transformers' tokenizer."),
  "bench ner": ("bench_ner", "Time named entity recognition against the usual transformers loop."),
  "bench wiki": ("bench_wiki", "Time a dump to training records."),
  "bench pipeline": ("bench_pipeline", "Time the making of pretraining batches."),
  "bench engine": ("bench_engine", "Time what a training run spends between its steps."),
}


HELP = {"-h", "--help", "help"}


def main(arguments: Sequence[str] | None = None) -> int:
  """Runs a subcommand and returns the exit status."""
  arguments = list(sys.argv[1:] if arguments is None else arguments)
  warnings.showwarning = _show_warning
  for stream in (sys.stdout, sys.stderr):
    if isinstance(stream, io.TextIOWrapper):  # a terminal may not know every letter
      stream.reconfigure(errors="backslashreplace")
  # Orbax logs, with its traceback, what it raises as well.
  logging.getLogger("absl").setLevel(logging.CRITICAL)
  try:
    return _run(arguments) or 0
  except InputError as fault:
    print(f"luke-jax: {fault}", file=sys.stderr)
    return 2
  except BrokenPipeError:  # whoever read the output has seen enough
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
  except OSError as fault:
    told = f"{fault.filename}: {fault.strerror}" if fault.filename else str(fault)
    print(f"luke-jax: {told}", file=sys.stderr)
    return 2
  except KeyboardInterrupt:
    print("luke-jax: interrupted", file=sys.stderr)
    return 130


def _run(arguments: list[str]) -> int | None:
  group = [name for name in COMMANDS if arguments and name.startswith(f"{arguments[0]} ")]
  if not arguments or arguments[0] in HELP or (group and set(arguments[1:]) <= HELP):
    print(_help(group or list(COMMANDS)))
    return 0
  if arguments[0] == "--version":
    print(__version__)
    return 0
  for name, (module, _) in COMMANDS.items():
    words = name.split()
    if arguments[: len(words)] == words:
      from luke_jax.cli.arguments import bound

      run = importlib.import_module(f"luke_jax.cli.{module}").run
      return bound(run, f"luke-jax {name}", arguments[len(words) :])()
  given = " ".join(arguments[:2])
  near = difflib.get_close_matches(given, COMMANDS, n=1, cutoff=0.4)
  hint = f", perhaps {near[0]!r}" if near else ""
  said = given if group else arguments[0]
  raise InputError(f"{said!r}: no such command; expected one of luke-jax --help{hint}")


def _help(names: list[str]) -> str:
  width = max(map(len, names))
  rows = (f"  {name:{width}}  {COMMANDS[name][1]}" for name in names)
  return "\n".join(
    (
      "usage: luke-jax COMMAND ...",
      "",
      "LUKE, the entity-aware language model, in JAX and Flax.",
      "",
      *rows,
      "",
      "luke-jax COMMAND --help tells more of one.",
    )
  )


def _show_warning(message, category, filename, lineno, file=None, line=None) -> None:
  """Warnings of ours as one line; of others too, for their source lines help nobody here."""
  print(f"luke-jax: warning: {message}", file=sys.stderr)
