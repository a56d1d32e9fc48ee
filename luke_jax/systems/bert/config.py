"""BERT, RoBERTa, XLM-R and CamemBERT: their sizes, and all that the package knows of them."""

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

import flax.linen as nn
import jax
import jax.numpy as jnp

from luke_jax.models import shapes
from luke_jax.models.config_files import OF_TRANSFORMERS, Fixed, check_config
from luke_jax.models.head import Head
from luke_jax.models.keys import Keys
from luke_jax.models.shapes import attention_sizes, word_embeddings, word_products
from luke_jax.models.system import (
  Backbone,
  Decoders,
  Layout,
  Recipe,
  States,
  System,
  Tables,
  TokenCounts,
)
from luke_jax.nn.activations import Activation
from luke_jax.nn.embeddings import real_tokens
from luke_jax.nn.encoder import Encoder, Pooler
from luke_jax.nn.layers import Numerics
from luke_jax.systems.bert.keys import OF_ROBERTA, PartNames, keys_of


class BertEncoder(nn.Module):
  """States of words in context."""

  backbone: "Backbone[BertConfig]"
  pooled: bool

  def setup(self) -> None:
    """Makes the parts; the table of words also decodes masked ones."""
    c, n, running = self.backbone.config, self.backbone.numerics, self.backbone.running
    after, width = c.positions_after_padding, c.embedding_width
    self.embeddings = word_embeddings(c, n, after_padding=after, width=width)
    sizes = dataclasses.replace(attention_sizes(c, running), drops_output=c.attention_drops_output)
    self.encoder: nn.Module = Encoder(
      n, sizes, c.intermediate_size, c.num_hidden_layers, running.remat
    )
    if self.pooled:
      self.pooler = Pooler(n, c.pooler_act)

  def __call__(
    self,
    *,
    input_ids: jax.Array,
    attention_mask: jax.Array | None = None,
    token_type_ids: jax.Array | None = None,
    position_ids: jax.Array | None = None,
  ) -> States:
    """Returns the states of words and of the first word."""
    x = self.embeddings(input_ids, token_type_ids, position_ids)
    no_entities = jnp.zeros((input_ids.shape[0], 0), bool)
    bias = self.bias(input_ids.shape[1])
    words = self.encoder(x, real_tokens(attention_mask, input_ids), no_entities, bias)
    return States(words, pooled=self.pooler(words) if self.pooled else None)

  def bias(self, length: int) -> jax.Array | None:
    """Returns what is added to the scores of all layers, (N, W, W); None for nothing."""
    return None

  def tables(self) -> Tables:
    """Returns the embeddings that decode masked words."""
    return Tables(self.embeddings.word.embedding)


# A RoBERTa under another name: the same arithmetic and vocabulary. It is written as a RoBERTa.
_DATA2VEC = "data2vec-text"
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


def _layout(name: str) -> Layout:
  # The reference goes by names, and RoBERTa's head calls its norm layer_norm, not LayerNorm.
  return Layout(words=tables_of_words(name), decayed=("masked_words/norm/scale",))


def tables_of_words(name: str) -> tuple[str, ...]:
  """Returns the paths of the arrays with a row for each word."""
  return (f"{name}/embeddings/word/embedding", "masked_words/bias", "word_decoder/embedding")


@dataclasses.dataclass(frozen=True)
class BertConfig(System):
  """Sizes of a BERT, named as in Hugging Face's config.json; the defaults are bert-base-uncased."""

  vocab_size: int = 30522  # words, special ones included
  hidden_size: int = 768  # width of the model
  num_hidden_layers: int = 12  # layers
  num_attention_heads: int = 12  # attention heads
  intermediate_size: int = 3072  # width between the two products of a layer
  max_position_embeddings: int = 512  # rows of the position table
  type_vocab_size: int = 2  # types of tokens
  hidden_act: Activation = "gelu"  # activation
  hidden_dropout_prob: float = 0.1  # share of the values of states that are dropped
  attention_probs_dropout_prob: float = 0.1  # share of the attention probabilities that are dropped
  classifier_dropout: float | None = None  # None: as hidden_dropout_prob
  initializer_range: float = 0.02  # standard deviation of fresh weights
  layer_norm_eps: float = 1e-12  # added to the variance in layer norms
  pad_token_id: int = 0  # id of padding
  tie_word_embeddings: bool = True  # masked words are decoded with the table of words

  name: ClassVar[str] = "bert"
  title: ClassVar[str] = "BERT"
  module: ClassVar[type] = BertEncoder
  model_types: ClassVar[tuple[str, ...]] = ("bert",)
  prefix: ClassVar[str] = "Bert"
  names: ClassVar[PartNames] = PartNames("bert")  # on disk
  left_to_right: ClassVar[tuple[str, ...]] = ("BertLMHeadModel",)
  fixed: ClassVar[Fixed] = OF_TRANSFORMERS
  layout: ClassVar[Layout] = Layout(words=tables_of_words("bert"))
  recipes: ClassVar[Mapping[str, Recipe]] = _RECIPES
  token_types: ClassVar[bool] = True
  adapters: ClassVar[bool] = True
  positions_after_padding: ClassVar[bool] = False  # as in RoBERTa
  attention_drops_output: ClassVar[bool] = True  # else only its probabilities
  pooled_alone: ClassVar[bool] = True  # the encoder has a pooler under no head as well
  pooler_act: ClassVar[Activation | None] = None  # None: tanh
  words_activation: ClassVar[Activation | None] = None  # of the decoder; None: hidden_act
  paper: ClassVar[str] = "[Devlin et al., NAACL 2019](https://aclanthology.org/N19-1423/)"

  def __post_init__(self) -> None:
    check_config(self)

  @classmethod
  def keys(cls, kind: str) -> Keys:
    """Returns the names of tensors on disk."""
    return keys_of(cls.name, cls.names, kind)

  @classmethod
  def takes(cls, kind: str) -> bool:
    """Returns true if a kind of head can be put on the encoder; only a BERT judges pairs."""
    return (cls.token_types and cls.pooled_alone) or super().takes(kind)

  @classmethod
  def pooled(cls, head: Head | None) -> bool:
    """Returns true where a head reads the pooled state, and where there is none."""
    return cls.pooled_alone if head is None else head.pooled

  @property
  def inputs(self) -> tuple[str, ...]:
    """Returns the names of the encoder's inputs."""
    without = () if self.type_vocab_size else ("token_type_ids",)
    return tuple(name for name in super().inputs if name not in without)

  @property
  def numerics(self) -> Numerics:
    """Returns the numbers that all layers share."""
    return Numerics(
      self.initializer_range,
      self.layer_norm_eps,
      self.hidden_dropout_prob,
      self.hidden_act,
      classifier_dropout=self.classifier_dropout,
    )

  @property
  def feed_forward_width(self) -> int:
    """Returns the width between the two products of a layer."""
    return self.intermediate_size

  @property
  def embedding_width(self) -> int:
    """Returns the width of the tables of words, positions and types."""
    return self.hidden_size

  @property
  def decoders(self) -> Decoders:
    """Returns the decoders of masked words."""
    return Decoders(tied=self.tie_word_embeddings, words_activation=self.words_activation)

  def products(self, counts: TokenCounts) -> Mapping[str, float]:
    """Returns the multiplications and additions of a forward pass, by the path of their weights."""
    return word_products(self.name, self, counts, self.embedding_width)

  for_prediction = staticmethod(shapes.for_prediction)

  @property
  def about(self) -> str:
    """Returns a description for model cards."""
    return f"A {self.title} ({self.paper})"

  @property
  def room_for_words(self) -> int:
    """Returns the most words of a text."""
    return self.max_position_embeddings


@dataclasses.dataclass(frozen=True)
class RobertaConfig(BertConfig):
  """Sizes of a RoBERTa; the defaults are roberta-base."""

  vocab_size: int = 50265  # words, special ones included
  max_position_embeddings: int = 514  # rows of the position table
  type_vocab_size: int = 1  # types of tokens
  layer_norm_eps: float = 1e-5  # added to the variance in layer norms
  pad_token_id: int = 1  # id of padding
  bos_token_id: int = 0  # id that opens a text
  eos_token_id: int = 2  # id that ends a text

  name: ClassVar[str] = "roberta"
  title: ClassVar[str] = "RoBERTa"
  model_types: ClassVar[tuple[str, ...]] = ("roberta", _DATA2VEC)
  prefix: ClassVar[str] = "Roberta"
  names: ClassVar[PartNames] = OF_ROBERTA
  left_to_right: ClassVar[tuple[str, ...]] = ("RobertaForCausalLM",)
  layout: ClassVar[Layout] = _layout("roberta")
  paper: ClassVar[str] = "[Liu et al., 2019](https://arxiv.org/abs/1907.11692)"
  token_types: ClassVar[bool] = False
  positions_after_padding: ClassVar[bool] = True
  words_activation: ClassVar[Activation | None] = "gelu"
  read_as: ClassVar[Mapping[str, str]] = {"Data2VecText": "Roberta"}

  @property
  def about(self) -> str:
    """Returns a description for model cards."""
    return f"{self.title} ({self.paper})"

  @property
  def room_for_words(self) -> int:
    """Returns the most words of a text: the first positions belong to padding."""
    return self.max_position_embeddings - self.pad_token_id - 1


@dataclasses.dataclass(frozen=True)
class XlmRobertaConfig(RobertaConfig):
  """Sizes of an XLM-R; the defaults are xlm-roberta-base."""

  vocab_size: int = 250002  # words, special ones included

  name: ClassVar[str] = "xlm_roberta"
  title: ClassVar[str] = "XLM-R"
  model_types: ClassVar[tuple[str, ...]] = ("xlm-roberta",)
  prefix: ClassVar[str] = "XLMRoberta"
  left_to_right: ClassVar[tuple[str, ...]] = ("XLMRobertaForCausalLM",)
  layout: ClassVar[Layout] = _layout("xlm_roberta")
  paper: ClassVar[str] = "[Conneau et al., ACL 2020](https://aclanthology.org/2020.acl-main.747/)"


@dataclasses.dataclass(frozen=True)
class CamembertConfig(RobertaConfig):
  """Sizes of a CamemBERT, a RoBERTa of French; the defaults are camembert-base."""

  vocab_size: int = 32005  # words, special ones included
  bos_token_id: int = 5  # id that opens a text
  eos_token_id: int = 6  # id that ends a text

  name: ClassVar[str] = "camembert"
  title: ClassVar[str] = "CamemBERT"
  model_types: ClassVar[tuple[str, ...]] = ("camembert",)
  prefix: ClassVar[str] = "Camembert"
  left_to_right: ClassVar[tuple[str, ...]] = ("CamembertForCausalLM",)
  layout: ClassVar[Layout] = _layout("camembert")
  paper: ClassVar[str] = "[Martin et al., ACL 2020](https://aclanthology.org/2020.acl-main.645/)"


LARGE: dict[str, Any] = {
  "hidden_size": 1024,
  "num_hidden_layers": 24,
  "num_attention_heads": 16,
  "intermediate_size": 4096,
}

SIZES: dict[str, BertConfig] = {
  "minilm": BertConfig(
    hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536
  ),
  "bert-base": BertConfig(),
  "bert-large": BertConfig(**LARGE),
  "roberta-base": RobertaConfig(),
  "roberta-large": RobertaConfig(**LARGE),
  "xlm-roberta-base": XlmRobertaConfig(),
  "xlm-roberta-large": XlmRobertaConfig(**LARGE),
}
