"""Where a model can come from: a Hugging Face directory, or an archive of LUKE's authors."""

import contextlib
import dataclasses
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from luke_jax.convert import configs
from luke_jax.convert.configs import CONFIG, METADATA, Description
from luke_jax.convert.tensors import TORCH, Tensors, open_tensors
from luke_jax.errors import InputError
from luke_jax.text import json_files

MEMBERS = (METADATA, "entity_vocab.tsv", "entity_vocab.jsonl", TORCH)


@dataclasses.dataclass(frozen=True)
class Source:
  """What a model is made from. `directory` also holds the files of its text side."""

  description: Description
  tensors: Tensors
  directory: Path


@contextlib.contextmanager
def open_source(path: Path) -> Iterator[Source]:
  """Opens a directory, an archive, or a weights file with its companions beside it."""
  if not path.exists():
    raise InputError(
      f"{path}: no such file or directory; expected a model on this machine, such as"
      " `hf download studio-ousia/luke-base --local-dir luke-base` makes"
    )
  if path.is_dir():
    yield _directory(path)
  elif path.name == TORCH:
    yield _directory(path.parent)
  elif tarfile.is_tarfile(path):
    with tempfile.TemporaryDirectory() as folder:
      _unpack(path, Path(folder))
      try:
        yield _directory(Path(folder))
      except InputError as fault:  # named by the archive, not by where it was unpacked
        raise InputError(str(fault).replace(folder, str(path))) from None
  else:
    raise InputError(f"{path}: expected a directory, an archive (tar) or a {TORCH}")


def _directory(path: Path) -> Source:
  if (path / "checkpoints").is_dir():
    told = f"{path}: the folder of a run; expected a model's"
    raise InputError(f"{told}, such as {path / 'model'} or what luke-jax export writes")
  if (path / CONFIG).exists():
    raw = json_files.read_json_object(path / CONFIG, "the config of a model")
    description = configs.parse_config(raw, path / CONFIG)
  elif (path / METADATA).exists():
    raw = json_files.read_json_object(path / METADATA, "the metadata of an archive")
    description = configs.parse_metadata(raw, path / METADATA)
  else:
    raise InputError(f"{path}: no {CONFIG} and no {METADATA}; expected the directory of a model")
  return Source(description, open_tensors(path), path)


def _unpack(archive: Path, folder: Path) -> None:
  """Copies the members that are known by name; paths in the archive are never followed."""
  try:
    with tarfile.open(archive) as tar:
      for member in tar:
        name = PurePosixPath(member.name).name
        source = tar.extractfile(member) if name in MEMBERS and member.isfile() else None
        if source:
          with source, (folder / name).open("wb") as target:
            shutil.copyfileobj(source, target)
  except (tarfile.TarError, EOFError, OSError) as fault:
    raise InputError(f"{archive}: not a whole archive ({fault})") from None
  if not (folder / METADATA).exists():
    raise InputError(f"{archive}: no {METADATA} inside; expected an archive of LUKE's authors")
