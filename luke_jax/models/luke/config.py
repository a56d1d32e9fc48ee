"""Sizes of a LUKE: one frozen dataclass, and the named sizes."""

import dataclasses
from typing import TYPE_CHECKING, Any, Literal

from luke_jax.models.checks import check_config
from luke_jax.nn.activations import Activation

if TYPE_CHECKING:
  from luke_jax.models.family import Family


@dataclasses.dataclass(frozen=True)
class LukeConfig:
  """Sizes of a LUKE, named as in Hugging Face's config.json.

  The defaults are luke-base as it was released. (The defaults of Hugging Face's own `LukeConfig`
  fit no released model.)
  """

  vocab_size: int = 50267  # words, special ones included
  entity_vocab_size: int = 500000  # 0: words only
  hidden_size: int = 768  # width of the model
  entity_emb_size: int = 256  # width of an entity embedding
  num_hidden_layers: int = 12  # layers
  num_attention_heads: int = 12  # attention heads
  intermediate_size: int = 3072  # width between the two products of a layer
  max_position_embeddings: int = 514  # rows of the position table
  type_vocab_size: int = 1  # types of tokens
  hidden_act: Activation = "gelu"  # activation
  hidden_dropout_prob: float = 0.1  # share of the values of states that are dropped
  attention_probs_dropout_prob: float = 0.1  # share of the attention probabilities that are dropped
  classifier_dropout: float | None = None  # None: as hidden_dropout_prob
  initializer_range: float = 0.02  # standard deviation of fresh weights
  layer_norm_eps: float = 1e-5  # added to the variance in layer norms
  # Four queries, by the kinds of both tokens (paper, section 3.2).
  use_entity_aware_attention: bool = True
  pad_token_id: int = 1  # id of padding
  bos_token_id: int = 0  # id that opens a text
  eos_token_id: int = 2  # id that ends a text
  # Its row learns nothing from look-ups, as in the reference; None: every row learns. In lite
  # models row 0 is [MASK].
  entity_padding_id: int | None = 0
  bert_model_name: str | None = None  # the language model it started from
  tie_word_embeddings: bool = True  # transformers 5 can train the decoder apart from the table
  tie_entity_embeddings: bool = True  # the same of entities; only the tensors of a file say so
  cls_entity_prediction: bool = False  # pretraining also regresses the page's own entity
  # Counted as in RoBERTa, after its pad id, or as in BERT, from 0.
  word_positions: Literal["roberta", "bert"] = "roberta"

  def __post_init__(self) -> None:
    check_config(self, may_be_zero=("entity_vocab_size",))

  @property
  def family(self) -> "Family":
    """Returns the system that these sizes are of."""
    from luke_jax.models.luke.family import LUKE

    return LUKE

  @property
  def room_for_words(self) -> int:
    """Returns the most words of a text: RoBERTa's first positions belong to padding."""
    before = self.pad_token_id + 1 if self.word_positions == "roberta" else 0
    return self.max_position_embeddings - before


_LARGE: dict[str, Any] = {
  "hidden_size": 1024,
  "num_hidden_layers": 24,
  "num_attention_heads": 16,
  "intermediate_size": 4096,
}
_MLUKE: dict[str, Any] = {
  "vocab_size": 250004,
  "entity_vocab_size": 1200001,
  "use_entity_aware_attention": False,
}
# Each with the language model it starts from, and where it differs from luke-base.
_RELEASED: dict[str, tuple[str, dict[str, Any]]] = {
  "luke": ("roberta", {}),
  "mluke": ("xlm-roberta", _MLUKE),
}


def _sizes() -> dict[str, LukeConfig]:
  sizes = {}
  for name, (base, fields) in _RELEASED.items():
    for size, shape in (("base", {}), ("large", _LARGE)):
      config = LukeConfig(**fields, **shape, bert_model_name=f"{base}-{size}")
      sizes[f"{name}-{size}"] = config
      sizes[f"{name}-{size}-lite"] = dataclasses.replace(config, entity_vocab_size=4)
  sizes["tiny"] = LukeConfig(
    vocab_size=1000,
    entity_vocab_size=200,
    hidden_size=64,
    entity_emb_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=128,
  )
  return sizes


SIZES: dict[str, LukeConfig] = _sizes()
