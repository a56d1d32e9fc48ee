"""DistilBERT: half of a BERT's layers, which learned its predictions (Sanh et al., 2019)."""

import dataclasses
from collections.abc import Mapping
from typing import ClassVar

from luke_jax.models.keys import LayerNames
from luke_jax.models.system import Layout
from luke_jax.nn.activations import Activation
from luke_jax.systems.bert.config import BertConfig, tables_of_words
from luke_jax.systems.bert.keys import PartNames

_LAYER = LayerNames(
  *(("attention.q_lin",), "attention.k_lin", "attention.v_lin", "attention.out_lin"),
  *("sa_layer_norm", "ffn.lin1", "ffn.lin2", "output_layer_norm"),
)
# The reference goes by names, and these norms are not called LayerNorm.
_DECAYED = ("encoder/layers/attention_norm", "encoder/layers/mlp_norm", "masked_words/norm")


@dataclasses.dataclass(frozen=True)
class DistilBertConfig(BertConfig):
  """Sizes of a DistilBERT; the defaults are distilbert-base-uncased."""

  num_hidden_layers: int = 6  # layers
  seq_classif_dropout: float = 0.2  # share of a text's state that its classifier drops
  qa_dropout: float = 0.1  # share of the states that the head of answers drops

  # One value each, of which its files say nothing.
  type_vocab_size: ClassVar[int] = 0  # pyrefly: ignore[bad-override]
  layer_norm_eps: ClassVar[float] = 1e-12  # pyrefly: ignore[bad-override]
  classifier_dropout: ClassVar[None] = None  # pyrefly: ignore[bad-override]

  name: ClassVar[str] = "distilbert"
  title: ClassVar[str] = "DistilBERT"
  paper: ClassVar[str] = "[Sanh et al., 2019](https://arxiv.org/abs/1910.01108)"
  model_types: ClassVar[tuple[str, ...]] = ("distilbert",)
  names: ClassVar[PartNames] = PartNames(
    "distilbert",
    layers="transformer.layer",
    layer=_LAYER,
    pooler="pre_classifier",
    transform="vocab_transform",
    norm="vocab_layer_norm",
    decoder="vocab_projector",
    bias="vocab_projector.bias",
  )
  prefix: ClassVar[str] = "DistilBert"
  left_to_right: ClassVar[tuple[str, ...]] = ()
  field_names: ClassVar[Mapping[str, str]] = {
    **{"hidden_size": "dim", "intermediate_size": "hidden_dim", "hidden_act": "activation"},
    **{"num_hidden_layers": "n_layers", "num_attention_heads": "n_heads"},
    **{"hidden_dropout_prob": "dropout", "attention_probs_dropout_prob": "attention_dropout"},
  }
  layout: ClassVar[Layout] = Layout(
    words=tables_of_words("distilbert"), decayed=tuple(f"{norm}/scale" for norm in _DECAYED)
  )
  token_types: ClassVar[bool] = False
  attention_drops_output: ClassVar[bool] = False
  pooled_alone: ClassVar[bool] = False
  pooler_act: ClassVar[Activation | None] = "relu"

  def head_dropout(self, kind: str) -> float:
    """Returns the share of the states that a kind of head drops in training."""
    of_texts = dict.fromkeys(("text", "choice"), self.seq_classif_dropout)
    return {"answer": self.qa_dropout, **of_texts}.get(kind, self.hidden_dropout_prob)


SIZES = {"distilbert-base": DistilBertConfig()}
