"""The config.json of an ERNIE of Baidu, and its authors' ernie_config.json."""

from typing import Any

from luke_jax.files import Path
from luke_jax.models.config_files import (
  architecture_in,
  config_json,
  labels_in,
  rest_of,
  sizes_from,
)
from luke_jax.models.system import Described

MODEL_TYPE = "ernie"  # of transformers and of PaddleNLP
PRETRAINED = "ErnieForPreTraining"
# The config of the authors' directories, and an entry of it.
RELEASED = ("ernie_config.json", "max_position_embeddings")


def read_config(kind: Any, raw: dict[str, Any], path: Path) -> Described:
  """Reads the config of an ERNIE 1.0; the authors' files leave out two numbers."""
  fields = raw
  if "model_type" in raw:
    fields = {"hidden_act": "gelu"} | raw  # as transformers and PaddleNLP read a file without
  else:
    width = raw.get("hidden_size", kind.hidden_size)
    epsilon = kind.layer_norm_eps
    fields = {"intermediate_size": 4 * width, "layer_norm_eps": epsilon} | raw
  config = sizes_from(kind, fields, path)
  labels = labels_in(raw, path)
  architecture = architecture_in(raw, path, PRETRAINED)
  rest = rest_of(kind, raw)
  return Described(config, architecture, labels, len(labels) or 2, rest)


def write_config(described: Described) -> dict[str, Any]:
  """Returns the config.json of an ERNIE without embeddings of tasks."""
  return config_json(described, MODEL_TYPE) | {"use_task_id": False}
