"""ALBERT: a BERT that reads one layer over and over, with a narrow table of words (ICLR 2020)."""

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

from luke_jax.models import shapes
from luke_jax.models.config_files import OF_TRANSFORMERS, Fixed
from luke_jax.models.keys import Key, Keys, LayerNames, layers, linear
from luke_jax.models.shapes import attention_sizes, word_embeddings
from luke_jax.models.system import Layout, System
from luke_jax.nn.activations import Activation
from luke_jax.nn.encoder import Encoder, Pooler
from luke_jax.systems.bert.config import BertConfig, BertEncoder, tables_of_words
from luke_jax.systems.bert.keys import PartNames, keys_of

_LAYER = LayerNames(
  *(("attention.query",), "attention.key", "attention.value", "attention.dense"),
  *("attention.LayerNorm", "ffn", "ffn_output", "full_layer_layer_norm"),
)
_LAYERS = "albert.encoder.albert_layer_groups.0.albert_layers"


class AlbertEncoder(BertEncoder):
  """States of words in context."""

  def setup(self) -> None:
    """Makes the parts of a BERT, with one layer and a projection of words, however wide."""
    c, n, running = self.backbone.config, self.backbone.numerics, self.backbone.running
    embeddings = word_embeddings(c, n, width=c.embedding_width)
    self.embeddings = embeddings.clone(output=c.hidden_size)
    sizes = attention_sizes(c, running)
    self.encoder = Encoder(
      *(n, sizes, c.intermediate_size, c.num_hidden_layers, running.remat),
      shared=True,
      mlp_drops=False,
    )
    if self.pooled:
      self.pooler = Pooler(n)


@dataclasses.dataclass(frozen=True)
class AlbertConfig(BertConfig):
  """Sizes of an ALBERT; the defaults are albert-base-v2."""

  vocab_size: int = 30000  # words, special ones included
  embedding_size: int = 128  # width of the tables of words, positions and types
  hidden_act: Activation = "gelu_new"  # activation
  hidden_dropout_prob: float = 0.0  # share of the values of states that are dropped
  attention_probs_dropout_prob: float = 0.0  # share of the attention probabilities that are dropped
  classifier_dropout: float | None = 0.1  # None: as hidden_dropout_prob
  bos_token_id: int = 2  # id that opens a text
  eos_token_id: int = 3  # id that ends a text

  name: ClassVar[str] = "albert"
  title: ClassVar[str] = "ALBERT"
  paper: ClassVar[str] = "[Lan et al., ICLR 2020](https://arxiv.org/abs/1909.11942)"
  module: ClassVar[type] = AlbertEncoder
  model_types: ClassVar[tuple[str, ...]] = ("albert",)
  prefix: ClassVar[str] = "Albert"
  names: ClassVar[PartNames] = PartNames(
    "albert",
    pooler="albert.pooler",
    transform="predictions.dense",
    norm="predictions.LayerNorm",
    decoder="predictions.decoder",
    bias="predictions.bias",
  )
  left_to_right: ClassVar[tuple[str, ...]] = ()
  # Its other head judges the order of sentences, which serves pretraining alone.
  read_as: ClassVar[Mapping[str, str]] = {"AlbertForPreTraining": "AlbertForMaskedLM"}
  field_names: ClassVar[Mapping[str, str]] = {"classifier_dropout": "classifier_dropout_prob"}
  for_prediction = staticmethod(shapes.cast_once)
  takes = System.takes  # no kind that judges pairs
  fixed: ClassVar[Fixed] = {**OF_TRANSFORMERS, "num_hidden_groups": 1, "inner_group_num": 1}
  # The reference goes by names, and this norm is not called LayerNorm.
  layout: ClassVar[Layout] = Layout(
    words=tables_of_words("albert"), decayed=("encoder/layers/mlp_norm/scale",)
  )

  @classmethod
  def keys(cls, kind: str) -> Keys:
    """Returns the names of tensors on disk."""
    of_layer = (
      dataclasses.replace(key, names=tuple(x.format(layer=0) for x in key.names))
      for key in layers("albert/encoder/layers", _LAYERS, _LAYER)
    )
    project = linear("albert/embeddings/project", "albert.encoder.embedding_hidden_mapping_in")
    own: list[Key] = [*project, *of_layer]
    return keys_of(cls.name, cls.names, kind, own=own)

  @property
  def embedding_width(self) -> int:
    """Returns the width of the tables of words, positions and types."""
    return self.embedding_size


def _sizes(width: int, layers: int, heads: int) -> dict[str, Any]:
  names = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")
  return dict(zip(names, (width, layers, heads, 4 * width), strict=True))


SIZES = {
  "albert-base": AlbertConfig(),
  "albert-large": AlbertConfig(**_sizes(1024, 24, 16)),
  "albert-xlarge": AlbertConfig(**_sizes(2048, 24, 16)),
  "albert-xxlarge": AlbertConfig(**_sizes(4096, 12, 64)),
}
