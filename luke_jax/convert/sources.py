"""Sources of models: a Hugging Face directory, or an archive of LUKE's authors."""

import contextlib
import dataclasses
import difflib
import functools
import re
import shutil
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from luke_jax.convert.paddle import ARCHIVE_END
from luke_jax.convert.published import PUBLISHED
from luke_jax.convert.tensors import ADAPTER, TORCH, Tensors, open_tensors
from luke_jax.errors import InputError, at
from luke_jax.files import Path, check_regular, read_json_object
from luke_jax.files.copies import local
from luke_jax.models.system import NONE, Backbone, Described, System
from luke_jax.models.table import PLACES, system_of, systems
from luke_jax.text.entity_vocab import SPECIAL_ENTITIES

CONFIG, METADATA = "config.json", "metadata.json"
MEMBERS = (METADATA, "entity_vocab.tsv", "entity_vocab.jsonl", TORCH)
# Owners on Hugging Face's hub of models that people call by their names alone.
_OWNERS = {"luke": "studio-ousia", "mluke": "studio-ousia", "bert": "google-bert"}
_OWNERS |= {"roberta": "FacebookAI", "xlm": "FacebookAI", "distilbert": "distilbert"}
_OWNERS |= {"electra": "google", "deberta": "microsoft"}
_EXAMPLE = "studio-ousia/luke-base", "luke-base"


@dataclasses.dataclass(frozen=True)
class ModelFiles:
  """Files of a model. `directory` also holds those of its text side."""

  system: type[System]
  described: Described
  tensors: Tensors
  directory: Path
  archive: bool = False  # of the authors, as they pretrained it


@contextlib.contextmanager
def open_source(
  path: Path, system: type[System] | None = None, *, as_encoder: bool = False
) -> Iterator[ModelFiles]:
  """Opens the files of a model: a directory, an archive, or a weights file with its companions.

  They are read as those of `system`, or else of the system that its config.json names; decoders
  are refused, or read `as_encoder`.
  """
  if not path.exists():
    raise no_model(path)
  if not path.is_dir():
    check_regular(path)
  if path.is_dir():
    yield _directory(path, system, as_encoder)
  elif path.name == TORCH or path.name.endswith(ARCHIVE_END):
    yield _directory(path.parent, system, as_encoder)
  elif tarfile.is_tarfile(local(path)):
    with tempfile.TemporaryDirectory() as folder:
      _unpack(path, Path(folder))
      try:
        yield _directory(Path(folder), system, as_encoder)
      except InputError as fault:  # named by the archive, not by where it was unpacked
        raise InputError(str(fault).replace(folder, str(path))) from None
  else:
    raise InputError(
      f"{path}: expected a directory, an archive (tar), a {TORCH} or a {ARCHIVE_END}"
    )


def read_backbone(directory: Path, system: type[System] | None = None) -> Backbone:
  """Returns the backbone that a directory's config.json describes.

  Weights are read only if it has no sizes. One of a `system` that starts from the files of another
  one has the special entities.
  """
  _check_config(directory)
  raw = read_json_object(directory / CONFIG, "the config of a model")
  system = system_for(raw, directory / CONFIG, system)
  if "vocab_size" not in raw:
    raw = _completed(raw, open_tensors(directory, system.keys(NONE)), directory / CONFIG)
  config = system.described(raw, directory / CONFIG).config
  if raw.get("model_type") in system.starts_from:
    config = config.with_entities(len(SPECIAL_ENTITIES), SPECIAL_ENTITIES.pad_id)
  return Backbone(config)


def _directory(path: Path, system: type[System] | None, as_encoder: bool) -> ModelFiles:
  if (path / "checkpoints").is_dir():
    raise InputError(
      f"{path}: the folder of a run; expected a model's, such as {path / 'model'} or what luke-jax"
      " export writes"
    )
  check_regular(path / ADAPTER)
  if (path / ADAPTER).exists():
    raise InputError(
      f"{path}: an adapter; expected a whole model, which `luke-jax convert {path} DIRECTORY` makes"
    )
  if (path / CONFIG).exists():
    raw = read_json_object(path / CONFIG, "the config of a model")
    system = system_for(raw, path / CONFIG, system)
    tensors = open_tensors(path, system.keys(NONE))
    raw = _completed(raw, tensors, path / CONFIG)
    described = system.described(raw, path / CONFIG, as_encoder=as_encoder)
    return ModelFiles(system, described, tensors, path)
  if (path / METADATA).exists():
    raw = read_json_object(path / METADATA, "the metadata of an archive")
    system, described = _of_archive(raw, path / METADATA, system)
    archive = True
  else:
    system, raw, config = _released(path, system)
    described, archive = system.described(raw, config, as_encoder=as_encoder), False
  return ModelFiles(system, described, open_tensors(path, system.keys(NONE)), path, archive)


def _check_config(path: Path) -> None:
  """Raises InputError for a path that is no directory with the config of a model."""
  if (path / CONFIG).exists():
    return
  if not path.exists():
    raise no_model(path)
  released = (system.released_config[0] for system in systems())
  if path.is_dir() and not any((path / name).exists() for name in (METADATA, *released) if name):
    raise no_model(path, f"no {CONFIG}")
  raise InputError(
    f"{path}: no {CONFIG}; expected a model's directory, which `luke-jax convert SOURCE DIRECTORY`"
    " makes of the files of a model's authors"
  )


def _completed(raw: dict[str, object], tensors: Tensors, path: Path) -> dict[str, object]:
  """Returns the entries of a config.json, with those that it leaves to tensors of other names."""
  if tensors.naming is None:
    return raw
  readers = {name: functools.partial(tensors.read, name) for name in tensors.names}
  with at(path):
    return tensors.naming.described(raw, readers)


def _of_archive(
  raw: dict[str, object], path: Path, system: type[System] | None
) -> tuple[type[System], Described]:
  """Returns the system of an archive, and what its metadata describes."""
  for other in systems() if system is None else (system,):
    if described := other.read_archive(raw, path):
      return other, described
  raise InputError(f"{path}: of an archive of LUKE; expected a {CONFIG}")


def _released(
  path: Path, system: type[System] | None
) -> tuple[type[System], dict[str, object], Path]:
  """Returns the system of a directory as its authors published it, and its config file."""
  for other in systems() if system is None else (system,):
    name, entry = other.released_config
    if name and (path / name).exists():
      raw = read_json_object(path / name, "the config of a model")
      if entry in raw:
        return other, raw, path / name
  raise no_model(path, f"no {CONFIG} and no {METADATA}")


def system_for(raw: Mapping[str, object], path: Path, system: type[System] | None) -> type[System]:
  """Returns the system that a config.json is read as."""
  kind = raw.get("model_type")
  if system is None:
    own = "or one of your own, by its experiment file or as `system`"
    chosen, types = system_of(kind), (*PLACES, own)
  else:
    types = (*system.model_types, *system.starts_from)
    chosen = system if kind in types else None
  if chosen is None:
    raise InputError(f"{path}: model_type: {kind!r}; expected one of {', '.join(types)}")
  return chosen


def _unpack(archive: Path, folder: Path) -> None:
  """Copies the members that are known by name; paths in the archive are never followed."""
  try:
    with tarfile.open(local(archive)) as tar:
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


def no_model(path: Path, fault: str = "no such file or directory") -> InputError:
  """Returns the error for a path without a model, with the commands that get one."""
  on_hub, directory = _on_hub(path)
  names = dict.fromkeys(model.name for model in PUBLISHED.values())
  models = ", ".join(f"{name}, which `luke-jax get {name}` fetches" for name in names)
  near = difflib.get_close_matches(str(path), PUBLISHED, n=1)
  hint = f"; perhaps {near[0]}" if near else ""
  return InputError(
    f"{path}: {fault}; expected a model's directory, such as `hf download {on_hub} --local-dir"
    f" {directory}` makes, hf://{on_hub}, which `luke-jax get` or download=True fetches, or"
    f" {models}{hint}"
  )


def _on_hub(path: Path) -> tuple[str, str]:
  """Returns the name that a path probably is on the hub, with a directory for it; or an example."""
  text = str(path)
  if re.fullmatch(r"\w[\w-]*/[\w.-]+", text) and not path.parent.exists():
    return text, text
  owner = _OWNERS.get(text.partition("-")[0]) if re.fullmatch(r"\w+(-[\w.]+)+", text) else None
  return (f"{owner}/{text}", text) if owner else _EXAMPLE
