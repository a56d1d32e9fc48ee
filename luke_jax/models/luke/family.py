"""LUKE and mLUKE as one value."""

import dataclasses
from collections.abc import Mapping

from luke_jax.models.family import Backbone, Decoders, Family, Layout, Recipe, TokenCounts
from luke_jax.models.fixed_fields import OF_TRANSFORMERS
from luke_jax.models.luke import encoder, files
from luke_jax.models.luke.config import SIZES, LukeConfig
from luke_jax.models.luke.keys import KEYS
from luke_jax.models.shapes import for_prediction, word_products

ARCHITECTURES = {
  "none": "LukeModel",
  "masked": "LukeForMaskedLM",
  "entity": "LukeForEntityClassification",
  "pair": "LukeForEntityPairClassification",
  "span": "LukeForEntitySpanClassification",
  "cloze": "LukeForCloze",  # ours; transformers has no such class
  "answer": "LukeForQuestionAnswering",
  "text": "LukeForSequenceClassification",
  "token": "LukeForTokenClassification",
  "crf": "LukeForTokenClassificationWithCrf",  # ours
  "attributes": "LukeForSequenceClassificationWithAttributes",  # ours
  "choice": "LukeForMultipleChoice",
}
UNTRAINED = ("luke/pooler",)  # no head of the paper's tasks reads it
# Parameters that the first stage of the paper's pretraining does not train (appendix A).
NOT_OF_ENTITIES = ("luke/embeddings", "luke/encoder", "luke/pooler", "masked_words")

# The paper's appendix.
RECIPES = {
  "typing": Recipe(1e-5, 4, 3, UNTRAINED),
  "relations": Recipe(1e-5, 32, 5, UNTRAINED),
  "ner": Recipe(1e-5, 8, 5, UNTRAINED),
  "cloze": Recipe(1e-5, 32, 2, UNTRAINED),
  # The head of questions has no pooler; the entity table is not fine-tuned.
  "qa": Recipe(1.5e-5, 48, 2, ("luke/entity_embeddings/entity",)),
  # Not of the paper, which has no such tasks: as in BERT's.
  "classification": Recipe(3e-5, 32, 3),
  "tagging": Recipe(3e-5, 32, 3),
}


def _decoders(config: LukeConfig) -> Decoders:
  page = config.entity_emb_size if config.cls_entity_prediction else 0
  return Decoders(
    tied=config.tie_word_embeddings,
    # In RoBERTa's head it is always this one, in BERT's that of the layers.
    words_activation="gelu" if config.word_positions == "roberta" else None,
    entities=config.entity_vocab_size,
    entities_tied=config.tie_entity_embeddings,
    page_width=page,
  )


def _products(config: LukeConfig, counts: TokenCounts) -> Mapping[str, float]:
  d, k = config.hidden_size, config.entity_emb_size
  tokens = counts._replace(words=counts.words + counts.entities)
  more = 1 if config.use_entity_aware_attention and counts.entities else 0
  second_query = 2.0 * tokens.sequences * config.num_hidden_layers * tokens.words * d * d * more
  products = dict(word_products("luke", config, tokens))
  products["luke/encoder"] += second_query
  decoder = "luke/entity_embeddings/entity" if config.tie_entity_embeddings else "entity_decoder"
  projected = 2.0 * counts.sequences * counts.entities * k * d
  return products | {
    "luke/entity_embeddings/projection": projected if k != d else 0.0,
    decoder: 2.0 * counts.masked_entities * k * config.entity_vocab_size,
    "masked_entities/transform": 2.0 * counts.masked_entities * d * k,
    "page_entity": 2.0 * counts.sequences * d * k if config.cls_entity_prediction else 0.0,
  }


def _with_entities(config: LukeConfig, size: int, padding_id: int | None) -> LukeConfig:
  if not size:
    return dataclasses.replace(config, entity_vocab_size=0, use_entity_aware_attention=False)
  # A lite model's row 0 is [MASK], which must learn.
  padding_id = None if config.entity_padding_id is None else padding_id
  return dataclasses.replace(config, entity_vocab_size=size, entity_padding_id=padding_id)


def _for_fine_tuning(config: LukeConfig) -> LukeConfig:
  """Returns the config with four queries: pretraining has the original attention (paper §3.2)."""
  entity_aware = config.entity_vocab_size > 0
  return dataclasses.replace(config, use_entity_aware_attention=entity_aware)


def _read_for(config: LukeConfig, trained: LukeConfig) -> LukeConfig:
  entity_aware = trained.use_entity_aware_attention
  return dataclasses.replace(config, use_entity_aware_attention=entity_aware)


def _about(config: LukeConfig) -> str:
  attention = "entity-aware" if config.use_entity_aware_attention else "the original"
  return (
    f"A LUKE: a transformer over words and entities with {attention} self-attention\n"
    "([Yamada et al., EMNLP 2020](https://aclanthology.org/2020.emnlp-main.523/))"
  )


def _not_in_transformers(config: LukeConfig) -> str:
  bert = config.word_positions == "bert"
  return "transformers has no LUKE with BERT's positions" if bert else ""


def _encoder(backbone: Backbone, pooled: bool, name: str) -> encoder.LukeEncoder:
  return encoder.LukeEncoder(backbone, pooled, name=name)


LUKE = Family(
  name="luke",
  title="LUKE",
  model_types=(files.LUKE_TYPE, files.LUKE_WITH_BERT),
  config=LukeConfig,
  sizes=SIZES,
  encoder=_encoder,
  inputs=encoder.inputs,
  numerics=encoder.numerics,
  keys=lambda kind: KEYS,
  architectures=ARCHITECTURES,
  pooled=lambda kind: kind not in ("answer", "token", "crf", "attributes"),
  read_config=files.read_config,
  write_config=files.write_config,
  products=_products,
  read_archive=files.read_metadata,
  fixed=OF_TRANSFORMERS,
  about=_about,
  not_in_transformers=_not_in_transformers,
  own_heads=("cloze", "crf", "attributes"),
  for_prediction=for_prediction,
  adapters=True,
  layout=Layout(
    words=("luke/embeddings/word/embedding", "masked_words/bias", "word_decoder/embedding"),
    entities=(
      "luke/entity_embeddings/entity/embedding",
      "masked_entities/bias",
      "entity_decoder/embedding",
    ),
    # The reference goes by names, and RoBERTa's head calls its norm layer_norm, not LayerNorm.
    decayed=("masked_words/norm/scale",),
  ),
  decoders=_decoders,
  markers=True,
  starts_from=files.STARTS_FROM,
  with_entities=_with_entities,
  for_fine_tuning=_for_fine_tuning,
  read_for=_read_for,
  recipes=RECIPES,
)
