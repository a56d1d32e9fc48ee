"""Heads by their kind."""

from collections.abc import Callable

from luke_jax.heads.answers import AnswerHead
from luke_jax.heads.attributes import Attributes, attributes_head
from luke_jax.heads.chain import ChainHead
from luke_jax.heads.labels import (
  ChoiceHead,
  ClozeHead,
  EntityHead,
  NextSentenceHead,
  PairHead,
  PooledEntityHead,
  PooledPairHead,
  SpanHead,
  TextHead,
  TokenHead,
)
from luke_jax.heads.masked import MaskedHead, PretrainingHead
from luke_jax.models.head import Head
from luke_jax.models.system import NONE, Backbone

# Those that a kind, a backbone and labels say all of.
KINDS = ("masked", "pretraining", "entity", "pair", "span", "cloze", "answer")
KINDS += ("text", "token", "crf", "choice", "next_sentence")

OF_REVIEWS = Attributes(("user", "product"))  # what heads of attributes read by default


def make_head(
  kind: str,
  backbone: Backbone,
  *,
  labels: int = 2,
  bias: bool = False,
  attributes: Attributes | None = None,
) -> Head | None:
  """Returns the head of a kind for a backbone; `bias` is that of the classifier of pairs."""
  numerics = backbone.numerics
  rate = getattr(backbone.config, "classifier_dropout", None)
  dropout = numerics.dropout if rate is None else rate
  make: dict[str, Callable[[], Head | None]] = {
    NONE: lambda: None,
    "masked": lambda: MaskedHead(numerics, backbone.decoders, backbone.spread.axis),
    "pretraining": lambda: PretrainingHead(numerics, backbone.decoders),
    "entity": lambda: EntityHead(numerics, labels),
    "pair": lambda: PairHead(numerics, labels, bias),
    "span": lambda: SpanHead(numerics, labels),
    "cloze": lambda: ClozeHead(numerics),
    "answer": lambda: AnswerHead(numerics),
    "text": lambda: TextHead(numerics, labels, dropout),
    "token": lambda: TokenHead(numerics, labels, dropout),
    "crf": lambda: ChainHead(numerics, labels, dropout),
    "attributes": lambda: attributes_head(backbone, labels, attributes or OF_REVIEWS),
    "choice": lambda: ChoiceHead(numerics, dropout),
    "next_sentence": lambda: NextSentenceHead(numerics),
  }
  if backbone.config.labels_from_first_word:
    make |= {
      "entity": lambda: PooledEntityHead(numerics, labels, dropout),
      "pair": lambda: PooledPairHead(numerics, labels, dropout),
    }
  return make[kind]()
