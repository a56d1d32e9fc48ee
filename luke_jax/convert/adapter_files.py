"""Adapters as directories of their own: what training changed in a backbone, in a few megabytes.

A directory has config.json, adapter.safetensors and a model card. Large arrays are kept in 8 bits
with a scale for each row, small ones in 16; those that the backbone has too as differences. The
backbone is known by the SHA-256 of its weights.
"""

import dataclasses
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from luke_jax.convert.card import OURS, model_card
from luke_jax.convert.fine_tuning import fine_tuning_start
from luke_jax.convert.loading import MakeHead
from luke_jax.convert.parts import ENTITIES, ModelParts, Start
from luke_jax.convert.published import find_backbone
from luke_jax.convert.saving import all_or_nothing
from luke_jax.convert.sources import CONFIG, family_for
from luke_jax.convert.tensors import ADAPTER, read_safetensors, weights_hash, write_safetensors
from luke_jax.errors import InputError
from luke_jax.models.adapters import is_adapter, stays
from luke_jax.models.family import Described
from luke_jax.models.keys import flatten, places, unflatten
from luke_jax.text import json_files

PART = "adapter"  # of config.json, under this project's name
VALUE, CHANGE, SCALE = "value/", "change/", "scale/"  # before the paths of arrays
LARGE = 4096  # numbers of an array from which it is kept in 8 bits


def is_adapter_directory(path: Path) -> bool:
  """Returns whether a directory holds an adapter, which needs its backbone."""
  return (path / ADAPTER).is_file()


def save_adapter(model: ModelParts, path: str | Path) -> None:
  """Writes what training changed as a directory; no half-written file is left."""
  start = model.start
  if start is None:
    raise InputError("adapter: the model has none; expected one trained with optimizer.adapter")
  before = _before(start, lambda *_: model.network.head, model.config, model.labels)
  if _text_side(before) != _text_side(model):
    raise InputError(f"adapter: words or entities were added to those of {start.directory}")
  backbone = {"name": start.directory.resolve().name, "sha256": weights_hash(start.directory)}
  origin = {"backbone": backbone, **start.additions()}
  ours = {**model.rest.get(OURS, {}), PART: origin}
  described = Described(
    model.config, model.architecture, model.labels, model.num_labels, {**model.rest, OURS: ours}
  )
  with all_or_nothing(Path(path)) as folder:
    write_safetensors(folder / ADAPTER, _tensors(model, before))
    (folder / "README.md").write_text(model_card(model), encoding="utf-8")
    content = model.family.write_config(described)
    text = json.dumps(content, indent=2, ensure_ascii=False, sort_keys=True)
    (folder / CONFIG).write_text(text + "\n", encoding="utf-8")


def read_adapter(
  path: Path, *, backbone: Path | None = None, head: MakeHead | None = None, **fields: Any
) -> ModelParts:
  """Reads an adapter and its backbone as one model.

  The backbone is a directory on this machine; without one it is looked for among those that
  `luke-jax get` fetched. `head` makes a user's own head. `fields` change how the model runs.
  """
  raw = json_files.read_json_object(path / CONFIG, "the config of an adapter")
  origin = _origin(raw, path / CONFIG)
  family = family_for(raw, path / CONFIG, None)
  described = family.read_config(raw, path / CONFIG)
  directory = backbone or find_backbone(origin["backbone"], path)
  _check_hash(directory, origin["backbone"], path)
  start = Start(directory, origin["new_words"], origin["entities"])
  kind = head or family.kind_of(described.architecture)
  model = _before(start, kind, described.config, described.labels, **fields)
  arrays = _arrays(model, read_safetensors(path / ADAPTER), path / ADAPTER)
  return dataclasses.replace(
    model, params=unflatten(arrays), rest=described.rest, report=type(model.report)(), start=start
  )


def _before(start: Start, head: Any, config: Any, labels: Any, **fields: Any) -> ModelParts:
  """Returns the model as it was before training, with a fresh head."""
  return fine_tuning_start(
    start.directory,
    head=head,
    labels=labels,
    new_words=start.new_words,
    entities=start.entities,
    family=config.family,
    trained=config,
    **fields,
  )


def _text_side(model: ModelParts) -> tuple[int, Mapping[str, int]]:
  """Returns the number of words and the ids of entities."""
  entities = model.processor.entity_vocab.ids if model.processor and model.backbone.entities else {}
  return model.config.vocab_size, entities


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


def _fresh(before: ModelParts) -> set[str]:
  """Returns the paths of the arrays that the backbone's files lack."""
  table, missing = before.family.keys(before.kind), set(before.report.missing)
  leaves = flatten(before.params)
  return {
    path for path, x in leaves.items() if next(places(table.key(path), x.shape))[0] in missing
  }


def _tensors(model: ModelParts, before: ModelParts) -> Iterator[tuple[str, np.ndarray]]:
  """Yields the tensors of the file; of arrays that did not change there are none."""
  old, fresh = flatten(before.params), _fresh(before)
  for path, array in sorted(flatten(model.params).items()):
    x = np.asarray(array, np.float32)
    if path in fresh or is_adapter(path):
      yield from _stored(VALUE, path, x)
    elif stays(path, model.family):
      if not np.array_equal(x, old[path]):
        raise InputError(f"adapter: {path} is not that of {model.start}; expected it unchanged")
    elif not np.array_equal(x, old[path]):
      yield from _stored(CHANGE, path, x - old[path])


def _stored(part: str, path: str, x: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
  """Yields an array in 16 bits, or in 8 with its scales, one for a row along the longest axis."""
  if x.size < LARGE or x.ndim < 2:
    yield f"{part}{path}", x.astype(np.float16)
    return
  axis = -1 if x.shape[-1] >= x.shape[-2] else -2
  scale = np.maximum(np.abs(x).max(axis, keepdims=True), 1e-12) / 127
  yield f"{part}{path}", np.rint(x / scale).astype(np.int8)
  yield f"{SCALE}{path}", scale.astype(np.float32)


def _arrays(
  before: ModelParts, tensors: Mapping[str, np.ndarray], file: Path
) -> dict[str, np.ndarray]:
  """Returns the parameters with what the file holds."""
  leaves: Any = flatten(before.params)
  missing = _fresh(before)
  for name, tensor in tensors.items():
    part, _, path = name.partition("/")
    x = tensor.astype(np.float32) * tensors.get(f"{SCALE}{path}", np.float32(1))
    if f"{part}/" == CHANGE and path in leaves and leaves[path].shape == x.shape:
      leaves[path] = leaves[path] + x
    elif f"{part}/" == VALUE and (is_adapter(path) or leaves[path].shape == x.shape):
      leaves[path] = x
    elif f"{part}/" != SCALE:
      raise InputError(f"{file}: {name}: {x.shape}; expected the arrays of {before.architecture}")
    missing.discard(path)
  if missing:
    raise InputError(f"{file}: no {min(missing)}; expected all that the backbone lacks")
  return leaves
