"""Sizes of BERT, RoBERTa, XLM-R and CamemBERT."""

import dataclasses
from typing import TYPE_CHECKING, Any

from luke_jax.models.checks import check_config
from luke_jax.nn.activations import Activation

if TYPE_CHECKING:
  from luke_jax.models.family import Family


@dataclasses.dataclass(frozen=True)
class BertConfig:
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

  def __post_init__(self) -> None:
    check_config(self)

  @property
  def family(self) -> "Family":
    """Returns the system that these sizes are of."""
    from luke_jax.models.bert.families import BERT

    return BERT

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

  @property
  def family(self) -> "Family":
    """Returns the system that these sizes are of."""
    from luke_jax.models.bert.families import ROBERTA

    return ROBERTA

  @property
  def room_for_words(self) -> int:
    """Returns the most words of a text: the first positions belong to padding."""
    return self.max_position_embeddings - self.pad_token_id - 1


@dataclasses.dataclass(frozen=True)
class XlmRobertaConfig(RobertaConfig):
  """Sizes of an XLM-R; the defaults are xlm-roberta-base."""

  vocab_size: int = 250002  # words, special ones included

  @property
  def family(self) -> "Family":
    """Returns the system that these sizes are of."""
    from luke_jax.models.bert.families import XLM_ROBERTA

    return XLM_ROBERTA


@dataclasses.dataclass(frozen=True)
class CamembertConfig(RobertaConfig):
  """Sizes of a CamemBERT, a RoBERTa of French; the defaults are camembert-base."""

  vocab_size: int = 32005  # words, special ones included
  bos_token_id: int = 5  # id that opens a text
  eos_token_id: int = 6  # id that ends a text

  @property
  def family(self) -> "Family":
    """Returns the system that these sizes are of."""
    from luke_jax.models.bert.families import CAMEMBERT

    return CAMEMBERT


_LARGE: dict[str, Any] = {
  "hidden_size": 1024,
  "num_hidden_layers": 24,
  "num_attention_heads": 16,
  "intermediate_size": 4096,
}

SIZES: dict[str, BertConfig] = {
  "bert-base": BertConfig(),
  "bert-large": BertConfig(**_LARGE),
  "roberta-base": RobertaConfig(),
  "roberta-large": RobertaConfig(**_LARGE),
  "xlm-roberta-base": XlmRobertaConfig(),
  "xlm-roberta-large": XlmRobertaConfig(**_LARGE),
}
