"""Fingerprints of what a run reads, by which a change of its data is noticed."""

import hashlib
from typing import Any

from luke_jax.errors import InputError
from luke_jax.files import Path, in_bucket
from luke_jax.pipeline.metadata import METADATA, read_metadata
from luke_jax.results.records import hash_of
from luke_jax.tasks.datasets import is_split
from luke_jax.training.experiment import Experiment

# What a task reads of a directory is its tokenizer and its vocabularies, no weights.
_TEXT = ("tokenizer", "vocab", "merges", "sentencepiece", "spiece", "spm", "entity_vocab")
_BLOCK = 2**16  # bytes read at the start, in the middle and at the end of a file of records


def fingerprints(experiment: Experiment) -> dict[str, str]:
  """Returns a hash for each file that the rows of the experiment's records depend on."""
  task = experiment.task
  found = {}
  for split in ("train", "dev"):
    source = getattr(task, split, "")
    if source:
      found[source] = hash_of(source) or _missing(source)
  for folder in getattr(task, "corpora", ()):
    found |= _of_corpus(Path(folder))
  text = task.text_directory
  if text:
    found |= {str(path): hash_of(str(path)) or _missing(path) for path in _text_files(Path(text))}
  return found


def _of_corpus(folder: Path) -> dict[str, str]:
  """Returns hashes of the metadata of a folder of records, and of samples of its files."""
  files = read_metadata(folder).files
  digest = hashlib.sha256()
  for file in files:
    digest.update(_sample(folder / file.name))
  return {
    str(folder / METADATA): hash_of(str(folder / METADATA)) or _missing(folder / METADATA),
    f"{folder}: {len(files)} files of records": digest.hexdigest(),
  }


def _sample(path: Path) -> bytes:
  """Returns size and some blocks of a file; reading the whole corpus would take hours."""
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


def _missing(path: str | Path) -> str:
  expected = "FOLDER:SPLIT or a file" if is_split(str(path)) else "a file that can be read"
  raise InputError(f"{path}: no such file; expected {expected}")
