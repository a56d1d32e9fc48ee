"""The subcommands of `luke-jax`: which there are, what their overview says, which one was meant."""

import difflib
import re
from collections.abc import Iterable, Sequence

# What they are for -> name -> module of this package with a function `run`, and what it does.
SECTIONS = {
  "First": {
    "demo": ("demo", "Do everything once, small, and look at it."),
    "doctor": (
      "doctor",
      "Say what of this machine and its installation works, and what is missing.",
    ),
  },
  "Tasks: typing, relations, ner, cloze, qa": {
    "train": ("train", "Train an experiment, or a model for a task on your files; or go on."),
    "settings": ("settings", "List the settings of a task: type, default and meaning."),
    "predict": ("predict", "Say what a fine-tuned model predicts for texts."),
    "evaluate": ("evaluate", "Score a fine-tuned model, and show its mistakes."),
    "score": ("score", "Score any system's predictions by a task's official metric."),
    "data check": ("data_check", "Check a file of examples, and say every fault."),
    "data build": ("data_build", "Make a dataset of a benchmark's original files."),
  },
  "Models": {
    "convert": (
      "convert",
      "Read a model of any origin and write it as a directory for both sides.",
    ),
    "export": ("export", "Write a run's best checkpoint as a model directory."),
    "parity": ("parity", "Compare a model directory with transformers, number by number."),
    "entities add": ("entities", "Add entities to a trained model's vocabulary."),
    "predict-masks": ("predict_masks", "Show what a pretrained model puts in the place of masks."),
  },
  "Wikipedia": {
    "wiki build": ("wiki_build", "Make pretraining records of a Wikipedia dump."),
    "wiki show": ("wiki_show", "Show pretraining records as text with their entities marked."),
    "wiki join": ("wiki_join", "Join several languages' pages to one entity vocabulary."),
    "wiki mentions": ("wiki_mentions", "Make the table of names and the pages they lead to."),
    "wiki annotate": ("wiki_annotate", "Find the names of pages in a text."),
  },
  "Experiments": {
    "experiment run": ("experiment_run", "Run an experiment with several seeds, and score each."),
    "experiment table": ("experiment_table", "Make the paper's tables of experiments' results."),
    "plan": ("plan", "Say what an experiment costs on TPUs that are not there."),
  },
  "Measurements": {
    "bench encoder": ("bench_encoder", "Time the encoder against transformers, side by side."),
    "bench text": ("bench_text", "Time texts to inputs against transformers' tokenizer."),
    "bench ner": ("bench_ner", "Time named entities against the usual transformers loop."),
    "bench wiki": ("bench_wiki", "Time a dump to training records."),
    "bench pipeline": ("bench_pipeline", "Time the making of pretraining batches."),
    "bench engine": ("bench_engine", "Time what a training run spends between its steps."),
  },
}
COMMANDS = {name: what for commands in SECTIONS.values() for name, what in commands.items()}

BEGIN = """\
Begin here:
  luke-jax doctor
  luke-jax demo
  luke-jax train ner --train train.conll --dev dev.conll --model luke-base --output runs/ner
  luke-jax predict ner runs/ner "Ana lives in Paris."
  luke-jax convert luke_base_500k.tar.gz luke-base --tokenizer roberta-base
"""
END = """\
luke-jax COMMAND --help tells more of one, with an example; luke-jax --version the version.
Status 0: done. 1: done, and the answer is no. 2: something given is wrong; one line says what."""

_LIKE = 0.6


def overview() -> str:
  """The first screen: where to begin, and all commands."""
  width = max(map(len, COMMANDS))
  listed = [f"{section}:\n{_rows(names, width)}\n" for section, names in SECTIONS.items()]
  about = "LUKE, the language model of words and entities, in JAX and Flax.\n"
  return "\n".join(["usage: luke-jax COMMAND ...\n", about, BEGIN, *listed, END])


def group_overview(group: Sequence[str]) -> str:
  """The commands that begin with the same word."""
  usage = f"usage: luke-jax {group[0].split()[0]} ...\n"
  rows = _rows(group, max(map(len, group)))
  return "\n".join([usage, rows, "\nluke-jax COMMAND --help tells more of one, with an example."])


def nearest(arguments: Sequence[str]) -> str | None:
  """The command that seems meant: misspelt, turned round, or by one of its words only."""
  first, second = [*arguments[:2], ""][:2]
  tries = {first, f"{first} {second}", f"{second} {first}"}

  def likeness(name: str) -> float:
    whole = (difflib.SequenceMatcher(None, given.lower(), name).ratio() for given in tries)
    # A word of a name says less than the name.
    parts = (difflib.SequenceMatcher(None, first, x).ratio() for x in re.split("[ -]+", name))
    return max(*whole, *(0.9 * part for part in parts))

  best = max((*COMMANDS, "--help", "--version"), key=likeness)
  return best if likeness(best) > _LIKE else None


def _rows(names: Iterable[str], width: int) -> str:
  return "\n".join(f"  {name:{width}}  {COMMANDS[name][1]}" for name in names)
