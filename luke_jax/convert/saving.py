"""Writing a model as the directory that both majors of transformers load."""

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import ml_dtypes
import numpy as np

from luke_jax.convert import keys
from luke_jax.convert.card import model_card
from luke_jax.convert.configs import CONFIG, Description, config_json
from luke_jax.convert.model import Model
from luke_jax.convert.tensors import INDEX, SAFETENSORS, TORCH, Dtype, write_safetensors
from luke_jax.errors import InputError
from luke_jax.models.luke import LukeModel
from luke_jax.text import entity_vocab_files, save_processor, save_tokenizer
from luke_jax.text.tokenizer_files import TOKENIZER_FILES

MODEL_FILES = frozenset(
  {CONFIG, SAFETENSORS, INDEX, TORCH, "README.md", *TOKENIZER_FILES, *entity_vocab_files.FILES}
)
_DTYPES = {"float32": np.float32, "bfloat16": ml_dtypes.bfloat16, "float16": np.float16}


def save(
  model: Model,
  path: str | Path,
  *,
  dtype: Dtype = "float32",
  progress: Callable[[str], None] = lambda name: None,
) -> None:
  """Writes config, weights, labels, text side and model card; no half-written file is left.

  `progress` is told the name of every tensor.
  """
  if dtype not in _DTYPES:
    raise InputError(f"dtype: {dtype!r}; expected one of {', '.join(_DTYPES)}")
  with _all_or_nothing(Path(path)) as folder:
    write_safetensors(folder / SAFETENSORS, _told(torch_tensors(model, dtype), progress))
    if model.processor:
      save_processor(model.processor, folder)
    elif model.tokenizer:
      save_tokenizer(model.tokenizer, folder)
    (folder / "README.md").write_text(model_card(model), encoding="utf-8")
    description = Description(model.config, model.architecture, model.labels, model.rest)
    content = config_json(description) | {"dtype": dtype}
    text = json.dumps(content, indent=2, ensure_ascii=False, sort_keys=True)
    (folder / CONFIG).write_text(text + "\n", encoding="utf-8")


def number_of_tensors(model: Model) -> int:
  """How many tensors `save` writes."""
  leaves = keys.flatten(_whole(model))
  places = sum(len(list(keys.places(keys.KEYS[path], x.shape))) for path, x in leaves.items())
  return places + len(_written_aliases(model))


def _whole(model: Model) -> dict:
  """The parameters as a task model has them; a bare LukeModel is all there is to its own."""
  return {"luke": model.params} if isinstance(model.module, LukeModel) else model.params


def torch_tensors(model: Model, dtype: Dtype = "float32") -> Iterator[tuple[str, np.ndarray]]:
  """The names and tensors of the model's state dict in PyTorch."""
  second = {name: alias for alias, name in _written_aliases(model)}
  bare = isinstance(model.module, LukeModel)
  for name, tensor in keys.to_torch(_whole(model)):
    tensor = tensor.astype(_DTYPES[dtype], copy=False)
    yield (name.removeprefix("luke.") if bare else name), tensor
    if name in second:
      yield second[name], tensor


def _written_aliases(model: Model) -> list[tuple[str, str]]:
  """Second names that transformers 5 looks for: it does not tie the words' decoder by itself.

  Told that the decoder is untied, neither major ties the one of the entities.
  """
  if "masked_words" not in model.params:
    return []
  tied = model.config.tie_word_embeddings
  unwritten = "entity_predictions.decoder.weight" if tied else "lm_head.decoder.weight"
  return [(alias, name) for alias, name in keys.ALIASES.items() if alias != unwritten]


def _told(
  tensors: Iterator[tuple[str, np.ndarray]], progress: Callable[[str], None]
) -> Iterator[tuple[str, np.ndarray]]:
  for name, tensor in tensors:
    progress(name)
    yield name, tensor


@contextlib.contextmanager
def _all_or_nothing(target: Path) -> Iterator[Path]:
  """A folder in the target, whose files move out of it once all are written.

  Files of a model that stood there before go, since they would be read instead; all others stay.
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
  """Each file takes the place of its older one, and all older ones come back if any cannot.

  Where not even that can be done, as without power, they are whole in a folder `.older-…`.
  """
  written = sorted(folder.iterdir(), key=lambda file: file.name == CONFIG)
  before = {name for name in MODEL_FILES if (target / name).exists()}
  older = _kept(target, before)
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
    shutil.rmtree(older)  # a second name of a file that was never replaced stays in there
    raise
  shutil.rmtree(older)


def _kept(target: Path, names: set[str]) -> Path:
  """A folder in the target with its files of these names under a second name."""
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
