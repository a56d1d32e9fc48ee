"""The config.json of an ERNIE of Tsinghua, and its authors' ernie_config.json."""

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

MODEL_TYPE = "ernie_thu"
STARTS_FROM = ("bert",)
# The config of the authors' directories, and an entry that other systems' files of that name lack.
RELEASED = ("ernie_config.json", "layer_types")
PRETRAINED = "ErnieThuForPreTraining"


def read_config(system: Any, raw: dict[str, Any], path: Path) -> Described:
  """Reads the config of an ERNIE, of its authors' files, or of a BERT that an ERNIE starts from."""
  kind = raw.get("model_type", MODEL_TYPE)
  fields = {"layer_norm_eps": system.layer_norm_eps} | raw
  config = sizes_from(system, fields, path)
  if kind in STARTS_FROM:
    return Described(config, PRETRAINED, rest=rest_of(system, raw))
  labels = labels_in(raw, path)
  architecture = architecture_in(raw, path, PRETRAINED)
  rest = rest_of(system, raw)
  return Described(config, architecture, labels, len(labels) or 2, rest)


def write_config(described: Described) -> dict[str, Any]:
  """Returns a config.json in which the kind of every layer is written out."""
  config: Any = described.config
  entries = config_json(described, MODEL_TYPE)
  return entries | {"layer_types": list(config.kinds)}
