"""LUKE's config.json and the authors' metadata.json, to and from a LukeConfig."""

from typing import Any

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.models.config_files import (
  OF_TRANSFORMERS,
  architecture_in,
  check_fixed,
  config_json,
  labels_in,
  rest_of,
  sizes_from,
)
from luke_jax.models.system import Described

LUKE_TYPE, LUKE_WITH_BERT = "luke", "luke-bert"  # transformers has no LUKE with BERT's positions
STARTS_FROM = ("roberta", "xlm-roberta", "bert")


def read_config(kind: type, raw: dict[str, object], path: Path) -> Described:
  """Reads the config.json of a LUKE, or of a language model that a LUKE starts from."""
  model_type, fields = raw["model_type"], dict(raw)
  architecture, labels = architecture_in(raw, path, "LukeModel"), ()
  if model_type in STARTS_FROM:
    fields |= {"entity_vocab_size": 0, "use_entity_aware_attention": False}
    architecture = "LukeForMaskedLM"
  elif "entity_vocab_size" not in raw:
    raise InputError(f"{path}: entity_vocab_size: missing; expected a whole number")
  else:
    labels = labels_in(raw, path)
  if model_type in ("bert", LUKE_WITH_BERT):
    fields["word_positions"] = "bert"
  config = sizes_from(kind, fields, path)
  return Described(config, architecture, labels, len(labels) or 2, rest_of(kind, raw))


def read_metadata(kind: type, raw: dict[str, object], path: Path) -> Described:
  """Reads the metadata.json of the authors' archives, which hold pretrained models."""
  model = raw.get("model_config")
  if not isinstance(model, dict):
    raise InputError(f"{path}: model_config: missing; expected an object")
  check_fixed(model, OF_TRANSFORMERS, f"{path}: model_config.")
  base = str(model.get("bert_model_name", ""))
  roberta = "roberta" in base
  defaults = {
    "entity_emb_size": model.get("hidden_size"),  # archives older than the factorisation
    "pad_token_id": 1 if roberta else 0,
    "use_entity_aware_attention": False,  # the archives were pretrained with the original one
  }
  fields = defaults | {k: v for k, v in model.items() if v is not None}
  fields["word_positions"] = "roberta" if roberta else "bert"
  if "entity_vocab_size" not in model:
    raise InputError(f"{path}: model_config.entity_vocab_size: missing")
  config = sizes_from(kind, fields, path)
  return Described(config, "LukeForMaskedLM", rest=rest_of(kind, model))


def write_config(described: Described) -> dict[str, Any]:
  """Returns the config.json that both majors of transformers read."""
  config: Any = described.config
  roberta = config.word_positions == "roberta"
  kind = LUKE_TYPE if roberta else LUKE_WITH_BERT
  entries = config_json(described, kind, without=("word_positions", "tie_entity_embeddings"))
  # To transformers one entry says both.
  both = config.tie_word_embeddings and config.tie_entity_embeddings
  return entries | {"tie_word_embeddings": both}
