"""Reading of any model: whole ones and adapters, by a directory or by a name."""

from typing import Any

from luke_jax import english
from luke_jax.convert import hub
from luke_jax.convert.adapters import is_adapter_directory, read_adapter
from luke_jax.convert.loading import MakeHead, read_model
from luke_jax.convert.parts import ModelParts
from luke_jax.convert.published import PUBLISHED, published
from luke_jax.convert.sources import no_model
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.models.system import System
from luke_jax.models.table import system_named


def named_directory(path: Path) -> Path:
  """Returns the directory of a model by its name, such as english/ner, or a path that exists.

  Of models of the hub, hf://owner/name, it is that of one that was fetched before.
  """
  if path.exists():
    return path
  if hub.on_hub(path):
    return hub.fetched(path)
  if str(path) in PUBLISHED:
    return published(str(path))
  if path.parent == Path(english.NAME):
    return english.directory(path.name)
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
