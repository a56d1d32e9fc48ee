"""BERT, RoBERTa, XLM-R and CamemBERT as values."""

import functools
from collections.abc import Callable
from typing import Any

from luke_jax.files import Path
from luke_jax.models.bert import encoder
from luke_jax.models.bert.config import (
  SIZES,
  BertConfig,
  CamembertConfig,
  RobertaConfig,
  XlmRobertaConfig,
)
from luke_jax.models.bert.keys import bert_keys, roberta_keys
from luke_jax.models.config_files import (
  architecture_in,
  config_json,
  labels_in,
  rest_of,
  sizes_from,
)
from luke_jax.models.family import Backbone, Decoders, Described, Family, Layout, Recipe
from luke_jax.models.fixed_fields import OF_TRANSFORMERS
from luke_jax.models.shapes import for_prediction, word_products

# A RoBERTa under another name: the same arithmetic and vocabulary. It is written as a RoBERTa.
_DATA2VEC = "data2vec-text"
_KINDS = {
  "none": "Model",
  "masked": "ForMaskedLM",
  "answer": "ForQuestionAnswering",
  "text": "ForSequenceClassification",
  "token": "ForTokenClassification",
  "choice": "ForMultipleChoice",
}
# The heads of LUKE's tasks over words; transformers has no such classes.
_OWN = {
  "entity": "ForEntityClassification",
  "pair": "ForEntityPairClassification",
  "span": "ForEntitySpanClassification",
  "cloze": "ForCloze",
  "crf": "ForTokenClassificationWithCrf",
  "attributes": "ForSequenceClassificationWithAttributes",
}
# The paper trains its RoBERTa baselines as it trains LUKE (appendix).
_RECIPES = {
  "typing": Recipe(1e-5, 4, 3),
  "relations": Recipe(1e-5, 32, 5),
  "ner": Recipe(1e-5, 8, 5),
  "cloze": Recipe(1e-5, 32, 2),
  "qa": Recipe(1.5e-5, 48, 2),
  # BERT's paper (appendix A.3) gives ranges; these are in the middle of them.
  "classification": Recipe(3e-5, 32, 3),
  "tagging": Recipe(3e-5, 32, 3),
}


def _classes(prefix: str) -> dict[str, str]:
  return {kind: f"{prefix}{name}" for kind, name in (_KINDS | _OWN).items()}


def _read_config(config: type, prefix: str, raw: dict[str, Any], path: Path) -> Described:
  labels = labels_in(raw, path)
  architecture = architecture_in(raw, path, f"{prefix}Model")
  if raw.get("model_type") == _DATA2VEC:
    architecture = architecture.replace("Data2VecText", prefix, 1)
  sizes = sizes_from(config, raw, path)
  return Described(sizes, architecture, labels, len(labels) or 2, rest_of(config, raw))


def _reader(config: type, prefix: str) -> Callable[[dict[str, Any], Path], Described]:
  return functools.partial(_read_config, config, prefix)


def _encoder(after_padding: bool) -> Callable[[Backbone, bool, str], encoder.BertEncoder]:
  def make(backbone: Backbone, pooled: bool, name: str) -> encoder.BertEncoder:
    return encoder.BertEncoder(backbone, pooled, after_padding, name=name)

  return make


def _decoders(config: BertConfig) -> Decoders:
  return Decoders(tied=config.tie_word_embeddings)


def _roberta_decoders(config: BertConfig) -> Decoders:
  # RoBERTa's head has this activation, whatever that of the layers is.
  return Decoders(tied=config.tie_word_embeddings, words_activation="gelu")


def _pooled(kind: str) -> bool:
  """Returns true where transformers' classes have a pooler; ours read the words' states."""
  return kind in ("none", "text", "choice", "pretraining", "next_sentence")


def _words(name: str) -> tuple[str, ...]:
  return (f"{name}/embeddings/word/embedding", "masked_words/bias", "word_decoder/embedding")


def _sizes(config: type) -> dict[str, BertConfig]:
  return {name: size for name, size in SIZES.items() if type(size) is config}


BERT = Family(
  name="bert",
  title="BERT",
  model_types=("bert",),
  config=BertConfig,
  sizes=_sizes(BertConfig),
  encoder=_encoder(after_padding=False),
  inputs=lambda config: encoder.INPUTS,
  token_types=True,
  numerics=encoder.numerics,
  keys=lambda kind: bert_keys("bert", "bert"),
  architectures={
    **_classes("Bert"),
    "pretraining": "BertForPreTraining",
    "next_sentence": "BertForNextSentencePrediction",
  },
  pooled=_pooled,
  fixed=OF_TRANSFORMERS,
  left_to_right=("BertLMHeadModel",),
  read_config=_reader(BertConfig, "Bert"),
  write_config=functools.partial(config_json, model_type="bert"),
  products=functools.partial(word_products, "bert"),
  about=lambda config: "A BERT ([Devlin et al., NAACL 2019](https://aclanthology.org/N19-1423/))",
  own_heads=tuple(_OWN),
  for_prediction=for_prediction,
  adapters=True,
  layout=Layout(words=_words("bert")),
  decoders=_decoders,
  recipes=_RECIPES,
)


def _roberta(
  model_type: str,
  title: str,
  config: type,
  *,
  prefix: str,
  paper: str,
  others: tuple[str, ...] = (),
) -> Family:
  name = model_type.replace("-", "_")
  return Family(
    name=name,
    title=title,
    model_types=(model_type, *others),
    config=config,
    sizes=_sizes(config),
    encoder=_encoder(after_padding=True),
    inputs=lambda config: encoder.INPUTS,
    numerics=encoder.numerics,
    keys=functools.partial(roberta_keys, name),
    architectures=_classes(prefix),
    pooled=_pooled,
    fixed=OF_TRANSFORMERS,
    left_to_right=(f"{prefix}ForCausalLM",),
    read_config=_reader(config, prefix),
    write_config=functools.partial(config_json, model_type=model_type),
    products=functools.partial(word_products, name),
    about=lambda config: f"{title} ({paper})",
    own_heads=tuple(_OWN),
    # The reference goes by names, and RoBERTa's head calls its norm layer_norm, not LayerNorm.
    for_prediction=for_prediction,
    adapters=True,
    layout=Layout(words=_words(name), decayed=("masked_words/norm/scale",)),
    decoders=_roberta_decoders,
    recipes=_RECIPES,
  )


ROBERTA = _roberta(
  "roberta",
  "RoBERTa",
  RobertaConfig,
  prefix="Roberta",
  paper="[Liu et al., 2019](https://arxiv.org/abs/1907.11692)",
  others=(_DATA2VEC,),
)
XLM_ROBERTA = _roberta(
  "xlm-roberta",
  "XLM-R",
  XlmRobertaConfig,
  prefix="XLMRoberta",
  paper="[Conneau et al., ACL 2020](https://aclanthology.org/2020.acl-main.747/)",
)
CAMEMBERT = _roberta(
  "camembert",
  "CamemBERT",
  CamembertConfig,
  prefix="Camembert",
  paper="[Martin et al., ACL 2020](https://aclanthology.org/2020.acl-main.645/)",
)
