"""Files of tensors: read lazily under the reference's names, written whole or not at all."""

import dataclasses
import functools
import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import numpy as np
from safetensors import SafetensorError, safe_open

from luke_jax.convert.paddle import STATIC_FOLDER, open_paddle, paddle_weights
from luke_jax.errors import InputError, not_installed
from luke_jax.files import Path, check_regular, read_json_object, sha256
from luke_jax.files.copies import local
from luke_jax.models.keys import Keys
from luke_jax.models.names import OtherNames

Dtype = Literal["float32", "bfloat16", "float16"]  # on disk; in memory it is float32

SAFETENSORS, TORCH = "model.safetensors", "pytorch_model.bin"
ADAPTER = "adapter.safetensors"  # beside the weights of a backbone elsewhere
INDEX = f"{SAFETENSORS}.index.json"
POINTER = b"version https://git-lfs"  # in the place of a file that was not fetched
CHECKSUMS = "luke_jax.crc32"  # of a file's metadata: those of all its tensors, as JSON
BESIDE = "luke_jax.sha256"  # of the same: those of the files of text beside it


@dataclasses.dataclass(frozen=True)
class Tensors:
  """Tensors of a model, each read on demand."""

  names: frozenset[str]
  read: Callable[[str], np.ndarray]
  naming: OtherNames | None = None  # that the files have instead of the reference's names
  # Names whose numbers are those of a decoder, not what they are usually tied to, with its names.
  apart: Mapping[str, str] = dataclasses.field(default_factory=dict)
  shape_of: Callable[[str], tuple[int, ...] | None] = lambda name: None  # if the file says it

  def compared(self, keys: Keys) -> "Tensors":
    """Returns the tensors with `apart`, once all are compared that may be tied.

    Where a bias is apart, that of the decoder is read: the reference computes with it, and its
    other one is no part of the model.
    """
    aliases = {alias: name for alias, name in keys.aliases.items() if self._differ(alias, name)}
    rows = {name for key in keys.rows.values() for name in key.names}
    biases = {name: alias for alias, name in aliases.items() if alias not in rows}
    decoders = {alias: alias for alias in aliases if alias in rows}
    return dataclasses.replace(
      self,
      names=self.names.difference(biases.values()),
      read=lambda name: self.read(biases.get(name, name)),
      apart=biases | decoders,
    )

  def _differ(self, one: str, other: str) -> bool:
    """Returns true if both are there and hold different numbers."""
    both = {one, other} <= self.names
    if both and self.shape_of(one) != self.shape_of(other):
      return True
    return both and not np.array_equal(self.read(one), self.read(other))


def open_tensors(directory: Path, keys: Keys) -> Tensors:
  """Opens the weights of a directory: safetensors, one file or several, or PyTorch's archive."""
  ours = any((directory / name).exists() for name in (INDEX, SAFETENSORS, TORCH))
  paddle = None if ours else paddle_weights(directory)
  if paddle:
    return _named(open_paddle(paddle), keys)
  files = _weight_files(directory)
  if files[0].name == TORCH:
    return _named(_torch(files[0]), keys)
  readers = {name: read for file in files for name, read in lazy_safetensors(file).items()}
  return _named(readers, keys)


def weights_hash(directory: Path) -> str:
  """Returns the SHA-256 of the weights of a directory; of several files, that of their hashes."""
  hashes = [_hash(file, *_version(file)) for file in _weight_files(directory)]
  return hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest()


def _version(file: Path) -> tuple[int, int]:
  try:
    status = file.stat()
  except OSError as fault:
    raise InputError(f"{file}: {fault.strerror}; expected a file of weights") from None
  return status.st_mtime_ns, status.st_size


@functools.lru_cache(maxsize=64)  # several adapters ask for that of the same backbone
def _hash(file: Path, changed: int, size: int) -> str:
  return sha256(file)


def _weight_files(directory: Path) -> list[Path]:
  files = _listed_files(directory)
  for file in files:
    check_regular(file)
    with file.open("rb") as content:
      if content.read(len(POINTER)) == POINTER:
        expected = "expected the file itself: git lfs pull, or hf download"
        raise InputError(f"{file}: a pointer of Git LFS; {expected}")
  return files


def _listed_files(directory: Path) -> list[Path]:
  index = directory / INDEX
  if index.exists():
    return [directory / name for name in sorted(set(_weight_map(index).values()))]
  for name in (SAFETENSORS, TORCH):
    if (directory / name).exists():
      return [directory / name]
  raise InputError(
    f"{directory}: no weights; expected {SAFETENSORS}, {TORCH}, an archive of Paddle (.pdparams) or"
    f" its folder of arrays, {STATIC_FOLDER}"
  )


def _weight_map(index: Path) -> dict[str, str]:
  names = read_json_object(index, "an index of safetensors files").get("weight_map")
  if not isinstance(names, dict) or not names:
    raise InputError(f"{index}: no weight_map; expected names of tensors with names of files")
  for file in names.values():
    if not isinstance(file, str) or Path(file).name != file or "\0" in file:
      raise InputError(f"{index}: {file!r}; expected a file of the same directory")
  return names


def _named(readers: Mapping[str, Callable[[], np.ndarray]], keys: Keys) -> Tensors:
  naming = keys.naming_of(readers)
  if naming:
    readers = dict(naming.read(readers))
  renamed = {keys.canonical(name): read for name, read in readers.items()}
  # transformers 5 writes a tied tensor under its second name only.
  for alias, name in keys.aliases.items():
    if alias in renamed and name not in renamed:
      renamed[name] = renamed[alias]

  def shape_of(name: str) -> tuple[int, ...] | None:
    read = renamed[name]
    return read.shape if isinstance(read, Stored) else None

  return Tensors(frozenset(renamed), lambda name: renamed[name](), naming, shape_of=shape_of)


@dataclasses.dataclass(frozen=True)
class Stored:
  """A tensor of a safetensors file, which is read when it is called for."""

  file: Any
  path: Path
  name: str
  checksum: int | None  # of what was written, where it is known

  @property
  def shape(self) -> tuple[int, ...]:
    """Returns its shape, which the file's header has."""
    return tuple(self.file.get_slice(self.name).get_shape())

  def __call__(self) -> np.ndarray:
    """Reads it; raises InputError if it is not as it was written."""
    tensor = self.file.get_tensor(self.name)
    if self.checksum is not None and _checksum(tensor) != self.checksum:
      expected = "not as it was written; expected another copy"
      raise InputError(f"{self.path}: damaged: {self.name}: {expected}")
    return tensor


def lazy_safetensors(path: Path) -> dict[str, Stored]:
  """Returns the tensors of a file, none of which is read yet."""
  try:
    file = safe_open(local(path), framework="np")
  except (SafetensorError, OSError) as fault:
    raise InputError(f"{path}: not a whole safetensors file ({fault})") from None
  names = set(file.keys())
  checksums = _listed_sums(file.metadata(), CHECKSUMS, path)
  _check_beside(file.metadata(), path)
  if checksums is None:
    return {name: Stored(file, path, name, None) for name in names}
  lost = sorted(checksums.keys() ^ names)
  if lost:
    what = "missing" if lost[0] in checksums else "not one of those that were written"
    raise InputError(f"{path}: damaged: {lost[0]}: {what}; expected {len(checksums)} tensors")
  return {name: Stored(file, path, name, checksums[name]) for name in names}


def has_checksums(path: Path) -> bool:
  """Returns whether a file of tensors was written with their checksums."""
  with safe_open(local(path), framework="np") as file:
    return CHECKSUMS in (file.metadata() or {})


def _check_beside(metadata: Mapping[str, str] | None, path: Path) -> None:
  """Raises InputError for a file beside the tensors that is gone or not as it was written.

  Other words or names of entities than a model was trained with give other answers, in silence.
  """
  for name, checksum in (_listed_sums(metadata, BESIDE, path) or {}).items():
    place = path.with_name(name)
    check_regular(place)
    if not place.is_file():
      raise InputError(f"{place}: missing; expected all files that {path.name} was written with")
    if _hash(local(place), *_version(place)) != f"{checksum:064x}":
      raise InputError(
        f"{place}: not as {path.name} was written with; expected another copy, or the model saved"
        " again with it"
      )


def _listed_sums(
  metadata: Mapping[str, str] | None, entry: str, path: Path
) -> dict[str, int] | None:
  text = (metadata or {}).get(entry)
  if text is None:
    return None
  try:
    sums = {str(name): int(checksum, 16) for name, checksum in json.loads(text).items()}
  except (AttributeError, TypeError, ValueError):
    raise InputError(f"{path}: damaged: {entry}: unreadable; expected checksums") from None
  if entry == BESIDE and any(Path(name).name != name or "\0" in name for name in sums):
    raise InputError(f"{path}: damaged: {entry}: expected names of files of the same directory")
  return sums


def read_safetensors(path: Path) -> dict[str, np.ndarray]:
  """Returns all tensors of a file."""
  return {name: read() for name, read in lazy_safetensors(path).items()}


def _torch(path: Path) -> dict[str, Callable[[], np.ndarray]]:
  try:
    import torch
  except ImportError:
    raise not_installed("torch", f"to read {path}", "parity") from None
  try:
    state = torch.load(local(path), map_location="cpu", weights_only=True, mmap=_is_zip(path))
  except Exception:  # torch raises many kinds, and advises to unpickle untrusted files
    raise InputError(
      f"{path}: not a PyTorch state dict; expected tensors and nothing else"
    ) from None
  if not isinstance(state, dict) or not all(isinstance(x, torch.Tensor) for x in state.values()):
    raise InputError(f"{path}: not a state dict; expected names with tensors")
  return {name: functools.partial(_numpy, tensor) for name, tensor in state.items()}


def _is_zip(path: Path) -> bool:
  """Returns whether a file is a zip archive; PyTorch before 1.6 wrote others, not memory-mapped."""
  with path.open("rb") as file:
    return file.read(4) == b"PK\x03\x04"


def _numpy(tensor) -> np.ndarray:
  """Returns a tensor as NumPy: float32 for bfloat16, which NumPy lacks, others as they are."""
  return (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy()


def write_safetensors(
  path: Path, tensors: Iterable[tuple[str, np.ndarray]], beside: Iterable[Path] = ()
) -> None:
  """Writes tensors with their checksums, and compares those after reading the tensors back.

  Of files that lie `beside` the tensors, what they hold is known later, too.

  The checksums are in the file's metadata, which transformers reads without them. With checksums
  the written copies need not stay in memory.
  """
  from safetensors.numpy import save_file

  written = dict(tensors)
  checksums = {name: _checksum(tensor) for name, tensor in written.items()}
  listed = json.dumps({name: f"{checksums[name]:08x}" for name in sorted(checksums)})
  metadata = {"format": "pt", CHECKSUMS: listed}
  if of_files := {file.name: sha256(file) for file in sorted(beside)}:
    metadata[BESIDE] = json.dumps(of_files)
  save_file(written, path, metadata=metadata)
  del written
  _sort_metadata(path)
  file = safe_open(path, framework="np")
  for name, checksum in checksums.items():
    if _checksum(file.get_tensor(name)) != checksum:
      raise OSError(f"{path}: {name} reads back different from what was written")


def _sort_metadata(path: Path) -> None:
  """Sorts the entries of a file's metadata, which safetensors writes in an order that differs."""
  with path.open("r+b") as file:
    length = int.from_bytes(file.read(8), "little")
    header = json.loads(file.read(length))
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode().ljust(length)
    if len(text) != length:
      raise OSError(f"{path}: a header of {len(text)} bytes; expected {length}")
    file.seek(8)
    file.write(text)


def write_torch(path: Path, tensors: Iterable[tuple[str, np.ndarray]]) -> None:
  """Writes tensors as a state dict of PyTorch, with the extra `parity`."""
  try:
    import torch
  except ImportError:
    raise not_installed("torch", f"to write {path.name}", "parity") from None
  state = {}
  for name, tensor in tensors:
    bits = tensor.view(np.int16) if tensor.dtype.itemsize == 2 else tensor
    state[name] = torch.from_numpy(bits).view(getattr(torch, str(tensor.dtype)))
  with path.open("wb") as file:  # whose faults have numbers, unlike those of torch
    torch.save(state, file)


def _checksum(tensor: np.ndarray) -> int:
  """Returns a checksum of a tensor's type, shape and numbers."""
  kind = zlib.crc32(f"{tensor.dtype} {tensor.shape}".encode())
  return zlib.crc32(np.ascontiguousarray(tensor).reshape(-1).view(np.uint8).data, kind)
