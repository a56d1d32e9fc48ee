"""Any model by a directory or a name: whole ones and adapters, in the box or on the hub.

Hugging Face's own client sends models to the hub, and fetches them on request.
"""

import contextlib
import re
import tempfile
from collections.abc import Iterator
from typing import Any, NamedTuple

from luke_jax import english
from luke_jax.convert.adapters import is_adapter_directory, read_adapter, save_adapter
from luke_jax.convert.loading import MakeHead, read_model
from luke_jax.convert.onnx import ONNX_FILES
from luke_jax.convert.parts import READER, ModelParts
from luke_jax.convert.published import PUBLISHED, published
from luke_jax.convert.saving import MODEL_FILES, save
from luke_jax.convert.sources import no_model
from luke_jax.convert.tensors import TORCH, Dtype
from luke_jax.errors import InputError, not_installed
from luke_jax.files import Path, read_json_object, sizes
from luke_jax.heads.linking import KNOWLEDGE
from luke_jax.models.system import System
from luke_jax.models.table import system_named, systems
from luke_jax.text.tokenizer_files import TOKENIZER_FILES, has_tokenizer

START = "hf://"
_PART = r"(?!\S*(?:--|\.\.))\w(?:[\w.-]{0,94}\w)?"  # of a name, by the hub's rules
_OWNED = re.compile(f"{_PART}/{_PART}", re.ASCII)
_PLACE = re.compile(rf"hf:/+({_OWNED.pattern})(?:@([\w./-]+))?", re.ASCII)  # of a Path: one slash
# What is read of a model; an archive of PyTorch only where there are no other weights.
WANTED = [*sorted(MODEL_FILES - {TORCH, *ONNX_FILES}), "model-*-of-*.safetensors"]
WANTED += [f"{READER}/{name}" for name in WANTED]
WANTED += [f"{KNOWLEDGE}/*", "*_config.json", *(f"*_tokenizer/{name}" for name in TOKENIZER_FILES)]


class Sent(NamedTuple):
  """Files of a model that were sent to the hub, or would be, with their sizes in bytes."""

  address: str  # "" where nothing was sent
  files: dict[str, int]


def on_hub(path: object) -> bool:
  """Returns whether a path names a model of the hub: hf://owner/name, perhaps with @revision."""
  return str(path).startswith("hf:/")


def push(
  model: ModelParts,
  name: str,
  *,
  public: bool = False,
  adapter: bool = False,
  dtype: Dtype = "float32",
  dry_run: bool = False,
) -> Sent:
  """Sends what `save` writes of a model to the hub, as owner/name.

  A new one is private unless it is to be public; one that is there stays what it is. Files of an
  earlier model that this one lacks are removed there. A dry run sends nothing.
  """
  if not _OWNED.fullmatch(name):
    raise InputError(f"{name!r}: expected owner/name, as the hub calls models")
  with tempfile.TemporaryDirectory(prefix="luke-jax-") as temporary:
    folder = Path(temporary) / "model"
    if adapter:
      save_adapter(model, folder)
    else:
      save(model, folder, dtype=dtype)
    files = sizes(folder)
    if dry_run:
      return Sent("", files)
    with _of_hub(name) as api:
      place = api.create_repo(name, private=not public, exist_ok=True)
      api.upload_folder(
        repo_id=name,
        folder_path=str(folder),
        commit_message=f"Upload {model.architecture}",
        delete_patterns=sorted(MODEL_FILES),
      )
  return Sent(str(place), files)


def fetch(place: str | Path) -> Path:
  """Fetches a model of the hub into Hugging Face's cache, and returns its directory there."""
  name, revision = _named(place)
  with _of_hub(name) as api:
    directory = Path(api.snapshot_download(name, revision=revision, allow_patterns=WANTED))
    if not any(directory.glob("*.safetensors")):
      api.snapshot_download(name, revision=revision, allow_patterns=[TORCH])
    for folder, source in _lacking(directory).items():
      api.snapshot_download(source, local_dir=folder, allow_patterns=[*TOKENIZER_FILES])
    return directory


def _lacking(directory: Path) -> dict[Path, str]:
  """Returns the folders of tokenizers that a model's files lack, with the models that have them."""
  found: dict[Path, str] = {}
  for system in systems():
    config = directory / (system.released_config[0] or ".")
    if config.is_file():
      raw = read_json_object(config, "the config of a model")
      sources = system.tokenizers_elsewhere.items()
      found |= {directory / folder: str(raw.get(field)) for folder, field in sources}
  return {x: y for x, y in found.items() if _OWNED.fullmatch(y) and not has_tokenizer(x)}


def fetched(place: str | Path) -> Path:
  """Returns the directory of a model of the hub that was fetched before, without a network."""
  name, revision = _named(place)
  with _of_hub(name) as api:
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
      here = {"allow_patterns": WANTED, "local_files_only": True}
      return Path(api.snapshot_download(name, revision=revision, **here))
    except LocalEntryNotFoundError:
      again = START + name + (f"@{revision}" if revision else "")
      raise InputError(
        f"{again}: not on this machine; expected `luke-jax get {again}` before, or in Python"
        " download=True"
      ) from None


def _named(place: str | Path) -> tuple[str, str | None]:
  """Returns owner/name and the revision of hf://owner/name@revision."""
  found = _PLACE.fullmatch(str(place))
  if not found:
    raise InputError(f"{place}: expected {START}owner/name, or {START}owner/name@revision")
  return found[1], found[2]


@contextlib.contextmanager
def _of_hub(name: str) -> Iterator[Any]:
  """Yields the hub's client; what it raises becomes an InputError of one line."""
  try:
    from huggingface_hub import HfApi, errors
  except ImportError:
    raise not_installed("huggingface_hub", "to reach the hub", "hub") from None
  # Its HTTP library, which is another one in each of its majors, has an error of its own.
  of_network: Any = (errors.OfflineModeIsEnabled, OSError, *errors.HfHubHTTPError.__bases__)
  try:
    yield HfApi(library_name="luke_jax")
  except errors.RepositoryNotFoundError:
    expected = "expected its name there, and for a private one HF_TOKEN or hf auth login"
    raise InputError(f"{START}{name}: not found; {expected}") from None
  except errors.RevisionNotFoundError:
    raise InputError(f"{START}{name}: no such revision; expected one of the hub") from None
  except of_network as fault:
    status = getattr(getattr(fault, "response", None), "status_code", None)
    expected = "a network" if status is None else "a right to do so, by HF_TOKEN or hf auth login"
    reason = (str(fault).splitlines() or [repr(fault)])[0]
    raise InputError(f"{START}{name}: {reason}; expected {expected}") from None


def named_directory(path: Path) -> Path:
  """Returns the directory of a model by its name, such as english/ner, or a path that exists.

  Of models of the hub, hf://owner/name, it is that of one that was fetched before.
  """
  if path.exists():
    return path
  if on_hub(path):
    return fetched(path)
  if str(path) in PUBLISHED:
    return published(str(path))
  if str(path.parent) in english.BOXES:
    return english.directory(path.name, str(path.parent))
  raise no_model(path)


def read(
  path: str | Path,
  *,
  backbone: str | Path | None = None,
  system: type[System] | str | None = None,
  head: str | MakeHead | None = None,
  seed: int = 0,
  **options: Any,
) -> ModelParts:
  """Reads a whole model as `read_model` does, or an adapter and its backbone."""
  path = named_directory(Path(path))
  if not is_adapter_directory(path):
    if backbone is not None:
      raise InputError(f"backbone: {backbone}; expected none, for {path} is a whole model")
    return read_model(path, system=system, head=head, seed=seed, **options)
  for name in ("labels", "tokenizer", "entity_vocab", "as_encoder"):
    if options.pop(name, None) not in (None, False):
      raise InputError(f"{name}: {path} is an adapter, which has its own; expected none")
  if isinstance(head, str):
    raise InputError(f"head: {head!r}; expected none, for {path} is an adapter with its own")
  directory = None if backbone is None else named_directory(Path(backbone))
  if isinstance(system, str):
    system = system_named(system)
  return read_adapter(path, backbone=directory, system=system, head=head, **options)
