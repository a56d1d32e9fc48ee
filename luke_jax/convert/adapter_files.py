"""Adapters as directories of their own: what training changed in a backbone, in a few megabytes.

A directory has config.json, adapter.safetensors and a model card. The backbone is known by the
SHA-256 of its weights.
"""

import dataclasses
import json
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np

from luke_jax.convert.card import OURS, model_card, with_record
from luke_jax.convert.changed_tensors import changed_tensors, with_changes
from luke_jax.convert.fine_tuning import fine_tuning_start
from luke_jax.convert.loading import MakeHead
from luke_jax.convert.parts import ENTITIES, ModelParts, Start
from luke_jax.convert.published import find_backbone
from luke_jax.convert.replacing import all_or_nothing
from luke_jax.convert.saving import write_config
from luke_jax.convert.sources import CONFIG, system_for
from luke_jax.convert.tensors import ADAPTER, read_safetensors, weights_hash, write_safetensors
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.heads.kinds import kind_of
from luke_jax.models.adapters import stays
from luke_jax.models.keys import Report, unflatten
from luke_jax.models.system import System
from luke_jax.text import json_files

PART = "adapter"  # of config.json, under this project's name
_ARRAYS: Any = weakref.WeakValueDictionary()  # of backbones, that models in memory share


def is_adapter_directory(path: Path) -> bool:
  """Returns whether a directory holds an adapter, which needs its backbone."""
  return (path / ADAPTER).is_file()


def save_adapter(model: ModelParts, path: str | Path) -> None:
  """Writes what training changed as a directory; no half-written file is left."""
  start = model.start
  if start is None:
    raise InputError("adapter: the model has none; expected one trained with optimizer.adapter")
  if Path(path).resolve() == start.directory.resolve():
    raise InputError(f"{path}: the adapter's backbone; expected another directory")
  before = _before(start, lambda *_: model.network.head, model.config, model.labels)
  if _text_side(before) != _text_side(model):
    raise InputError(f"adapter: words or entities were added to those of {start.directory}")
  backbone = {"name": start.directory.resolve().name, "sha256": weights_hash(start.directory)}
  additions = {"new_words": dict(start.new_words), "entities": start.entities}
  model = with_record(model, {"backbone": backbone, **additions}, PART)
  with all_or_nothing(Path(path)) as folder:
    write_safetensors(folder / ADAPTER, changed_tensors(model, before))
    (folder / "README.md").write_text(model_card(model, backbone), encoding="utf-8")
    write_config(model, folder)


def read_adapter(
  path: Path,
  *,
  backbone: Path | None = None,
  system: type[System] | None = None,
  head: MakeHead | None = None,
  **fields: Any,
) -> ModelParts:
  """Reads an adapter and its backbone as one model.

  The backbone is a directory on this machine; without one it is looked for among those that
  `luke-jax get` fetched. `system` is a user's own system, and `head` makes a user's own head.
  `fields` change how the model runs.
  """
  raw = json_files.read_json_object(path / CONFIG, "the config of an adapter")
  origin = _origin(raw, path / CONFIG)
  system = system_for(raw, path / CONFIG, system)
  described = system.described(raw, path / CONFIG)
  directory = backbone or find_backbone(origin["backbone"], path)
  _check_hash(directory, origin["backbone"], path)
  start = Start(directory, origin["new_words"], origin["entities"])
  kind = head or kind_of(system, described.architecture)
  model = _before(start, kind, described.config, described.labels, blank=True, **fields)
  arrays = with_changes(model, read_safetensors(path / ADAPTER), path / ADAPTER)
  arrays = {name: _shared(name, x, model, origin) for name, x in arrays.items()}
  # What the backbone was is in `start`: a whole model that is written of this one has no backbone.
  ours = {name: x for name, x in described.rest[OURS].items() if name != PART}
  rest = {**described.rest, OURS: ours}
  return dataclasses.replace(
    model, params=unflatten(arrays), rest=rest, report=Report(), start=start
  )


def _before(start: Start, head: Any, config: Any, labels: Any, **fields: Any) -> ModelParts:
  """Returns the model as it was before training, with a fresh head."""
  return fine_tuning_start(
    start.directory,
    head=head,
    labels=labels,
    new_words=start.new_words,
    entities=start.entities,
    system=type(config),
    trained=config,
    **fields,
  )


def _text_side(model: ModelParts) -> tuple[int, Mapping[str, int]]:
  """Returns the number of words and the ids of entities."""
  entities = model.processor.entity_vocab.ids if model.processor and model.backbone.entities else {}
  return model.config.vocab_size, entities


def _shared(path: str, array: np.ndarray, model: ModelParts, origin: Mapping[str, Any]) -> Any:
  """Returns the array that another adapter of the same backbone has in memory, if it has it."""
  if not stays(path, model.system):
    return array
  words = json.dumps(origin["new_words"])
  key = (path, array.shape, model.config.name, origin["backbone"]["sha256"], words)
  return _ARRAYS.setdefault(key, array)


def _origin(raw: Mapping[str, Any], config: Path) -> dict[str, Any]:
  """Returns the entries on the backbone, checked."""
  ours: Any = raw.get(OURS)
  try:
    origin = ours[PART]
    backbone, words = origin["backbone"], origin["new_words"]
    strings = [backbone["name"], backbone["sha256"], *words, *words.values()]
    if not all(isinstance(x, str) for x in strings) or origin["entities"] not in ENTITIES:
      raise TypeError
  except (TypeError, KeyError, AttributeError):
    raise InputError(f"{config}: no {OURS}.{PART}; expected the config of an adapter") from None
  return origin


def _check_hash(directory: Path, backbone: Mapping[str, str], path: Path) -> None:
  """Raises InputError for another backbone than that of the adapter."""
  found, expected = weights_hash(directory), backbone["sha256"]
  if found != expected:
    raise InputError(
      f"{path}: an adapter of {backbone['name']} (sha256 {expected[:12]}…), {directory} is another"
      f" model ({found[:12]}…); expected the same weights"
    )
