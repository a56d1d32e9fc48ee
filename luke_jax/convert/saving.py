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
from luke_jax.convert.tensors import SAFETENSORS, Dtype, write_safetensors
from luke_jax.models.luke import LukeModel
from luke_jax.text import save_processor, save_tokenizer

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
  """How many tensors `save` writes, second names aside."""
  leaves = keys.flatten(_whole(model))
  return sum(len(list(keys.places(keys.KEYS[path], x.shape))) for path, x in leaves.items())


def _whole(model: Model) -> dict:
  """The parameters as a task model has them; a bare LukeModel is all there is to its own."""
  return {"luke": model.params} if isinstance(model.module, LukeModel) else model.params


def torch_tensors(model: Model, dtype: Dtype = "float32") -> Iterator[tuple[str, np.ndarray]]:
  """The names and tensors of the model's state dict in PyTorch."""
  bare = isinstance(model.module, LukeModel)
  words = keys.ALIASES[keys.WORD_DECODER.names[0]]
  for name, tensor in keys.to_torch(_whole(model)):
    tensor = tensor.astype(_DTYPES[dtype], copy=False)
    yield (name.removeprefix("luke.") if bare else name), tensor
    if name == words and "masked_words" in model.params and model.config.tie_word_embeddings:
      yield keys.WORD_DECODER.names[0], tensor  # transformers 5 does not tie it
    if name == "lm_head.bias":
      yield "lm_head.decoder.bias", tensor  # the name that transformers 5 reads


def _told(
  tensors: Iterator[tuple[str, np.ndarray]], progress: Callable[[str], None]
) -> Iterator[tuple[str, np.ndarray]]:
  for name, tensor in tensors:
    progress(name)
    yield name, tensor


@contextlib.contextmanager
def _all_or_nothing(target: Path) -> Iterator[Path]:
  """A folder beside the target, whose files move there once all are written, config.json last.

  Other files in the target stay.
  """
  target.parent.mkdir(parents=True, exist_ok=True)
  folder = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
  try:
    yield folder
    target.mkdir(exist_ok=True)
    for file in sorted(folder.iterdir(), key=lambda file: file.name == CONFIG):
      file.chmod(0o666 & ~_umask())  # safetensors makes files that only their owner can read
      file.replace(target / file.name)
  finally:
    shutil.rmtree(folder)


def _umask() -> int:
  mask = os.umask(0)
  os.umask(mask)
  return mask
