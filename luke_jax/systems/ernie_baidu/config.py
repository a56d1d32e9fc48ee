"""ERNIE of Baidu: a BERT of other numbers, names and recipes."""

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

from luke_jax.files import Path
from luke_jax.models.config_files import OF_ERNIE, Fixed
from luke_jax.models.keys import Keys
from luke_jax.models.system import Described, Layout, Recipe
from luke_jax.nn.activations import Activation
from luke_jax.systems.bert.config import BertConfig, tables_of_words
from luke_jax.systems.bert.keys import bert_keys
from luke_jax.systems.ernie_baidu.names import DYGRAPH, PADDLENLP, STATIC

_TABLE = bert_keys("ernie_baidu", "ernie")
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


@dataclasses.dataclass(frozen=True)
class ErnieBaiduConfig(BertConfig):
  """Sizes of an ERNIE of Baidu; the defaults are ERNIE 1.0.

  Its table of words has more rows than its vocabulary of 17,964 words.
  """

  vocab_size: int = 18000  # words, special ones included
  max_position_embeddings: int = 513  # rows of the position table
  hidden_act: Activation = "relu"  # activation
  layer_norm_eps: float = 1e-5  # added to the variance in layer norms

  name: ClassVar[str] = "ernie_baidu"
  title: ClassVar[str] = "ERNIE of Baidu"
  model_types: ClassVar[tuple[str, ...]] = ("ernie",)  # of transformers and of PaddleNLP
  prefix: ClassVar[str] = "Ernie"
  unnamed: ClassVar[str] = "ForPreTraining"
  left_to_right: ClassVar[tuple[str, ...]] = ("ErnieForCausalLM",)
  released_config: ClassVar[tuple[str, str]] = ("ernie_config.json", "max_position_embeddings")
  fixed: ClassVar[Fixed] = OF_ERNIE
  layout: ClassVar[Layout] = Layout(words=tables_of_words("ernie_baidu"))
  recipes: ClassVar[Mapping[str, Recipe]] = {**BertConfig.recipes, **RECIPES}

  @classmethod
  def keys(cls, kind: str) -> Keys:
    """Returns the names of tensors on disk."""
    return KEYS

  @property
  def about(self) -> str:
    """Returns a description for model cards."""
    return (
      "An ERNIE 1.0 of Baidu: a BERT pretrained by masking phrases and entities whole\n"
      "([Sun et al., 2019](https://arxiv.org/abs/1904.09223))"
    )

  @classmethod
  def read_config(cls, raw: dict[str, Any], path: Path) -> Described:
    """Returns the contents of the config of an ERNIE 1.0."""
    if "model_type" in raw:
      fields = {"hidden_act": "gelu"} | raw  # as transformers and PaddleNLP read a file without
    else:  # the authors' files leave out two numbers
      width = raw.get("hidden_size", cls.hidden_size)
      fields = {"intermediate_size": 4 * width, "layer_norm_eps": cls.layer_norm_eps} | raw
    return super().read_config(fields, path)

  @classmethod
  def write_config(cls, described: Described) -> dict[str, object]:
    """Returns the config.json of an ERNIE without embeddings of tasks."""
    return super().write_config(described) | {"use_task_id": False}


SIZES = {"ernie-1.0": ErnieBaiduConfig()}
