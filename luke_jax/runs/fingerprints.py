"""Fingerprints of what a run reads, by which a change of its data is noticed."""

import hashlib
from typing import Any, NoReturn

from luke_jax.errors import InputError
from luke_jax.files import Path, in_bucket
from luke_jax.results.records import hash_of
from luke_jax.tasks.datasets import is_split
from luke_jax.training.experiment import Experiment

# What a task reads of a directory is its tokenizer and its vocabularies, no weights.
_TEXT = ("tokenizer", "vocab", "merges", "sentencepiece", "spiece", "spm", "entity_vocab")
_BLOCK = 2**16  # bytes read at the start, in the middle and at the end of a large file


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
    return hashlib.sha256(_sample(path)).hexdigest()
  except FileNotFoundError:
    _missing(path)


def _sample(path: Path) -> bytes:
  """Returns size and some blocks of a file; reading a whole corpus would take hours."""
  if in_bucket(path):  # which knows a sum or a version of each object
    status: Any = path.stat()
    return f"{path.name} {status.st_size} {status.md5 or status.generation}".encode()
  size = path.stat().st_size
  with path.open("rb") as file:
    blocks = []
    for start in sorted({0, max(0, size // 2 - _BLOCK // 2), max(0, size - _BLOCK)}):
      file.seek(start)
      blocks.append(file.read(_BLOCK))
  return b"".join([path.name.encode(), b" %d " % size, *blocks])


def _text_files(folder: Path) -> list[Path]:
  """Returns the files of a directory's tokenizer and vocabularies."""
  files = sorted(folder.iterdir()) if folder.is_dir() else []
  return [path for path in files if path.name.startswith(_TEXT) and path.is_file()]


def _missing(path: str | Path) -> NoReturn:
  expected = "FOLDER:SPLIT or a file" if is_split(str(path)) else "a file that can be read"
  raise InputError(f"{path}: no such file; expected {expected}")
