"""Sizes, heads and files of ModernBERT, Ettin and mmBERT."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal, Self

import flax.linen as nn

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.heads.labels import AnswerHead, TokenHead
from luke_jax.models import shapes
from luke_jax.models.config_files import OF_DECODERS, Fixed, check_config
from luke_jax.models.head import Head, Outputs
from luke_jax.models.keys import Key, Keys, linear, norm, table
from luke_jax.models.system import (
  Backbone,
  Decoders,
  Described,
  Layout,
  States,
  System,
  Tables,
  TokenCounts,
)
from luke_jax.nn.activations import Activation
from luke_jax.nn.layers import Numerics
from luke_jax.systems.modernbert.encoder import SHORT, ModernBertEncoder, Transform


class ModernTokenHead(TokenHead):
  """Labels of every word piece, after one more layer."""

  activation: Activation = "gelu"

  @classmethod
  def fresh(cls, backbone: Backbone, labels: int) -> Self:
    """Returns a head for a backbone, with this number of labels."""
    config = backbone.config
    return cls(backbone.numerics_of(cls.kind), labels, config.classifier_activation)

  @nn.compact
  def __call__(self, states: States, tables: Tables) -> Outputs:
    """Returns logits (B, W, C)."""
    words = Transform(self.numerics, self.activation, name="transform")(states.words)
    return super().__call__(states._replace(words=words), tables)


class ModernAnswerHead(AnswerHead):
  """Scores of every word as the start and the end of an answer, after one more layer."""

  activation: Activation = "gelu"

  @classmethod
  def fresh(cls, backbone: Backbone, labels: int) -> Self:
    """Returns a head for a backbone."""
    return cls(backbone.numerics_of(cls.kind), backbone.config.classifier_activation)

  @nn.compact
  def __call__(self, states: States, tables: Tables) -> Outputs:
    """Returns start_logits and end_logits (B, W)."""
    words = Transform(self.numerics, self.activation, name="transform")(states.words)
    return super().__call__(states._replace(words=words), tables)


@dataclasses.dataclass(frozen=True)
class ModernBertConfig(System):
  """Sizes of a ModernBERT, named as in its config.json; the defaults are ModernBERT-base."""

  vocab_size: int = 50368  # words, special ones included
  hidden_size: int = 768  # width of the model
  num_hidden_layers: int = 22  # layers
  num_attention_heads: int = 12  # attention heads
  intermediate_size: int = 1152  # width of the gates of a layer
  max_position_embeddings: int = 8192  # words of a text at most
  hidden_act: Activation = "gelu"  # activation
  classifier_activation: Activation = "gelu"  # of the layer before a classifier
  classifier_pooling: Literal["cls", "mean"] = "cls"  # states that stand for a text
  classifier_dropout: float = 0.0  # share of the values that classifiers drop
  embedding_dropout: float = 0.0  # share of the values of embeddings that are dropped
  mlp_dropout: float = 0.0  # share of the values of gates that are dropped
  local_attention: int = 128  # words of a window
  global_attn_every_n_layers: int = 3  # layers, of which one reads all words
  global_rope_theta: float = 160000.0  # base of the positions in layers that read all words
  local_rope_theta: float = 10000.0  # base of those in a window
  initializer_range: float = 0.02  # standard deviation of fresh weights
  layer_norm_eps: float = 1e-5  # added to the variance in layer norms
  pad_token_id: int = 50283  # id of padding
  tie_word_embeddings: bool = True  # masked words are decoded with the table of words

  name: ClassVar[str] = "modernbert"
  title: ClassVar[str] = "ModernBERT"
  paper: ClassVar[str] = "[Warner et al., 2024](https://arxiv.org/abs/2412.13663)"
  module: ClassVar[type] = ModernBertEncoder
  prefix: ClassVar[str] = "ModernBert"
  heads: ClassVar[Mapping[str, type[Head]]] = {"token": ModernTokenHead, "answer": ModernAnswerHead}
  field_names: ClassVar[Mapping[str, str]] = {
    **{"hidden_act": "hidden_activation", "layer_norm_eps": "norm_eps"}
  }
  fixed: ClassVar[Fixed] = {
    **OF_DECODERS,
    **{"norm_bias": False, "attention_bias": False, "mlp_bias": False, "classifier_bias": False},
    **{"decoder_bias": True, "attention_dropout": 0.0},
  }
  layout: ClassVar[Layout] = Layout(
    words=("modernbert/embeddings/word/embedding", "masked_words/bias", "word_decoder/embedding")
  )
  adapters: ClassVar[bool] = True
  for_prediction = staticmethod(shapes.cast_once)

  def __post_init__(self) -> None:
    check_config(self)
    if self.local_attention < 2:
      raise InputError(f"local_attention: {self.local_attention}; expected 2 or more words")

  @property
  def is_global(self) -> tuple[bool, ...]:
    """Returns for each layer whether its words read all words."""
    every = self.global_attn_every_n_layers
    return tuple(i % every == 0 for i in range(self.num_hidden_layers))

  def of_outputs(self, numerics: Numerics) -> Numerics:
    """Returns the numbers of products that are added to states, which start the smaller."""
    std = self.initializer_range / (2 * self.num_hidden_layers) ** 0.5
    return dataclasses.replace(numerics, init_std=std)

  @classmethod
  def keys(cls, kind: str) -> Keys:
    """Returns the names of tensors on disk."""
    words = "model.embeddings.tok_embeddings.weight"
    head = linear("qa_outputs", "classifier") if kind == "answer" else ()
    return Keys.of(
      (*_rows(), *head),
      aliases={"decoder.weight": words},
      renames=((r"^(embeddings|layers|final_norm)\.", r"model.\1."),),
      encoder="model",
    )

  @property
  def numerics(self) -> Numerics:
    """Returns the numbers that all layers share."""
    return Numerics(
      self.initializer_range,
      self.layer_norm_eps,
      activation=self.hidden_act,
      classifier_dropout=self.classifier_dropout,
    )

  def head_dropout(self, kind: str) -> float:
    """Returns the share of the states that a kind of head drops in training."""
    return self.classifier_dropout

  @property
  def decoders(self) -> Decoders:
    """Returns the decoders of masked words."""
    activation = self.classifier_activation
    return Decoders(tied=self.tie_word_embeddings, words_activation=activation, words_bias=False)

  def products(self, counts: TokenCounts) -> Mapping[str, float]:
    """Returns the multiplications and additions of a forward pass, by the path of their weights."""
    d, tokens = self.hidden_size, counts.words
    each = 2.0 * counts.sequences
    near = tokens if tokens <= SHORT else 3 * (self.local_attention // 2)
    read = sum(tokens if whole else near for whole in self.is_global)
    widths = self.num_hidden_layers * (4 * d + 3 * self.intermediate_size)
    of_encoder = {
      f"{self.name}/encoder": each * tokens * d * widths,
      "": each * 2 * tokens * d * read,
    }
    return {**shapes.word_products(self.name, self, counts), **of_encoder}

  @property
  def room_for_words(self) -> int:
    """Returns the most words of a text."""
    return self.max_position_embeddings

  @classmethod
  def read_config(cls, raw: dict[str, object], path: Path) -> Described:
    """Returns the contents of a config.json, in the form of either major of transformers.

    What only the fifth has is written as both read it.
    """
    plain = {x: raw[x] for x in raw if x not in ("layer_types", "rope_parameters")}
    return super().read_config(plain | _of_layers(raw, path), path)

  @property
  def about(self) -> str:
    """Returns a description for model cards."""
    return f"A {self.title} ({self.paper})"


def _rows() -> Iterator[Key]:
  """Yields the keys of the encoder, and of the layer before a decoder or a classifier."""
  yield from table("modernbert/embeddings/word", "model.embeddings.tok_embeddings")
  layer, theirs = "modernbert/encoder/from_0/layers", "model.layers.{layer}"
  for ours, name, inputs in (
    ("attention/qkv", "attn.Wqkv", 1),
    ("attention/output", "attn.Wo", 2),
    ("mlp/up", "mlp.Wi", 1),
    ("mlp/down", "mlp.Wo", 1),
  ):
    yield Key(f"{layer}/{ours}/kernel", (f"{theirs}.{name}.weight",), inputs)
  for path, name in (
    ("modernbert/embeddings/norm", "model.embeddings.norm"),
    (f"{layer}/attention_norm", f"{theirs}.attn_norm"),
    (f"{layer}/mlp_norm", f"{theirs}.mlp_norm"),
    ("modernbert/final_norm", "model.final_norm"),
    *((f"{of_head}/norm", "head.norm") for of_head in ("modernbert/pooler", "transform")),
    ("masked_words/norm", "head.norm"),
  ):
    yield norm(path, name)[0]
  for path in ("modernbert/pooler/dense", "transform/dense", "masked_words/transform"):
    yield Key(f"{path}/kernel", ("head.dense.weight",), 1)
  yield Key("masked_words/bias", ("decoder.bias",))
  yield Key("word_decoder/embedding", ("decoder.weight",))


def _of_layers(raw: Mapping[str, Any], path: Path) -> dict[str, object]:
  """Returns the entries that transformers 5 has in other forms: kinds of layers, and bases."""
  found: dict[str, object] = {}
  if kinds := raw.get("layer_types"):
    whole = [kind == "full_attention" for kind in kinds]
    every = next((i for i, x in enumerate(whole) if x and i), len(whole))
    if whole != [i % every == 0 for i in range(len(whole))]:
      raise InputError(f"{path}: layer_types: {kinds}; expected full_attention every so many")
    found["global_attn_every_n_layers"] = every
  for name, kind in (("global", "full_attention"), ("local", "sliding_attention")):
    described = (raw.get("rope_parameters") or {}).get(kind) or {}
    if described.get("rope_type", "default") != "default":
      raise InputError(f"{path}: rope_type: {described['rope_type']!r}; expected 'default'")
    if theta := described.get("rope_theta"):
      found[f"{name}_rope_theta"] = theta
  return found


SIZES = {
  "modernbert-base": ModernBertConfig(),
  "modernbert-large": ModernBertConfig(
    hidden_size=1024, num_hidden_layers=28, num_attention_heads=16, intermediate_size=2624
  ),
}
