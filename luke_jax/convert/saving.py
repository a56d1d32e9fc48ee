"""Writing of a model as the directory that both majors of transformers load."""

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import ml_dtypes
import numpy as np

from luke_jax.convert.card import model_card
from luke_jax.convert.parts import ModelParts
from luke_jax.convert.sources import CONFIG
from luke_jax.convert.tensors import (
  ADAPTER,
  INDEX,
  SAFETENSORS,
  TORCH,
  Dtype,
  write_safetensors,
)
from luke_jax.errors import InputError
from luke_jax.models import keys
from luke_jax.models.family import NONE, Described
from luke_jax.text import entity_vocab_files, save_processor, save_tokenizer
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
_DTYPES = {"float32": np.float32, "bfloat16": ml_dtypes.bfloat16, "float16": np.float16}


def save(
  model: ModelParts,
  path: str | Path,
  *,
  dtype: Dtype = "float32",
  progress: Callable[[str], None] = lambda name: None,
) -> None:
  """Writes config, weights, labels, text side and model card; no half-written file is left.

  `progress` is called with the name of every tensor.
  """
  model = model.merged
  if dtype not in _DTYPES:
    raise InputError(f"dtype: {dtype!r}; expected one of {', '.join(_DTYPES)}")
  with all_or_nothing(Path(path)) as folder:
    write_safetensors(folder / SAFETENSORS, _reported(torch_tensors(model, dtype), progress))
    if model.processor and model.backbone.entities:
      save_processor(model.processor, folder)
    elif model.tokenizer:
      save_tokenizer(model.tokenizer, folder)
    (folder / "README.md").write_text(model_card(model), encoding="utf-8")
    labels, architecture = model.labels, model.architecture
    described = Described(model.config, architecture, labels, model.num_labels, model.rest)
    content = model.family.write_config(described) | {"dtype": dtype}
    text = json.dumps(content, indent=2, ensure_ascii=False, sort_keys=True)
    (folder / CONFIG).write_text(text + "\n", encoding="utf-8")


def number_of_tensors(model: ModelParts) -> int:
  """Returns how many tensors `save` writes."""
  model = model.merged
  leaves, table = keys.flatten(model.params), model.family.keys(model.kind)
  places = sum(len(list(keys.places(table.key(path), x.shape))) for path, x in leaves.items())
  return places + len(_written_aliases(model))


def torch_tensors(model: ModelParts, dtype: Dtype = "float32") -> Iterator[tuple[str, np.ndarray]]:
  """Yields the names and tensors of the model's state dict in PyTorch."""
  table = model.family.keys(model.kind)
  second = {name: alias for alias, name in _written_aliases(model)}
  # The reference's encoder alone has no name of its own before those of its parts.
  start = f"{table.encoder}." if model.kind == NONE else ""
  for name, tensor in keys.to_torch(model.params, table):
    tensor = tensor.astype(_DTYPES[dtype], copy=False)
    yield name.removeprefix(start), tensor
    if name in second:
      yield second[name], tensor


def _written_aliases(model: ModelParts) -> list[tuple[str, str]]:
  """Returns second names that transformers 5 needs: it does not tie the words' decoder by itself.

  Where the decoder is untied, neither major ties the one of the entities.
  """
  if "masked_words" not in model.params:
    return []
  table = model.family.keys(model.kind)
  (words,) = table.rows[keys.WORD_DECODER].names
  aliases = list(table.aliases.items())
  if model.config.tie_word_embeddings:
    return [(alias, name) for alias, name in aliases if alias not in table.tied_by_reference]
  return [(alias, name) for alias, name in aliases if alias != words]


def _reported(
  tensors: Iterator[tuple[str, np.ndarray]], progress: Callable[[str], None]
) -> Iterator[tuple[str, np.ndarray]]:
  for name, tensor in tensors:
    progress(name)
    yield name, tensor


@contextlib.contextmanager
def all_or_nothing(target: Path) -> Iterator[Path]:
  """Yields a folder in the target, whose files move out of it once all are written.

  Files of an earlier model are removed, since they would be read instead; all others stay.
  """
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
    yield folder
    _move(folder, target)
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
