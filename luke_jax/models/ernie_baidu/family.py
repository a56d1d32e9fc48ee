"""ERNIE of Baidu as one value: a BERT of other numbers, names and recipes."""

import dataclasses
import functools

from luke_jax.models.bert import BERT
from luke_jax.models.bert.keys import bert_keys
from luke_jax.models.ernie_baidu import files
from luke_jax.models.ernie_baidu.config import ErnieBaiduConfig
from luke_jax.models.ernie_baidu.names import DYGRAPH, PADDLENLP, STATIC
from luke_jax.models.family import Layout, Recipe
from luke_jax.models.fixed_fields import OF_ERNIE
from luke_jax.models.shapes import word_products

_NAME = "ernie_baidu"
_TABLE = bert_keys(_NAME, "ernie")
KEYS = dataclasses.replace(
  _TABLE,
  # Conversions from before transformers had an ERNIE call it a BERT.
  renames=(*_TABLE.renames, (r"^bert\.", "ernie.")),
  other_names=(STATIC, DYGRAPH, PADDLENLP),
)
# The authors' scripts for ChnSentiCorp and MSRA-NER: no warm-up.
_RECIPE = Recipe(5e-5, beta2=0.999, max_gradient_norm=1.0, warmup_ratio=0.0)
RECIPES = {
  "classification": dataclasses.replace(_RECIPE, batch_size=24, epochs=10),
  "tagging": dataclasses.replace(_RECIPE, batch_size=16, epochs=3),
}

ERNIE_BAIDU = dataclasses.replace(
  BERT,
  name=_NAME,
  title="ERNIE of Baidu",
  model_types=(files.MODEL_TYPE,),
  config=ErnieBaiduConfig,
  sizes={"ernie-1.0": ErnieBaiduConfig()},
  keys=lambda kind: KEYS,
  architectures={kind: name.replace("Bert", "Ernie") for kind, name in BERT.architectures.items()},
  read_config=files.read_config,
  write_config=files.write_config,
  released_config=files.RELEASED,
  fixed=OF_ERNIE,
  left_to_right=("ErnieForCausalLM",),
  products=functools.partial(word_products, _NAME),
  about=lambda config: (
    "An ERNIE 1.0 of Baidu: a BERT pretrained by masking phrases and entities whole\n"
    "([Sun et al., 2019](https://arxiv.org/abs/1904.09223))"
  ),
  layout=Layout(
    words=(f"{_NAME}/embeddings/word/embedding", "masked_words/bias", "word_decoder/embedding")
  ),
  recipes={**BERT.recipes, **RECIPES},
)
