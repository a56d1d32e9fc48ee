"""ERNIE 1.0 of Baidu: a BERT that is pretrained by masking phrases and entities whole.

The system of Sun et al. (2019), https://arxiv.org/abs/1904.09223.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from luke_jax.files import Path
from luke_jax.models.config_files import OF_ERNIE, Fixed
from luke_jax.models.keys import Keys
from luke_jax.models.names import Naming
from luke_jax.models.system import Described, Layout, Recipe
from luke_jax.nn.activations import Activation
from luke_jax.systems.bert.config import BertConfig, tables_of_words
from luke_jax.systems.bert.keys import PartNames, keys_of

__all__ = ["SIZES", "ErnieBaiduConfig"]


# Kind of a part, its name in transformers, in files of static graphs, of dygraph, of PaddleNLP.
_PARTS = """
table embeddings.word_embeddings word_embedding word_emb embeddings.word_embeddings
table embeddings.position_embeddings pos_embedding pos_emb embeddings.position_embeddings
table embeddings.token_type_embeddings sent_embedding sent_emb embeddings.token_type_embeddings
norm embeddings.LayerNorm pre_encoder_layer_norm ln embeddings.layer_norm
linear pooler.dense pooled_fc pooler pooler.dense
linear cls.predictions.transform.dense mask_lm_trans_fc mlm cls.predictions.transform
norm cls.predictions.transform.LayerNorm mask_lm_trans_layer_norm mlm_ln cls.predictions.layer_norm
whole cls.predictions.bias mask_lm_out_fc.b_0 mlm_bias cls.predictions.decoder_bias
linear cls.seq_relationship next_sent_fc nsp cls.seq_relationship
"""
_LAYER = (
  "encoder.layer.{layer}.",
  "encoder_layer_{layer}_",
  "encoder_stack.block.{layer}.",
  "encoder.layers.{layer}.",
)
_LAYER_PARTS = """
linear attention.self.query multi_head_att_query_fc attn.q self_attn.q_proj
linear attention.self.key multi_head_att_key_fc attn.k self_attn.k_proj
linear attention.self.value multi_head_att_value_fc attn.v self_attn.v_proj
linear attention.output.dense multi_head_att_output_fc attn.o self_attn.out_proj
norm attention.output.LayerNorm post_att_layer_norm ln1 norm1
linear intermediate.dense ffn_fc_0 ffn.i linear1
linear output.dense ffn_fc_1 ffn.o linear2
norm output.LayerNorm post_ffn_layer_norm ln2 norm2
"""
_ENDS: dict[str, tuple[str, ...]] = {
  "table": (".weight",),
  "linear": (".weight", ".bias"),
  "norm": (".weight", ".bias"),
  "whole": ("",),
}
_STATIC_ENDS = _ENDS | {"table": ("",), "linear": (".w_0", ".b_0"), "norm": ("_scale", "_bias")}


def _rows() -> Iterator[tuple[str, Sequence[str]]]:
  for line in _PARTS.split("\n")[1:-1]:
    kind, *names = line.split()
    yield kind, names
  for line in _LAYER_PARTS.split("\n")[1:-1]:
    kind, *names = line.split()
    yield kind, [start + name for start, name in zip(_LAYER, names, strict=True)]


def _naming(name: str, column: int, ends: dict[str, tuple[str, ...]], *, prefixed: bool) -> Naming:
  pairs = (
    (names[0] + end, names[column] + their_end)
    for kind, names in _rows()
    for end, their_end in zip(_ENDS[kind], ends[kind], strict=True)
  )
  return Naming(name, tuple(pairs), "ernie", prefixed)


STATIC = _naming("paddle-static", 1, _STATIC_ENDS, prefixed=False)
DYGRAPH = _naming("paddle-dygraph", 2, _ENDS, prefixed=False)
PADDLENLP = _naming("paddlenlp", 3, _ENDS, prefixed=True)


_TABLE = keys_of("ernie_baidu", PartNames("ernie"))
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
