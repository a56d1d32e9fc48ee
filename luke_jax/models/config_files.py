"""Reading and writing of a config.json: the parts that are the same for all systems."""

import dataclasses
from collections.abc import Iterable, Mapping
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_type_hints

from luke_jax.errors import InputError, at
from luke_jax.files import Path

if TYPE_CHECKING:
  from luke_jax.models.system import Described
import json

Config = TypeVar("Config")

# Nothing else has a default that fits every released model.
REQUIRED = (
  "vocab_size",
  "hidden_size",
  "num_hidden_layers",
  "num_attention_heads",
  "intermediate_size",
  "max_position_embeddings",
  "type_vocab_size",
  "layer_norm_eps",
)
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
