"""What a LUKE is and how it runs: one frozen dataclass, and the sizes that have names."""

import dataclasses
import math
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from luke_jax.errors import InputError

AttentionForm = Literal["einsum", "blocks", "pallas"]
Remat = Literal["none", "dots", "full"]


@dataclasses.dataclass(frozen=True)
class LukeConfig:
  """A LUKE's sizes, named as in Hugging Face's config.json, and how to run it.

  The defaults are luke-base as it was released. (The defaults of Hugging Face's own `LukeConfig`
  fit no released model.)
  """

  vocab_size: int = 50267
  entity_vocab_size: int = 500000  # 0: words only, which is RoBERTa
  hidden_size: int = 768
  entity_emb_size: int = 256
  num_hidden_layers: int = 12
  num_attention_heads: int = 12
  intermediate_size: int = 3072
  max_position_embeddings: int = 514
  type_vocab_size: int = 1
  hidden_act: Literal["gelu"] = "gelu"
  hidden_dropout_prob: float = 0.1
  attention_probs_dropout_prob: float = 0.1
  classifier_dropout: float | None = None  # None: as hidden_dropout_prob
  initializer_range: float = 0.02
  layer_norm_eps: float = 1e-5
  use_entity_aware_attention: bool = True
  pad_token_id: int = 1
  bos_token_id: int = 0
  eos_token_id: int = 2
  # Its row learns nothing from look-ups, as in the reference; None: every row learns. In lite
  # models row 0 is [MASK].
  entity_padding_id: int | None = 0
  bert_model_name: str | None = None  # the language model it started from
  tie_word_embeddings: bool = True  # transformers 5 can train the decoder apart from the table
  cls_entity_prediction: bool = False  # pretraining also regresses the page's own entity
  word_positions: Literal["roberta", "bert"] = "roberta"
  num_labels: int = 2
  classifier_bias: bool = False  # of the entity pair classifier

  # How it runs: no part of a model on disk.
  dtype: Literal["float32", "bfloat16"] = "float32"
  attention: AttentionForm = "blocks"
  remat: Remat = "none"
  vocabulary_axis: Literal["data"] | None = None  # of the mesh, that spreads the entity table
  entity_padding_rows: int = 0  # that fill the entity table up for the mesh

  def __post_init__(self) -> None:
    for name, kind in get_type_hints(LukeConfig).items():
      _check(name, getattr(self, name), kind)
    if self.hidden_size % self.num_attention_heads:
      raise InputError(
        f"hidden_size: {self.hidden_size}; expected a multiple of num_attention_heads,"
        f" {self.num_attention_heads}"
      )

  @property
  def entity_rows(self) -> int:
    """Rows of the entity table, those that fill it up included."""
    return self.entity_vocab_size + self.entity_padding_rows

  @property
  def head_size(self) -> int:
    """Width of one attention head."""
    return self.hidden_size // self.num_attention_heads

  @property
  def room_for_words(self) -> int:
    """How many words a text can have: RoBERTa's first positions belong to padding."""
    before = self.pad_token_id + 1 if self.word_positions == "roberta" else 0
    return self.max_position_embeddings - before


RUN_FIELDS = ("dtype", "attention", "remat", "vocabulary_axis", "entity_padding_rows")
_SPECIAL = ("pad_token_id", "bos_token_id", "eos_token_id")
_MAY_BE_ZERO = ("entity_vocab_size", "entity_padding_rows", *_SPECIAL)
_MOST = 2**31 - 1  # ids are 32-bit


def _check(name: str, value: Any, kind: Any) -> None:
  """Refuses a value of another type than the field's, or out of its range."""
  optional = NoneType in get_args(kind)
  if optional and value is None:
    return
  if optional:
    (kind,) = (k for k in get_args(kind) if k is not NoneType)
  expected = None
  if get_origin(kind) is Literal:
    if value not in get_args(kind):
      expected = f"one of {', '.join(map(repr, get_args(kind)))}"
  elif kind is int:
    least = 0 if name in _MAY_BE_ZERO or optional else 1
    if type(value) is not int or not least <= value <= _MOST:
      expected = f"a whole number from {least} to {_MOST}"
  elif kind is float:
    most = 1.0 if "dropout" in name else math.inf
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 <= value < most:
      expected = "a number from 0" + (" to below 1" if most == 1.0 else "")
  elif kind is bool and type(value) is not bool:
    expected = "true or false"
  elif kind is str and not isinstance(value, str):
    expected = "a string"
  if expected:
    raise InputError(f"{name}: {value!r}; expected {expected}")


_LARGE: dict[str, Any] = {
  "hidden_size": 1024,
  "num_hidden_layers": 24,
  "num_attention_heads": 16,
  "intermediate_size": 4096,
}
_ROBERTA: dict[str, Any] = {
  "vocab_size": 50265,
  "entity_vocab_size": 0,
  "use_entity_aware_attention": False,
}
_MLUKE: dict[str, Any] = {
  "vocab_size": 250004,
  "entity_vocab_size": 1200001,
  "use_entity_aware_attention": False,
}
# What each family starts from, and where it differs from luke-base.
_FAMILIES = {
  "luke": ("roberta", {}),
  "mluke": ("xlm-roberta", _MLUKE),
  "roberta": ("roberta", _ROBERTA),
}


def _sizes() -> dict[str, LukeConfig]:
  sizes = {}
  for family, (base, fields) in _FAMILIES.items():
    for size, shape in (("base", {}), ("large", _LARGE)):
      config = LukeConfig(**fields, **shape, bert_model_name=f"{base}-{size}")
      sizes[f"{family}-{size}"] = config
      if family != "roberta":
        sizes[f"{family}-{size}-lite"] = dataclasses.replace(config, entity_vocab_size=4)
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
