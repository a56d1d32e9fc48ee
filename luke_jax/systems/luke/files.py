"""LUKE's files: config.json, the authors' metadata.json, and the keys of both state dicts."""

from collections.abc import Iterator
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
from luke_jax.models.keys import (
  ENTITY_DECODER,
  WORD_DECODER,
  Key,
  Keys,
  LayerNames,
  layers,
  linear,
  norm,
  table,
  word_embeddings,
)
from luke_jax.models.system import Described

LUKE_TYPE, LUKE_WITH_BERT = "luke", "luke-bert"  # transformers has no LUKE with BERT's positions
STARTS_FROM = ("roberta", "xlm-roberta", "bert")
_QUERIES = ("query", "w2e_query", "e2w_query", "e2e_query")
_LAYER = LayerNames(tuple(f"attention.self.{query}" for query in _QUERIES))


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


def _rows() -> Iterator[Key]:
  entities = "luke.entity_embeddings"
  yield from word_embeddings("luke/embeddings", "luke.embeddings")
  yield from table("luke/entity_embeddings/entity", f"{entities}.entity_embeddings")
  yield from linear("luke/entity_embeddings/projection", f"{entities}.entity_embedding_dense")
  yield from table("luke/entity_embeddings/position", f"{entities}.position_embeddings")
  yield from table("luke/entity_embeddings/type", f"{entities}.token_type_embeddings")
  yield from norm("luke/entity_embeddings/norm", f"{entities}.LayerNorm")
  yield from layers("luke/encoder/layers", "luke.encoder.layer", _LAYER)
  yield from linear("luke/pooler/dense", "luke.pooler.dense")
  yield from linear("masked_words/transform", "lm_head.dense")
  yield from norm("masked_words/norm", "lm_head.layer_norm")
  yield Key("masked_words/bias", ("lm_head.bias",))
  yield Key(WORD_DECODER, ("lm_head.decoder.weight",))
  yield from linear("masked_entities/transform", "entity_predictions.transform.dense")
  yield from norm("masked_entities/norm", "entity_predictions.transform.LayerNorm")
  yield Key("masked_entities/bias", ("entity_predictions.bias",))
  yield Key(ENTITY_DECODER, ("entity_predictions.decoder.weight",))
  yield Key("page_entity/decoder/kernel", ("cls_entity_predictions.decoder.weight",), 1)
  yield Key("page_entity/decoder/bias", ("cls_entity_predictions.bias",))
  for head in ("classifier", "qa_outputs", "scorer"):
    yield from linear(head, head)


KEYS = Keys.of(
  _rows(),
  aliases={
    "lm_head.decoder.weight": "luke.embeddings.word_embeddings.weight",
    "lm_head.decoder.bias": "lm_head.bias",
    "entity_predictions.decoder.weight": "luke.entity_embeddings.entity_embeddings.weight",
  },
  renames=(
    (r"\.gamma$", ".weight"),
    (r"\.beta$", ".bias"),
    (r"^(roberta|bert)\.", "luke."),
    (r"^(embeddings|entity_embeddings|encoder|pooler)\.", r"luke.\1."),
    (r"^cls\.predictions\.transform\.dense\.", "lm_head.dense."),
    (r"^cls\.predictions\.transform\.LayerNorm\.", "lm_head.layer_norm."),
    (r"^cls\.predictions\.", "lm_head."),
  ),
  encoder="luke",
  unused=("cls.seq_relationship.",),
  tied_by_reference=("entity_predictions.decoder.weight",),
  copies=(r"\.(w2e|e2w|e2e)_query\.", ".query."),
)
