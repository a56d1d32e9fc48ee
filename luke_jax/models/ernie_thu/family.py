"""ERNIE of Tsinghua as one value."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from luke_jax.models.bert.encoder import numerics
from luke_jax.models.ernie_thu import encoder, files
from luke_jax.models.ernie_thu.config import ErnieThuConfig
from luke_jax.models.ernie_thu.keys import KEYS
from luke_jax.models.family import Backbone, Decoders, Family, Layout, Recipe, TokenCounts
from luke_jax.models.fixed_fields import OF_TRANSFORMERS
from luke_jax.models.shapes import cast_once, word_products

ARCHITECTURES = {
  "none": "ErnieThuModel",
  "masked": "ErnieThuForMaskedLM",
  "pretraining": files.PRETRAINED,
  "entity": "ErnieThuForEntityClassification",
  "pair": "ErnieThuForEntityPairClassification",
  "span": "ErnieThuForEntitySpanClassification",
  "cloze": "ErnieThuForCloze",
  "answer": "ErnieThuForQuestionAnswering",
  "text": "ErnieThuForSequenceClassification",
  "token": "ErnieThuForTokenClassification",
  "crf": "ErnieThuForTokenClassificationWithCrf",
  "attributes": "ErnieThuForSequenceClassificationWithAttributes",
  "choice": "ErnieThuForMultipleChoice",
}
# The authors' code: Adam of BERT, and a rate that stays after its warm-up.
_AS_BERT: dict[str, Any] = {
  "beta2": 0.999,
  "max_gradient_norm": 1.0,
  "warmup_ratio": 0.1,
  "decay": "constant",
}
RECIPES = {
  "typing": Recipe(2e-5, 16, 10, markers=("。",), **_AS_BERT),  # Open Entity
  "relations": Recipe(2e-5, 32, 10, markers=("#", "$"), **_AS_BERT),  # FewRel
}


def _decoders(config: ErnieThuConfig) -> Decoders:
  return Decoders(tied=config.tie_word_embeddings, vectors=config.entity_size)


def _products(config: ErnieThuConfig, counts: TokenCounts) -> Mapping[str, float]:
  """Returns the products of a BERT, and those of the entities in layers that have any."""
  slots, k = 2.0 * counts.sequences * counts.words, config.entity_size
  fused = sum(run.count for run in config.runs if run.kind != "sim")
  attending = sum(run.count for run in config.runs if run.kind == "norm")
  products = dict(word_products("ernie_thu", config, counts))
  products["ernie_thu/encoder"] += slots * fused * 2 * k * config.intermediate_size
  products["ernie_thu/encoder"] += slots * attending * 4 * k * k
  products[""] += slots * attending * 2 * counts.words * k
  return products


def _unread(config: ErnieThuConfig) -> tuple[str, ...]:
  """Returns what makes the entities' last states, which no head reads."""
  run = next((run for run in reversed(config.runs) if run.kind != "sim"), None)
  if run is None:
    return ()
  last = f"ernie_thu/encoder/from_{run.first}/layers[{run.count - 1}:{run.count}]"
  return (f"{last}/mlp/entity_down", f"{last}/entity_mlp_norm")


def _read_for(config: ErnieThuConfig, trained: ErnieThuConfig) -> ErnieThuConfig:
  return dataclasses.replace(config, layer_types=trained.layer_types)


def _pooled(kind: str) -> bool:
  return kind in ("none", "pretraining", "entity", "pair", "text", "choice")


def _encoder(backbone: Backbone, pooled: bool, name: str) -> encoder.ErnieThuEncoder:
  return encoder.ErnieThuEncoder(backbone, pooled, name=name)


ERNIE_THU = Family(
  name="ernie_thu",
  title="ERNIE of Tsinghua",
  model_types=(files.MODEL_TYPE,),
  config=ErnieThuConfig,
  sizes={"ernie-thu-base": ErnieThuConfig()},
  encoder=_encoder,
  inputs=lambda config: (*encoder.WORD_INPUTS, *encoder.SLOT_INPUTS),
  token_types=True,
  numerics=numerics,
  keys=lambda kind: KEYS,
  architectures=ARCHITECTURES,
  pooled=_pooled,
  read_config=files.read_config,
  write_config=files.write_config,
  released_config=files.RELEASED,
  fixed=OF_TRANSFORMERS,
  products=_products,
  about=lambda config: (
    "An ERNIE of Tsinghua: a BERT that also reads vectors of a knowledge graph's entities\n"
    "([Zhang et al., ACL 2019](https://aclanthology.org/P19-1139/))"
  ),
  not_in_transformers=lambda config: "transformers has no ERNIE of Tsinghua",
  for_prediction=cast_once,
  adapters=True,
  layout=Layout(
    words=("ernie_thu/embeddings/word/embedding", "masked_words/bias", "word_decoder/embedding"),
    # The reference goes by names, and calls this norm LayerNorm_ent.
    decayed=("entity_mlp_norm/scale",),
  ),
  decoders=_decoders,
  starts_from=files.STARTS_FROM,
  read_for=_read_for,
  labels_from_first_word=True,
  unread=_unread,
  recipes=RECIPES,
)
