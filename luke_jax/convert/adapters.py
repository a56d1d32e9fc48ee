"""Adapters as directories of their own: what training changed in a backbone, in a few megabytes.

A directory has config.json, adapter.safetensors and a model card. The backbone is known by the
SHA-256 of its weights.
"""

import dataclasses
import json
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from luke_jax.convert.card import OURS, model_card, with_record
from luke_jax.convert.fine_tuning import fine_tuning_start
from luke_jax.convert.loading import MakeHead
from luke_jax.convert.parts import ENTITIES, ModelParts, Start
from luke_jax.convert.published import PUBLISHED, WEIGHTS, check_texts, find_backbone
from luke_jax.convert.saving import all_or_nothing, write_config
from luke_jax.convert.sources import CONFIG, system_for
from luke_jax.convert.tensors import (
  ADAPTER,
  Stored,
  has_checksums,
  lazy_safetensors,
  read_safetensors,
  weights_hash,
  write_safetensors,
)
from luke_jax.errors import InputError
from luke_jax.files import Path, read_json_object
from luke_jax.heads.kinds import heads_of, kind_of
from luke_jax.models.adapters import add_adapters, is_adapter, stays
from luke_jax.models.config_files import check_finite
from luke_jax.models.head import SavedHead
from luke_jax.models.keys import LoadReport, flatten, places, unflatten
from luke_jax.models.system import NONE, Described, System
from luke_jax.nn import layers

PART = "adapter"  # of config.json, under this project's name
_ARRAYS: weakref.WeakValueDictionary[tuple, np.ndarray] = (
  weakref.WeakValueDictionary()
)  # of backbones, that models in memory share
VALUE, CHANGE, SCALE = "value/", "change/", "scale/"  # before the paths of arrays
LEAST_NUMBERS_IN_8_BITS = 4096  # numbers of an array from which it is kept in 8 bits


def is_adapter_directory(path: Path) -> bool:
  """Returns whether a directory holds an adapter, which needs its backbone."""
  return (path / ADAPTER).is_file()


def save_adapter(model: ModelParts, path: str | Path) -> None:
  """Writes the parameters that training changed as a directory; no half-written file is left."""
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
  head = model.network.head
  with all_or_nothing(Path(path)) as folder:
    write_safetensors(folder / ADAPTER, changed_tensors(model, before))
    (folder / "README.md").write_text(model_card(model, backbone), encoding="utf-8")
    write_config(model, folder, **({} if head is None else head.write(folder)))


def read_adapter(
  path: Path,
  *,
  backbone: Path | None = None,
  system: type[System] | None = None,
  head: MakeHead | None = None,
  **fields: object,
) -> ModelParts:
  """Reads an adapter and its backbone as one model.

  The backbone is a directory on this machine; without one it is looked for among those that
  `luke-jax get` fetched. `system` is a user's own system, and `head` makes a user's own head.
  `fields` change how the model runs.
  """
  raw = read_json_object(path / CONFIG, "the config of an adapter")
  origin = _origin(raw, path / CONFIG)
  system = system_for(raw, path / CONFIG, system)
  described = system.described(raw, path / CONFIG)
  directory = backbone or find_backbone(origin["backbone"], path)
  _check_hash(directory, origin["backbone"], path)
  start = Start(directory, origin["new_words"], origin["entities"])
  readers = lazy_safetensors(path / ADAPTER)
  make = head or _head_of(path, system, described, readers)
  model = _before(start, make, described.config, described.labels, blank=True, **fields)
  _check_size(model, path / ADAPTER)
  tensors = {name: read() for name, read in readers.items()}
  if not has_checksums(path / ADAPTER):
    _check_complete(model, tensors, path / ADAPTER)
  arrays = with_changes(model, tensors, path / ADAPTER)
  arrays = {name: _shared(name, x, model, origin) for name, x in arrays.items()}
  # What the backbone was is in `start`: a whole model that is written of this one has no backbone.
  ours = {name: x for name, x in described.rest[OURS].items() if name != PART}
  rest = {**described.rest, OURS: ours}
  return dataclasses.replace(
    model, params=unflatten(arrays), rest=rest, report=LoadReport(), start=start
  )


def _head_of(
  path: Path, system: type[System], described: Described, tensors: Mapping[str, Stored]
) -> MakeHead | None:
  """Returns a function that makes the head that an adapter's files describe, if it has one."""
  kind = kind_of(system, described.architecture)
  if kind is None or kind == NONE:
    return None
  table = system.keys(kind)
  own = [(name.removeprefix(VALUE), x) for name, x in tensors.items() if name.startswith(VALUE)]
  named = (places(table.key(key), x.shape) for key, x in own)
  names = frozenset(name for of_one in named for name, *_ in of_one)
  saved = SavedHead(described.num_labels, described.rest, names, path)
  return lambda backbone, _: heads_of(system)[kind].saved(backbone, saved)


def adapter_backbone(path: Path) -> Path:
  """Returns the directory of an adapter's backbone, if it is a published model."""
  raw = read_json_object(path / CONFIG, "the config of an adapter")
  backbone = _origin(raw, path / CONFIG)["backbone"]
  if all(model.files[WEIGHTS] != backbone["sha256"] for model in PUBLISHED.values()):
    raise InputError(
      f"{path}: an adapter of {backbone['name']}, which luke-jax get does not know; expected it in"
      f" the folder of its run, or what `luke-jax convert {path} DIRECTORY --backbone …` makes"
    )
  return find_backbone(backbone, path)


def adapter_rank(path: Path) -> int:
  """Returns the rank of the matrices of an adapter."""
  return _rank(read_safetensors(path / ADAPTER))


def _before(
  start: Start, head: Any, config: System, labels: Sequence[str], **fields: Any
) -> ModelParts:
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


def _shared(
  path: str, array: np.ndarray, model: ModelParts, origin: Mapping[str, Any]
) -> np.ndarray:
  """Returns the array that another adapter of the same backbone has in memory, if it has it."""
  if not stays(path, model.system):
    return array
  words = json.dumps(origin["new_words"])
  key = (path, array.shape, model.config.name, origin["backbone"]["sha256"], words)
  return _ARRAYS.setdefault(key, array)


def _origin(raw: Mapping[str, object], config: Path) -> dict[str, Any]:
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
  actual, expected = weights_hash(directory), backbone["sha256"]
  if actual != expected:
    raise InputError(
      f"{path}: an adapter of {backbone['name']} (sha256 {expected[:12]}…), {directory} is another"
      f" model ({actual[:12]}…); expected the same weights"
    )
  check_texts(directory, actual)


def _fresh(before: ModelParts) -> set[str]:
  """Returns the paths of the arrays that the backbone's files lack."""
  table, missing = before.system.keys(before.kind), set(before.report.missing)
  leaves = flatten(before.params)
  return {
    path for path, x in leaves.items() if next(places(table.key(path), x.shape))[0] in missing
  }


def changed_tensors(model: ModelParts, before: ModelParts) -> Iterator[tuple[str, np.ndarray]]:
  """Yields the tensors of the file; of arrays that did not change there are none."""
  old, fresh = flatten(before.params), _fresh(before)
  for path, array in sorted(flatten(model.params).items()):
    x = np.asarray(array, np.float32)
    if path in fresh or is_adapter(path):
      yield from _stored(VALUE, path, x)
    elif stays(path, model.system):
      if not np.array_equal(x, old[path]):
        backbone = model.start and model.start.directory
        raise InputError(f"adapter: {path} is not that of {backbone}; expected it unchanged")
    elif not np.array_equal(x, old[path]):
      yield from _stored(CHANGE, path, x - old[path])


def _stored(part: str, path: str, x: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
  """Yields an array in 16 bits, or in 8 with its scales, one for a row along the longest axis."""
  if x.size < LEAST_NUMBERS_IN_8_BITS or x.ndim < 2:
    yield f"{part}{path}", x.astype(np.float16)
    return
  axis = -1 if x.shape[-1] >= x.shape[-2] else -2
  scale = np.maximum(np.abs(x).max(axis, keepdims=True), 1e-12) / 127
  yield f"{part}{path}", np.rint(x / scale).astype(np.int8)
  yield f"{SCALE}{path}", scale.astype(np.float32)


def with_changes(
  before: ModelParts, tensors: Mapping[str, np.ndarray], file: Path
) -> dict[str, np.ndarray]:
  """Returns the parameters with what the file holds."""
  leaves: Any = flatten(before.params)
  expected = _with_adapters(before, tensors)
  missing = _fresh(before) | (expected.keys() - leaves.keys())
  _check_scales(tensors, file)
  for name, tensor in tensors.items():
    part, _, path = name.partition("/")
    if f"{part}/" == SCALE:
      continue
    if path not in expected or expected[path].shape != tensor.shape:
      arrays = f"the arrays of {before.architecture}"
      raise InputError(f"{file}: {name}: {tensor.shape}; expected {arrays}")
    x = tensor.astype(np.float32) * _scale(tensors, path, tensor.shape, file)
    check_finite(f"{file}: {name}", x)
    leaves[path] = leaves[path] + x if f"{part}/" == CHANGE else x
    missing.discard(path)
  if missing:
    raise InputError(f"{file}: no {min(missing)}; expected all that the backbone lacks")
  return leaves


def _check_size(before: ModelParts, file: Path) -> None:
  """Raises InputError for a file of more than a model and an adapter of all its matrices."""
  most = 2 * sum(x.nbytes for x in flatten(before.params).values()) + 2**20
  if file.stat().st_size > most:
    expected = f"expected an adapter of {before.architecture}, at most {most:,}"
    raise InputError(f"{file}: {file.stat().st_size:,} bytes; {expected}")


def _check_complete(before: ModelParts, tensors: Mapping[str, np.ndarray], file: Path) -> None:
  """Raises InputError where an array is not among the changes, as every one changes in a training.

  A file with checksums says by itself what it lacks.
  """
  there = {name.partition("/")[2] for name in tensors}
  trained = {path for path in flatten(before.params) if not stays(path, before.system)}
  if lost := sorted(trained - there):
    raise InputError(
      f"{file}: no checksums, and no {lost[0]}; expected all arrays that a training changes"
    )


def _check_scales(tensors: Mapping[str, np.ndarray], file: Path) -> None:
  """Raises InputError for a tensor in 8 bits without its scales, and for scales of none."""
  complete = {
    name.partition("/")[2]: x.dtype == np.int8
    for name, x in tensors.items()
    if not name.startswith(SCALE)
  }
  scaled = {name.removeprefix(SCALE) for name in tensors if name.startswith(SCALE)}
  astray = sorted(scaled ^ {path for path, narrow in complete.items() if narrow})
  if astray:
    what = "no tensor for it" if astray[0] in scaled else "missing"
    raise InputError(f"{file}: {SCALE}{astray[0]}: {what}; expected scales of each in 8 bits")


def _with_adapters(before: ModelParts, tensors: Mapping[str, np.ndarray]) -> dict[str, Any]:
  """Returns the shapes of all parameters, with adapters of the rank that the first tensor has."""
  rank, key = _rank(tensors), jax.random.key(0)
  return flatten(jax.eval_shape(lambda x: add_adapters(x, before.system, rank, key), before.params))


def _rank(tensors: Mapping[str, np.ndarray]) -> int:
  names = [
    name for name in tensors if name.endswith(f"/{layers.ADAPTER[0]}") and tensors[name].ndim
  ]
  return tensors[names[0]].shape[-1] if names else 1


def _scale(
  tensors: Mapping[str, np.ndarray], path: str, shape: tuple[int, ...], file: Path
) -> np.ndarray:
  scale = tensors.get(f"{SCALE}{path}", np.ones([1] * len(shape), np.float32))
  if scale.ndim != len(shape) or any(
    n not in (1, m) for n, m in zip(scale.shape, shape, strict=True)
  ):
    raise InputError(f"{file}: {SCALE}{path}: {scale.shape}; expected one for each row of {shape}")
  return scale
