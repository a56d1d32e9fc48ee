"""ELECTRA: a BERT that learned which words of a text were replaced (Clark et al., ICLR 2020)."""

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

from luke_jax.models.config_files import OF_TRANSFORMERS, Fixed
from luke_jax.models.system import Layout
from luke_jax.nn.activations import Activation
from luke_jax.systems.bert.config import BertConfig, tables_of_words
from luke_jax.systems.bert.keys import PartNames


@dataclasses.dataclass(frozen=True)
class ElectraConfig(BertConfig):
  """Sizes of an ELECTRA; the defaults are electra-small."""

  hidden_size: int = 256  # width of the model
  num_attention_heads: int = 4  # attention heads
  intermediate_size: int = 1024  # width between the two products of a layer
  embedding_size: int = 128  # width of the tables of words, positions and types
  summary_last_dropout: float = 0.1  # share of a text's state that the choice of a text drops

  name: ClassVar[str] = "electra"
  title: ClassVar[str] = "ELECTRA"
  paper: ClassVar[str] = "[Clark et al., ICLR 2020](https://arxiv.org/abs/2003.10555)"
  model_types: ClassVar[tuple[str, ...]] = ("electra",)
  names: ClassVar[PartNames] = PartNames(
    "electra",
    pooler="sequence_summary.summary",
    transform="generator_predictions.dense",
    norm="generator_predictions.LayerNorm",
    decoder="generator_lm_head",
    bias="generator_lm_head.bias",
    pooler_in_classifier=True,
  )
  prefix: ClassVar[str] = "Electra"
  left_to_right: ClassVar[tuple[str, ...]] = ("ElectraForCausalLM",)
  # The class of most files of the hub, whose head serves pretraining alone.
  read_as: ClassVar[Mapping[str, str]] = {"ElectraForPreTraining": "ElectraModel"}
  fixed: ClassVar[Fixed] = {
    **OF_TRANSFORMERS,
    **{"summary_type": "first", "summary_use_proj": True, "summary_activation": "gelu"},
    **{"summary_proj_to_labels": False, "summary_first_dropout": 0.0},
  }
  layout: ClassVar[Layout] = Layout(words=tables_of_words("electra"))
  pooled_alone: ClassVar[bool] = False
  pooler_act: ClassVar[Activation | None] = "gelu"
  words_activation: ClassVar[Activation | None] = "gelu"

  @property
  def embedding_width(self) -> int:
    """Returns the width of the tables of words, positions and types."""
    return self.embedding_size

  def head_dropout(self, kind: str) -> float:
    """Returns the share of the states that a kind of head drops in training."""
    return self.summary_last_dropout if kind == "choice" else super().head_dropout(kind)


_BASE: dict[str, Any] = {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072}
SIZES = {
  "electra-small": ElectraConfig(),
  "electra-base": ElectraConfig(**_BASE, embedding_size=768),
}
