"""Reading, checking and writing of a config.json: what is the same for all systems."""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from luke_jax.errors import InputError, at
from luke_jax.files import Path

if TYPE_CHECKING:
  from luke_jax.models.system import Described
import json

Config = TypeVar("Config")

# Nothing else has a default that fits every released model.
REQUIRED = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads")
REQUIRED += ("intermediate_size", "max_position_embeddings", "type_vocab_size", "layer_norm_eps")
_WRITTEN = ("id2label", "label2id", "architectures", "model_type")
Fixed = Mapping[str, Any]
# Those that an encoder has not.
OF_DECODERS: Fixed = {"is_decoder": False, "add_cross_attention": False}
# Of transformers, in any of its versions.
OF_TRANSFORMERS: Fixed = {
  **OF_DECODERS,
  "is_encoder_decoder": False,
  "position_embedding_type": "absolute",
  "pruned_heads": {},
  "per_layer_config": {},
  "quantization_config": {},
}
# Of transformers' and PaddleNLP's ERNIE; with tasks it is an ERNIE 2 or 3.
OF_ERNIE: Fixed = {**OF_TRANSFORMERS, "use_task_id": False, "pool_act": "tanh"}
# TENER has transformers' form of a file only.
OF_TENER: Fixed = {**OF_TRANSFORMERS, "hidden_act": "relu"}
# How a model that reads from left to right is read as an encoder.
BY_REQUEST = "`luke-jax convert --as-encoder` or as_encoder=True of luke_jax.load"
_NOTES = {
  **dict.fromkeys(OF_DECODERS, f"; {BY_REQUEST} reads a decoder as an encoder"),
  "use_task_id": "; an ERNIE 2 or 3 has another value, an ERNIE 1.0 this one",
}
if TYPE_CHECKING:
  from luke_jax.models.system import System

_IDS = ("pad_token_id", "bos_token_id", "eos_token_id")
_MOST_ID = 2**31 - 1  # ids are 32-bit
_MOST_LAYERS = 10_000  # each is looked for among the tensors


def check_members(kind: type, needed: Sequence[str], what: str, contract: str) -> None:
  """Raises InputError for a class that lacks members that an abstract class asks for."""
  lacking = [name for name in needed if _is_missing(getattr(kind, name, None))]
  if lacking:
    raise InputError(
      f"{what} {kind.__name__}: no {', '.join(lacking)}; expected all that {contract} leaves to a"
      f" {what}: {', '.join(needed)}"
    )


def _is_missing(member: object) -> bool:
  return member in (None, ()) or getattr(member, "__isabstractmethod__", False)


def check_config(config: "System", may_be_zero: tuple[str, ...] = ()) -> None:
  """Raises InputError for a field of another type than declared, or out of its range."""
  check_fields(config, may_be_zero)
  if config.num_hidden_layers > _MOST_LAYERS:
    raise InputError(
      f"num_hidden_layers: {config.num_hidden_layers}; expected {_MOST_LAYERS} at most"
    )
  if config.hidden_size % config.num_attention_heads:
    raise InputError(
      f"hidden_size: {config.hidden_size}; expected a multiple of num_attention_heads,"
      f" {config.num_attention_heads}"
    )


def check_fields(value: Any, may_be_zero: tuple[str, ...] = ()) -> None:
  """Raises InputError for a field of a dataclass that its declared type does not allow."""
  kinds = get_type_hints(type(value))
  for name in (field.name for field in dataclasses.fields(value)):
    _check(name, getattr(value, name), kinds[name], least=0 if name in (*may_be_zero, *_IDS) else 1)


def _check(name: str, value: object, kind: object, least: int) -> None:
  optional = NoneType in get_args(kind)
  if optional and value is None:
    return
  if optional:
    (kind,) = (k for k in get_args(kind) if k is not NoneType)
    least = 0
  expected = None
  if get_origin(kind) is Literal:
    if value not in get_args(kind):
      expected = f"one of {', '.join(map(repr, get_args(kind)))}"
  elif kind is int:
    if type(value) is not int or not least <= value <= _MOST_ID:
      expected = f"a whole number from {least} to {_MOST_ID}"
  elif kind is float:
    most = 1.0 if "dropout" in name else math.inf
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 <= value < most:
      expected = "a number from 0" + (" to below 1" if most == 1.0 else "")
  elif kind is bool and type(value) is not bool:
    expected = "true or false"
  elif kind is str and not isinstance(value, str):
    expected = "a string"
  if expected:
    raise InputError(f"{name}: {value!r}; expected {expected}")


def is_finite(array: np.ndarray) -> bool:
  """Returns whether all numbers of a float32 array are finite, in one pass and without a copy."""
  flat = array.reshape(-1)
  with np.errstate(all="ignore"):
    # Finite sums of squares have finite terms; others may be sums of large ones.
    return bool(np.isfinite(np.dot(flat, flat)) or np.isfinite(flat).all())


def check_finite(name: str, array: np.ndarray) -> None:
  """Raises InputError for an array with numbers that are not finite."""
  if not is_finite(array):
    count = array.size - np.count_nonzero(np.isfinite(array))
    raise InputError(f"{name}: {count} of {array.size} numbers are not finite; expected all to be")


def sizes_from(kind: type[Config], fields: Mapping[str, object], path: Path) -> Config:
  """Returns the config whose fields a file has, under the same names."""
  for name in REQUIRED:
    if name in _names(kind) and fields.get(name) is None:
      raise InputError(f"{path}: {name}: missing; expected a number")
  # transformers writes null for what a model has no use for, such as BERT's bos_token_id.
  optional = {name for name, hint in get_type_hints(kind).items() if NoneType in get_args(hint)}
  values = {k: v for k, v in fields.items() if v is not None or k in optional}
  with at(path):
    return kind(**{k: v for k, v in values.items() if k in _names(kind)})


def rest_of(kind: type, raw: Mapping[str, object]) -> dict[str, object]:
  """Returns the entries of a file that the config has no field for, to be written again."""
  ours = {*_names(kind), *_WRITTEN}
  return {name: value for name, value in raw.items() if name not in ours}


def architecture_in(raw: Mapping[str, object], path: Path, default: str) -> str:
  """Returns the class that a file names."""
  architectures = raw.get("architectures") or [default]
  if not isinstance(architectures, list) or not isinstance(architectures[0], str):
    raise InputError(f"{path}: architectures: {architectures!r}; expected a list of one name")
  return architectures[0]


def labels_in(raw: Mapping[str, Any], path: Path) -> tuple[str, ...]:
  """Returns the labels of a file by their numbers."""
  id2label = raw.get("id2label")
  if id2label is None:
    return ()
  try:
    by_id = {int(i): str(label) for i, label in id2label.items()}
    return tuple(by_id[i] for i in range(len(by_id)))
  except (AttributeError, ValueError, KeyError):
    raise InputError(f"{path}: id2label: expected names of the labels 0, 1, 2, …") from None


def config_json(described: "Described", model_type: str, without: Iterable[str] = ()) -> dict:
  """Returns the config.json that both majors of transformers read."""
  fields = dataclasses.asdict(described.config)
  names = described.labels or tuple(f"LABEL_{i}" for i in range(described.num_labels))
  return {
    **described.rest,
    "architectures": [described.architecture],
    "model_type": model_type,
    **{name: value for name, value in fields.items() if name not in without},
    "id2label": {str(i): label for i, label in enumerate(names)},
    "label2id": {label: i for i, label in enumerate(names)},
  }


def _names(kind: type) -> set[str]:
  return {field.name for field in dataclasses.fields(kind)}  # type: ignore[arg-type]


def check_fixed(fields: Mapping[str, object], fixed: Fixed, place: str) -> None:
  """Raises InputError for a field with another value than the one that is computed with here.

  `place` is written before its name.
  """
  for name, computed in fixed.items():
    value = fields.get(name)
    if value is not None and value != computed:
      expected = f"{json.dumps(computed)}, as this system is computed here{_NOTES.get(name, '')}"
      raise InputError(f"{place}{name}: {json.dumps(value):.40}; expected {expected}")


def check_range(name: str, values: np.ndarray, end: int, *, least: int = 0) -> None:
  """Raises InputError for numbers below `least`, or from `end` on."""
  if values.size and not least <= values.min() <= values.max() < end:
    odd = values.min() if values.min() < least else values.max()
    expected = f"numbers from {least} to {end - 1}" if end else "none, for the model reads none"
    raise InputError(f"{name}: {odd}; expected {expected}")
