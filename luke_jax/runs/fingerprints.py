"""Fingerprints of what a run reads, by which a change of its data is noticed."""

import hashlib
from typing import NoReturn

from luke_jax.errors import InputError
from luke_jax.files import Path, sample
from luke_jax.results.records import hash_of
from luke_jax.tasks.datasets import is_split
from luke_jax.training.experiment import Experiment

# What a task reads of a directory is its tokenizer and its vocabularies, no weights.
_TEXT = ("tokenizer", "vocab", "merges", "sentencepiece", "spiece", "spm", "entity_vocab")


def fingerprints(experiment: Experiment) -> dict[str, str]:
  """Returns a hash for each file that the rows of the experiment's records depend on."""
  task = experiment.task
  reads, text = task.reads(), task.text_directory
  whole = [*reads.whole, *map(str, _text_files(Path(text)) if text else ())]
  found = {source: hash_of(source) or _missing(source) for source in whole}
  return found | {name: _sampled(Path(name)) for name in reads.parts}


def _sampled(path: Path) -> str:
  """Returns a hash of a large file's name, size and some blocks."""
  try:
    return hashlib.sha256(sample(path)).hexdigest()
  except FileNotFoundError:
    _missing(path)


def _text_files(folder: Path) -> list[Path]:
  """Returns the files of a directory's tokenizer and vocabularies."""
  files = sorted(folder.iterdir()) if folder.is_dir() else []
  return [path for path in files if path.name.startswith(_TEXT) and path.is_file()]


def _missing(path: str | Path) -> NoReturn:
  expected = "FOLDER:SPLIT or a file" if is_split(str(path)) else "a file that can be read"
  raise InputError(f"{path}: no such file; expected {expected}")
