"""TENER: its sizes, and all that the package knows of it."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from luke_jax.errors import InputError
from luke_jax.models.config_files import OF_TENER, Fixed, check_config
from luke_jax.models.keys import Keys
from luke_jax.models.shapes import cast_once
from luke_jax.models.system import Layout, Recipe, System, TokenCounts
from luke_jax.nn.layers import Numerics
from luke_jax.systems.tener.encoder import TenerEncoder
from luke_jax.systems.tener.layers import KERNEL, Frequencies
from luke_jax.text.rows import Room
from luke_jax.text.whole_words import BIGRAMS, CHARACTERS, LONGEST_WORD, VECTORS

MOST_WORDS = 1_000_000
_MAY_BE_ZERO = ("character_vocab_size", "bigram_vocab_size", "vector_size", "unk_token_id")
# The authors' scripts; the rate differs by data set.
RECIPES = {
  "tagging": Recipe(
    learning_rate=7e-4,
    batch_size=16,
    lengths=4,  # sentences differ much in length, and stand alone
    epochs=100,
    optimizer={"kind": "sgd", "beta1": 0.9, "max_gradient": 5.0, "weight_decay": 0.0},
    task={"crf": True, "context": False, "scheme": "BIOES"},
    warmup_ratio=0.01,
    from_nothing=True,
  )
}


@dataclasses.dataclass(frozen=True)
class TenerConfig(System):
  """Sizes of a TENER; fields that a BERT has too have their names in Hugging Face's config.json.

  The vocabularies are those of a model's `words.json`; 0 characters, bigrams or values of a vector
  leave that part of a word out.
  """

  vocab_size: int = 5  # words, special ones included
  hidden_size: int = 256  # width of the model
  num_hidden_layers: int = 2  # layers
  num_attention_heads: int = 4  # attention heads
  intermediate_size: int = 512  # width between the two products of a layer
  # Attention by direction and distance, or that of a plain transformer with absolute positions.
  encoder: Literal["adatrans", "transformer"] = "adatrans"
  word_size: int = 100  # width of the embeddings of words
  character_encoder: Literal["adatrans", "transformer", "cnn"] = "adatrans"
  character_vocab_size: int = 0  # characters
  character_size: int = 30  # width of the embeddings of characters, and of what is made of them
  num_character_heads: int = 3  # attention heads of the encoder of characters
  bigram_vocab_size: int = 0  # pairs of neighbouring words, which in Chinese are characters
  bigram_size: int = 50  # width of the embeddings of bigrams
  vector_size: int = 0  # width of the vectors per word that a file gives
  vector_layers: int = 1  # of those vectors, whose mixture is learned
  scale: bool = False  # divide the scores of attention by the root of a head's width
  use_k_proj: bool = False  # keys are projected; else they are the states themselves
  e_term: bool = False  # scores also have the product of the key and the distance
  rel_sign: Literal[1, -1] = 1  # distances are counted from the key to the query, or the other way
  freq: Frequencies = "paper"  # sines and cosines as in the paper, or as in the released code
  after_norm: bool = True  # norms follow what they normalise the sum of; else they precede
  hidden_dropout_prob: float = 0.15  # share of the values of states that are dropped
  attention_probs_dropout_prob: float = (
    0.15  # share of the attention probabilities that are dropped
  )
  classifier_dropout: float = 0.4  # share of the last states that are dropped
  embedding_dropout: float = 0.5  # share of the values of words' embeddings that are dropped
  character_dropout: float = 0.3  # share of the values of characters' embeddings that are dropped
  word_dropout: float = 0.02  # share of the words that are read as unknown in training
  layer_norm_eps: float = 1e-5  # added to the variance in layer norms
  pad_token_id: int = 0  # id of padding
  unk_token_id: int = 1  # id of an unknown word
  bos_token_id: int = 2  # id that opens a row, which is not read
  eos_token_id: int = 3  # id that ends a row, which is not read

  name: ClassVar[str] = "tener"
  title: ClassVar[str] = "TENER"
  module: ClassVar[type] = TenerEncoder
  model_types: ClassVar[tuple[str, ...]] = ("tener",)
  prefix: ClassVar[str] = "Tener"
  fixed: ClassVar[Fixed] = OF_TENER
  layout: ClassVar[Layout] = Layout(words=("tener/word/embedding",))
  recipes: ClassVar[Mapping[str, Recipe]] = RECIPES

  def __post_init__(self) -> None:
    check_config(self, _MAY_BE_ZERO)
    widths = {"hidden_size": (self.hidden_size, self.num_attention_heads)}
    widths["character_size"] = (self.character_size, self.num_character_heads)
    relative = {"hidden_size": self.encoder, "character_size": self.character_encoder}
    for name, (width, heads) in widths.items():
      # A head, or with absolute positions the whole, has a sine and a cosine of each frequency.
      even = 2 * heads if relative[name] == "adatrans" else math.lcm(2, heads)
      if width % even:
        raise InputError(f"{name}: {width}; expected a multiple of {even}, for {heads} heads")

  @property
  def room_for_words(self) -> int:
    """Returns the most words of a row, as many as any has: no table of distances ends."""
    return MOST_WORDS

  @classmethod
  def takes(cls, kind: str) -> bool:
    """Returns true if a kind of head can be put on the encoder, which reads no texts whole."""
    return kind in ("token", "crf")

  @classmethod
  def keys(cls, kind: str) -> Keys:
    """Returns the names of tensors on disk."""
    # Names of the authors' files depend on the sizes.
    from luke_jax.systems.tener.keys import KEYS

    return KEYS

  @property
  def numerics(self) -> Numerics:
    """Returns the numbers that all layers share."""
    rate = self.classifier_dropout
    return Numerics(
      None, self.layer_norm_eps, self.hidden_dropout_prob, "relu", classifier_dropout=rate
    )

  @property
  def feed_forward_width(self) -> int:
    """Returns the width between the two products of a layer."""
    return self.intermediate_size

  def beside(self, words: int) -> Mapping[str, Room]:
    """Returns the arrays beside so many words of a row, which words of its own vocabulary have."""
    rooms = {}
    if self.character_vocab_size:
      rooms[CHARACTERS] = Room((words, LONGEST_WORD))
    if self.bigram_vocab_size:
      rooms[BIGRAMS] = Room((words,))
    if self.vector_size:
      rooms[VECTORS] = Room((words, self.vector_layers, self.vector_size), 0, np.float32)
    return rooms

  def products(self, counts: TokenCounts) -> Mapping[str, float]:
    """Returns the multiplications and additions of a forward pass, by the path of their weights."""
    tokens = 2.0 * counts.sequences * counts.words
    d, layers = self.hidden_size, self.num_hidden_layers
    weights, between = _layer(self.encoder, self, d, counts.words)
    weights += 2 * d * self.intermediate_size
    widths = self.word_size + self.vector_size
    widths += self.bigram_size * bool(self.bigram_vocab_size)
    products = {"tener/encoder": tokens * layers * weights, "": tokens * layers * between}
    if self.character_vocab_size:
      c = self.character_size
      widths += c
      if self.character_encoder == "cnn":
        weights, between = KERNEL * c * c, 0.0
      else:
        weights, between = _layer(self.character_encoder, self, c, LONGEST_WORD)
        weights += 4 * c * c
      products["tener/characters"] = tokens * (LONGEST_WORD * weights + c * c)
      products[""] += tokens * LONGEST_WORD * between
    products["tener/input"] = tokens * widths * d
    return products

  for_prediction = staticmethod(cast_once)

  def read_for(self, trained: "TenerConfig") -> "TenerConfig":
    """Returns the sizes that a run trains: what another form of attention has begins fresh."""
    return trained

  @property
  def about(self) -> str:
    """Returns a description for model cards."""
    return (
      "A TENER: whole words and their characters, with attention by direction and distance\n"
      "([Yan et al., 2019](https://arxiv.org/abs/1911.04474))"
    )

  @property
  def not_in_transformers(self) -> str:
    """Returns why transformers has no class for it."""
    return "transformers has no TENER"


def _layer(kind: str, config: TenerConfig, width: int, length: int) -> tuple[float, float]:
  """Returns products of a token with the weights of attention, and with the other tokens."""
  if kind == "transformer":
    return 4 * width * width, 2 * length * width
  projections = 2 + config.use_k_proj
  # Scores by distance are products of another half or two of the width.
  return projections * width * width, (3 + config.e_term) * length * width


def _sizes(heads: int, width: int, layers: int = 2, **fields: Any) -> TenerConfig:
  return TenerConfig(
    hidden_size=heads * width,
    num_attention_heads=heads,
    intermediate_size=2 * heads * width,
    num_hidden_layers=layers,
    **fields,
  )


_CHINESE: dict[str, Any] = {"word_size": 50, "embedding_dropout": 0.3}
# Of the authors' recipes, by data set. Vocabularies come from a user's files.
SIZES: dict[str, TenerConfig] = {
  "tener-conll2003": _sizes(14, 128, character_encoder="cnn"),
  "tener-ontonotes5": _sizes(8, 96),
  "tener-ontonotes4": _sizes(4, 48, **_CHINESE),
  "tener-msra": _sizes(6, 80, **_CHINESE),
  "tener-weibo": _sizes(4, 32, layers=1, **_CHINESE),
  "tener-resume": _sizes(4, 64, **_CHINESE),
}
