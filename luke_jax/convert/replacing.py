"""Replacing of the model in a directory by another, whole or not at all."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator

from luke_jax.convert.sources import CONFIG
from luke_jax.convert.tensors import ADAPTER, INDEX, SAFETENSORS, TORCH
from luke_jax.errors import InputError
from luke_jax.files import FULL, Path, filled, in_bucket, sizes, sync, sync_all
from luke_jax.text import entity_vocab_files
from luke_jax.text.tokenizer_files import TOKENIZER_FILES

MODEL_FILES = frozenset(
  {
    CONFIG,
    SAFETENSORS,
    INDEX,
    TORCH,
    ADAPTER,
    "README.md",
    *TOKENIZER_FILES,
    *entity_vocab_files.FILES,
  }
)


@contextlib.contextmanager
def _at(target: Path) -> Iterator[None]:
  """Raises InputError with the target for whatever a library raises where a disk is full."""
  try:
    yield
  except Exception as fault:
    if reason := _full(fault):
      raise InputError(
        f"{target}: {reason}; expected a disk with room for the whole model"
      ) from None
    raise


def _full(fault: BaseException | None) -> str | None:
  """Returns what says in a fault, or in one before it, that a disk or a quota is full."""
  while fault is not None:
    code = fault.errno if isinstance(fault, OSError) else None
    for full in FULL:
      if code == full or os.strerror(full) in str(fault):
        return os.strerror(full)
    fault = fault.__cause__ or fault.__context__
  return None


@contextlib.contextmanager
def all_or_nothing(target: Path) -> Iterator[Path]:
  """Yields a folder in the target, whose files move out of it once all are written.

  Files of an earlier model are removed, since they would be read instead; all others stay. In a
  bucket each file appears whole, and they do one after the other.
  """
  if in_bucket(target):
    with _at(target), filled(target) as folder:
      yield folder
      written = {file.name for file in folder.iterdir()}
    for name in MODEL_FILES & set(sizes(target)) - written:
      (target / name).unlink()
    return
  for name in MODEL_FILES:
    if (target / name).is_dir():
      raise InputError(f"{target / name}: a directory; expected a file, or none")
  try:
    existed = target.exists()
    target.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=".new-", dir=target))
  except OSError as fault:
    raise InputError(f"{target}: {fault.strerror}; expected a directory to write to") from None
  try:
    with _at(target):
      yield folder
      sync_all(folder)
      _move(folder, target)
      sync(target)
  finally:
    shutil.rmtree(folder)
    if not existed and not any(target.iterdir()):
      target.rmdir()


def _move(folder: Path, target: Path) -> None:
  """Replaces older files by those of the folder, and restores all older ones if any move fails.

  If even that fails, as without power, they are whole in a folder `.older-…`.
  """
  written = sorted(folder.iterdir(), key=lambda file: file.name == CONFIG)
  before = {name for name in MODEL_FILES if (target / name).exists()}
  older = _second_names(target, before)
  try:
    for file in written:
      file.chmod(0o666 & ~_umask())  # safetensors makes files that only their owner can read
      file.replace(target / file.name)
    for name in before - {file.name for file in written}:
      (target / name).unlink()
  except BaseException:
    for name in MODEL_FILES - before:
      (target / name).unlink(missing_ok=True)
    for name in before:
      (older / name).replace(target / name)
    shutil.rmtree(older)  # it still has the second names of files that were not replaced
    raise
  shutil.rmtree(older)


def _second_names(target: Path, names: set[str]) -> Path:
  """Returns a folder in the target with its files of these names under a second name."""
  older = Path(tempfile.mkdtemp(prefix=".older-", dir=target))
  try:
    for name in names:
      try:
        os.link(target / name, older / name)
      except OSError:  # a file system without hard links
        shutil.copy2(target / name, older / name)
  except BaseException:
    shutil.rmtree(older)
    raise
  return older


def _umask() -> int:
  mask = os.umask(0)
  os.umask(mask)
  return mask
