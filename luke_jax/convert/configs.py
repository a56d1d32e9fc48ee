"""config.json of Hugging Face and metadata.json of the authors, to and from a LukeConfig."""

import dataclasses
from pathlib import Path
from typing import Any

from luke_jax.config import RUN_FIELDS, LukeConfig
from luke_jax.errors import InputError

CONFIG, METADATA = "config.json", "metadata.json"

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
LUKE, LUKE_WITH_BERT = "luke", "luke-bert"  # transformers has no LUKE with BERT's positions
LANGUAGE_MODELS = ("roberta", "xlm-roberta", "bert")
_FIELDS = {field.name: field for field in dataclasses.fields(LukeConfig)}


@dataclasses.dataclass(frozen=True)
class Description:
  """What a config file says: the config, the class, its labels, and all the rest as it stood."""

  config: LukeConfig
  architecture: str
  labels: tuple[str, ...] = ()
  rest: dict[str, Any] = dataclasses.field(default_factory=dict)


def parse_config(raw: dict[str, Any], path: Path) -> Description:
  """Reads what a Hugging Face config.json says of a LUKE, or of a language model to start from."""
  kind = raw.get("model_type")
  if kind not in (LUKE, LUKE_WITH_BERT, *LANGUAGE_MODELS):
    known = ", ".join((LUKE, LUKE_WITH_BERT, *LANGUAGE_MODELS))
    raise InputError(f"{path}: model_type: {kind!r}; expected one of {known}")
  fields = dict(raw)
  architectures = raw.get("architectures") or ["LukeModel"]
  if not isinstance(architectures, list) or not isinstance(architectures[0], str):
    raise InputError(f"{path}: architectures: {architectures!r}; expected a list of one name")
  architecture = architectures[0]
  if kind in LANGUAGE_MODELS:
    fields |= {"entity_vocab_size": 0, "use_entity_aware_attention": False}
    architecture = "LukeForMaskedLM"
  elif "entity_vocab_size" not in raw:
    raise InputError(f"{path}: entity_vocab_size: missing; expected a whole number")
  if kind in ("bert", LUKE_WITH_BERT):
    fields["word_positions"] = "bert"
  labels = _labels(raw.get("id2label"), path) if kind in (LUKE, LUKE_WITH_BERT) else ()
  fields["num_labels"] = len(labels) or LukeConfig.num_labels
  return Description(_config(fields, path), architecture, labels, _rest(raw))


def parse_metadata(raw: dict[str, Any], path: Path) -> Description:
  """Reads what the metadata.json of the authors' archives says; they hold pretrained models."""
  model = raw.get("model_config")
  if not isinstance(model, dict):
    raise InputError(f"{path}: model_config: missing; expected an object")
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
  return Description(_config(fields, path), "LukeForMaskedLM", rest=_rest(model))


def config_json(description: Description) -> dict[str, Any]:
  """The config.json that both majors of transformers read."""
  config = description.config
  fields = {k: v for k, v in dataclasses.asdict(config).items() if k not in RUN_FIELDS}
  del fields["num_labels"], fields["word_positions"]
  labels = description.labels or tuple(f"LABEL_{i}" for i in range(config.num_labels))
  return {
    **description.rest,
    "architectures": [description.architecture],
    "model_type": LUKE if config.word_positions == "roberta" else LUKE_WITH_BERT,
    **fields,
    "id2label": {str(i): label for i, label in enumerate(labels)},
    "label2id": {label: i for i, label in enumerate(labels)},
  }


def _rest(raw: dict[str, Any]) -> dict[str, Any]:
  ours = {*_FIELDS, "id2label", "label2id", "architectures", "model_type"} - {*RUN_FIELDS}
  return {name: value for name, value in raw.items() if name not in ours}


def _config(fields: dict[str, Any], path: Path) -> LukeConfig:
  for name in REQUIRED:
    if name not in fields:
      raise InputError(f"{path}: {name}: missing; expected a number")
  known = {k: v for k, v in fields.items() if k in _FIELDS and k not in RUN_FIELDS}
  try:
    return LukeConfig(**known)
  except InputError as fault:
    raise InputError(f"{path}: {fault}") from None


def _labels(id2label: Any, path: Path) -> tuple[str, ...]:
  if id2label is None:
    return ()
  try:
    by_id = {int(i): str(label) for i, label in id2label.items()}
    return tuple(by_id[i] for i in range(len(by_id)))
  except (AttributeError, ValueError, KeyError):
    raise InputError(f"{path}: id2label: expected names of the labels 0, 1, 2, …") from None
