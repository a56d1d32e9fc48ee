"""Writing of a model as the directory that both majors of transformers load."""

import contextlib
import itertools
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

import ml_dtypes
import numpy as np

from luke_jax.convert.card import model_card
from luke_jax.convert.loading import read_model
from luke_jax.convert.onnx import ONNX_FILES
from luke_jax.convert.paddle import write_paddle
from luke_jax.convert.parts import READER, ModelParts
from luke_jax.convert.sources import CONFIG
from luke_jax.convert.tensors import (
  ADAPTER,
  INDEX,
  SAFETENSORS,
  TORCH,
  Dtype,
  write_safetensors,
  write_torch,
)
from luke_jax.errors import InputError
from luke_jax.files import FULL, Path, filled, in_bucket, remove, sizes, sync, sync_all, upload
from luke_jax.files.locks import clear_folders, new_folder
from luke_jax.models import keys
from luke_jax.models.config_files import check_finite
from luke_jax.models.head import Head
from luke_jax.models.system import NONE, Described
from luke_jax.text import entity_vocab, save_processor, save_tokenizer
from luke_jax.text.tokenizer_files import TOKENIZER_FILES

Form = Literal["transformers", "pytorch", "paddle-static", "paddle-dygraph", "paddlenlp", "fastnlp"]
OLDER = ".older-"  # begins the name of a folder with the files of an earlier model
TRANSFORMERS: Form = "transformers"
PYTORCH: Form = "pytorch"
FASTNLP: Form = "fastnlp"
RELEASED_FORMS = (PYTORCH, "paddle-static", "paddle-dygraph")  # read with ernie_config.json
_DTYPES = {"float32": np.float32, "bfloat16": ml_dtypes.bfloat16, "float16": np.float16}
MODEL_FILES = frozenset(
  {
    CONFIG,
    SAFETENSORS,
    INDEX,
    TORCH,
    ADAPTER,
    *ONNX_FILES,
    "README.md",
    *TOKENIZER_FILES,
    *entity_vocab.FILES,
  }
)


def save(
  model: ModelParts,
  path: str | Path,
  *,
  dtype: Dtype = "float32",
  form: Form = TRANSFORMERS,
  progress: Callable[[str], None] = lambda name: None,
) -> None:
  """Writes config, weights, labels, text side and model card; no half-written file is left.

  `form` is that of the weights: transformers', PyTorch's file of the same names, one of Paddle's
  for a system that Paddle has, or PyTorch's file with the names of TENER's authors.
  `progress` is called with the name of every tensor.
  """
  if dtype not in _DTYPES:
    raise InputError(f"dtype: {dtype!r}; expected one of {', '.join(_DTYPES)}")
  model = model.merged
  head = model.network.head
  if head is not None:
    _check_own(head, Path(path))
  of_labels: Iterable[tuple[str, np.ndarray]] = ()
  if model.config.labels_read_as:
    of_labels = _label_tensors(model, Path(path), dtype)
  elif model.network.head and model.network.head.reads_start:
    _save_reader(model, Path(path), dtype=dtype, form=form)
  with all_or_nothing(Path(path)) as folder:
    if model.processor and model.backbone.entities:
      save_processor(model.processor, folder)
    elif model.tokenizer:
      save_tokenizer(model.tokenizer, folder, _tokenizer_settings(model))
    tensors = _reported(itertools.chain(torch_tensors(model, dtype), of_labels), progress)
    if form == TRANSFORMERS:
      write_safetensors(folder / SAFETENSORS, tensors, beside=folder.iterdir())
    elif form == PYTORCH:
      write_torch(folder / TORCH, tensors)
    elif form == FASTNLP:
      write_torch(folder / TORCH, _renamed(model, form, tensors))
    else:
      write_paddle(folder, form, _renamed(model, form, tensors))
    (folder / "README.md").write_text(model_card(model), encoding="utf-8")
    write_config(model, folder, dtype=dtype, **({} if head is None else head.write(folder)))
    released, _ = model.config.released_config
    if released and (form in RELEASED_FORMS or model.config.released_always):
      (folder / released).write_bytes((folder / CONFIG).read_bytes())
  if head is not None:
    _save_own(head, Path(path))


def _check_own(head: Head, target: Path) -> None:
  """Raises InputError where folders that belong to a model have no place."""
  for name, source in head.own_files.items():
    there = target / name
    if source and not Path(source).is_dir():
      raise InputError(f"{source}: no such folder any more; expected the model's {name}")
    ours = (there / f"{name}.json").is_file() and (in_bucket(there) or not there.is_symlink())
    if not ours and (there.exists() or (not in_bucket(there) and there.is_symlink())):
      raise InputError(f"{there}: no {name} of a model; expected none, or another directory")


def _save_own(head: Head, target: Path) -> None:
  """Copies the folders that belong to a model, as a linker's knowledge, and removes another's."""
  for name, source in head.own_files.items():
    there = target / name
    if source and there.exists() and Path(source).resolve() == there.resolve():
      continue
    remove(there)
    if source and in_bucket(target):
      for file in sizes(Path(source)):
        upload(Path(source, file), there / file)
    elif source:
      with full_disk_named(target), new_folder(target, ".new-") as folder:
        shutil.copytree(source, folder / name)
        sync_all(folder / name)
        (folder / name).rename(there)


def _save_reader(model: ModelParts, target: Path, **options: Any) -> None:
  """Writes the model that reads a model's labels into a folder of the same directory."""
  if model.reader is None:
    raise InputError(f"{target}: the model is without the one that reads its labels; expected both")
  save(read_model(model.reader), target / READER, **options)


def _label_tensors(
  model: ModelParts, target: Path, dtype: Dtype
) -> Iterator[tuple[str, np.ndarray]]:
  """Returns the tensors of the encoder of a model's labels, and writes the tokenizer of these."""
  system = model.config.labels_read_as
  if model.reader is None or system is None:
    raise InputError(f"{target}: the model is without its encoder of labels; expected both")
  reader = read_model(model.reader, system=system, head=NONE)
  if reader.tokenizer:
    save_tokenizer(reader.tokenizer, target / system.words_folder, _tokenizer_settings(reader))
  return torch_tensors(reader, dtype)


def _tokenizer_settings(model: ModelParts) -> dict[str, Any]:
  """Returns settings by which transformers' tokenizer makes no inputs that the model lacks."""
  types = "token_type_ids" in model.config.inputs
  return {} if types else {"model_input_names": ["input_ids", "attention_mask"]}


def write_config(model: ModelParts, folder: Path, **entries: object) -> None:
  """Writes the config.json of a model, with more entries."""
  labels, architecture = model.labels, model.architecture
  described = Described(model.config, architecture, labels, model.num_labels, model.rest)
  content = model.config.write_config(described) | entries
  text = json.dumps(content, indent=2, ensure_ascii=False, sort_keys=True)
  (folder / CONFIG).write_text(text + "\n", encoding="utf-8")


def number_of_tensors(model: ModelParts) -> int:
  """Returns how many tensors `save` writes."""
  leaves, table = keys.flatten(model.params), model.config.keys(model.kind)
  places = sum(len(list(keys.places(table.key(path), x.shape))) for path, x in leaves.items())
  return places + len(_written_aliases(model))


def torch_tensors(model: ModelParts, dtype: Dtype = "float32") -> Iterator[tuple[str, np.ndarray]]:
  """Yields the names and tensors of the model's state dict in PyTorch."""
  table = model.config.keys(model.kind)
  second = {name: alias for alias, name in _written_aliases(model)}
  # The reference's encoder alone has no name of its own before those of its parts.
  start = f"{table.encoder}." if model.kind == NONE else ""
  for name, tensor in keys.to_torch(model.params, table):
    check_finite(name, tensor)
    most = float(ml_dtypes.finfo(_DTYPES[dtype]).max)
    if dtype != "float32" and tensor.size and not -most <= tensor.min() <= tensor.max() <= most:
      raise InputError(
        f"{name}: numbers beyond {most:.3g}, the largest of {dtype}; expected float32"
      )
    tensor = tensor.astype(_DTYPES[dtype], copy=False)
    yield name.removeprefix(start), tensor
    if name in second:
      yield second[name], tensor


def _renamed(
  model: ModelParts, form: str, tensors: Iterator[tuple[str, np.ndarray]]
) -> Iterator[tuple[str, np.ndarray]]:
  """Returns tensors as another program has them, without second names of tied ones."""
  second = {alias for alias, _ in _written_aliases(model)}
  once = ((name, tensor) for name, tensor in tensors if name not in second)
  namings = {naming.name: naming for naming in model.config.keys(model.kind).other_names}
  if form not in namings:
    expected = ", ".join((TRANSFORMERS, *namings))
    raise InputError(f"form: {form!r}: a {model.config.title}; expected one of {expected}")
  return namings[form].write(once, model.config)


def _written_aliases(model: ModelParts) -> list[tuple[str, str]]:
  """Returns second names that transformers 5 needs: it does not tie the words' decoder by itself.

  Where a decoder is untied, it ties none.
  """
  if "masked_words" not in model.params:
    return []
  table, leaves = model.config.keys(model.kind), keys.flatten(model.params)
  decoders = [path for path in (keys.WORD_DECODER, keys.ENTITY_DECODER) if path in leaves]
  decoder_names = {name for path in decoders for name in table.rows[path].names}
  left_out = decoder_names or set(table.tied_by_reference)
  return [(alias, name) for alias, name in table.aliases.items() if alias not in left_out]


def _reported(
  tensors: Iterator[tuple[str, np.ndarray]], progress: Callable[[str], None]
) -> Iterator[tuple[str, np.ndarray]]:
  for name, tensor in tensors:
    progress(name)
    yield name, tensor


@contextlib.contextmanager
def full_disk_named(target: Path) -> Iterator[None]:
  """Raises InputError with the target for whatever a library raises where its disk is full."""
  try:
    yield
  except Exception as fault:
    if reason := _full(fault):
      raise InputError(
        f"{target}: {reason}; expected a disk with room for the whole model"
      ) from None
    raise


def _full(fault: BaseException | None) -> str | None:
  """Returns the message of a fault, or of one before it, that a disk or a quota is full."""
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
    with full_disk_named(target), filled(target) as folder:
      yield folder
      written = {file.name for file in folder.iterdir()}
    for name in MODEL_FILES & set(sizes(target)) - written:
      (target / name).unlink()
    return
  for name in MODEL_FILES:
    if (target / name).is_dir():
      raise InputError(f"{target / name}: a directory; expected a file, or none")
  existed = target.exists()
  with contextlib.ExitStack() as stack:
    try:
      target.mkdir(parents=True, exist_ok=True)
      folder = stack.enter_context(new_folder(target, ".new-"))
    except OSError as fault:
      raise InputError(f"{target}: {fault.strerror}; expected a directory to write to") from None
    try:
      with full_disk_named(target):
        yield folder
        sync_all(folder)
        _move(folder, target)
        sync(target)
      clear_folders(target, OLDER)  # that a kill left, whose files are replaced now
    finally:
      stack.close()
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
      mask = os.umask(0)
      os.umask(mask)
      file.chmod(0o666 & ~mask)  # safetensors makes files that only their owner can read
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
  older = Path(tempfile.mkdtemp(prefix=OLDER, dir=target))
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
