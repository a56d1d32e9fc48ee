"""Heads that label entities, pairs, spans, texts or word pieces, or pick a text or an answer."""

from typing import ClassVar, Self

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Shaped

from luke_jax.models.head import Head, LabelHead, Outputs, SavedHead
from luke_jax.models.system import Backbone, States, Tables
from luke_jax.nn import crf, losses
from luke_jax.nn.layers import Dense, Dropout, Numerics

STARTS, ENDS = "entity_start_positions", "entity_end_positions"
Places = Int[Array, "B E"]
TextLabels = Shaped[Array, " B"] | Shaped[Array, "B C"]


def entity_states(states: States, starts: Places | None) -> Float[Array, "B E D"]:
  """Returns the states of the entities, or of the words they start at.

  The latter in a system of words only: with markers in the text that is the opening one, as in the
  paper's RoBERTa baselines.
  """
  if states.entities is not None:
    return states.entities
  if starts is None:
    raise ValueError(f"without entity_ids the model needs {STARTS}")
  return jnp.take_along_axis(states.words, starts[..., None], axis=1)


def span_features(
  words: Float[Array, "B W D"], entities: Float[Array, "B E D"], starts: Places, ends: Places
) -> Float[Array, "B E 3*D"]:
  """Returns first word, last word and entity of every span. Ends are inclusive."""
  parts = [jnp.take_along_axis(words, places[..., None], axis=1) for places in (starts, ends)]
  return jnp.concatenate([*parts, entities], axis=-1)


class EntityHead(LabelHead):
  """Labels of the first entity, as in entity typing."""

  kind: ClassVar[str] = "entity"
  fits: ClassVar[str] = "rows"
  suffix: ClassVar[str] = "ForEntityClassification"
  hub_task: ClassVar[str] = "text-classification"
  entities: ClassVar[int] = 1
  places: ClassVar[tuple[str, ...]] = (STARTS,)

  @nn.compact
  def __call__(
    self, states: States, tables: Tables, *, entity_start_positions: Places | None = None
  ) -> Outputs:
    """Returns logits (B, C)."""
    entity = entity_states(states, entity_start_positions)[:, 0]
    return {"logits": _classified(self.numerics, self.labels, entity)}


class PairHead(LabelHead):
  """Labels of the first two entities, head and tail, as in relation classification."""

  bias: bool = False

  kind: ClassVar[str] = "pair"
  fits: ClassVar[str] = "rows"
  suffix: ClassVar[str] = "ForEntityPairClassification"
  hub_task: ClassVar[str] = "text-classification"
  entities: ClassVar[int] = 2
  places: ClassVar[tuple[str, ...]] = (STARTS,)

  @classmethod
  def saved(cls, backbone: Backbone, saved: SavedHead) -> Self:
    """Returns the head that a model's files describe, with a bias if they have one."""
    return cls(backbone.numerics_of(cls.kind), saved.labels, "classifier.bias" in saved.tensors)

  @nn.compact
  def __call__(
    self, states: States, tables: Tables, *, entity_start_positions: Places | None = None
  ) -> Outputs:
    """Returns logits (B, C)."""
    entities = entity_states(states, entity_start_positions)
    pair = jnp.concatenate([entities[:, 0], entities[:, 1]], axis=-1)
    return {"logits": _classified(self.numerics, self.labels, pair, use_bias=self.bias)}


class SpanHead(LabelHead):
  """Labels of every entity from its first word, its last word and itself, as in NER."""

  kind: ClassVar[str] = "span"
  suffix: ClassVar[str] = "ForEntitySpanClassification"
  hub_task: ClassVar[str] = "token-classification"
  entities: ClassVar[int] = 1
  places: ClassVar[tuple[str, ...]] = (STARTS, ENDS)

  @nn.compact
  def __call__(
    self,
    states: States,
    tables: Tables,
    *,
    entity_start_positions: Places,
    entity_end_positions: Places,
  ) -> Outputs:
    """Returns logits (B, E, C). Ends are inclusive."""
    if states.entities is None:
      return {"logits": self._of_words(states.words, entity_start_positions, entity_end_positions)}
    places = entity_start_positions, entity_end_positions
    features = span_features(states.words, states.entities, *places)
    return {"logits": _classified(self.numerics, self.labels, features)}

  def _of_words(
    self, words: Float[Array, "B W D"], starts: Places, ends: Places
  ) -> Float[Array, "B E C"]:
    """Returns the logits of spans by the words' states alone, each of which is multiplied once.

    The classifier f is affine, so that f(first, last) = f(first, 0) + f(0, last) - f(0, 0).
    """
    classify = Dense(self.numerics, (self.labels,), output="float32", name="classifier")
    none = jnp.zeros_like(words)
    dropped = Dropout(self.numerics.dropout)(jnp.stack([words, words], axis=1))
    of_starts = classify(jnp.concatenate([dropped[:, 0], none], axis=-1))
    of_ends = classify(jnp.concatenate([none, dropped[:, 1]], axis=-1))
    bias = classify(jnp.zeros((2 * words.shape[-1],), words.dtype))
    first = jnp.take_along_axis(of_starts, starts[..., None], axis=1)
    return first + jnp.take_along_axis(of_ends, ends[..., None], axis=1) - bias


class ClozeHead(Head):
  """Scores of every candidate entity for the placeholder, which is the first entity (ReCoRD)."""

  kind: ClassVar[str] = "cloze"
  suffix: ClassVar[str] = "ForCloze"
  hub_task: ClassVar[str] = "question-answering"
  entities: ClassVar[int] = 2
  places: ClassVar[tuple[str, ...]] = (STARTS,)

  @nn.compact
  def __call__(
    self, states: States, tables: Tables, *, entity_start_positions: Places | None = None
  ) -> Outputs:
    """Returns logits (B, E - 1), one for each candidate."""
    entities = entity_states(states, entity_start_positions)
    placeholder = jnp.broadcast_to(entities[:, :1], entities[:, 1:].shape)
    pairs = jnp.concatenate([placeholder, entities[:, 1:]], axis=-1)
    return {"logits": _classified(self.numerics, 1, pairs, name="scorer")[..., 0]}

  def loss(
    self, outputs: Outputs, labels: Int[Array, "B E"], weights: jax.Array | None = None
  ) -> losses.Loss:
    """Returns the loss of candidates: 1 for answers, 0 for others, -100 for padding."""
    return losses.binary_cross_entropy(outputs["logits"], labels, weights)


class TextHead(LabelHead):
  """Labels of the whole text, or one number if there is a single label, or `numbers` by name.

  They are read off the pooled state or, in a system without one, the state of the first word.
  """

  numbers: bool = False

  kind: ClassVar[str] = "text"
  fits: ClassVar[str] = "rows"
  suffix: ClassVar[str] = "ForSequenceClassification"
  in_transformers: ClassVar[bool] = True
  hub_task: ClassVar[str] = "text-classification"
  pooled: ClassVar[bool] = True

  @classmethod
  def saved(cls, backbone: Backbone, saved: SavedHead) -> Self:
    """Returns the head that a model's files describe."""
    numbers = saved.entries.get("problem_type") == "regression"
    return cls(backbone.numerics_of(cls.kind), saved.labels, numbers)

  @nn.compact
  def __call__(self, states: States, tables: Tables) -> Outputs:
    """Returns logits (B, C)."""
    text = states.words[:, 0] if states.pooled is None else states.pooled
    return {"logits": _dense(self.numerics, self.labels, text)}

  def loss(
    self, outputs: Outputs, labels: TextLabels, weights: jax.Array | None = None
  ) -> losses.Loss:
    """Returns the loss of class numbers, of 0 and 1 for every class, or of numbers."""
    return text_loss(outputs, labels, weights, numbers=self.labels == 1 or self.numbers)


def text_loss(
  outputs: Outputs, labels: TextLabels, weights: jax.Array | None, *, numbers: bool
) -> losses.Loss:
  """Returns the squared error of numbers, or the loss of other labels."""
  logits = outputs["logits"]
  if not numbers:
    return losses.label_loss(logits, labels, weights)
  squares = jnp.square(logits - labels.reshape(logits.shape)).mean(-1)
  return losses.mean_where(squares, jnp.ones(squares.shape, bool), weights)


class MeanTextHead(TextHead):
  """Labels of the whole text, from the mean of its words' states."""

  kind: ClassVar[str] = "mean_text"
  suffix: ClassVar[str] = "ForSequenceClassificationByMean"
  in_transformers: ClassVar[bool] = False
  pooled: ClassVar[bool] = False
  shared: ClassVar[tuple[str, ...]] = ("attention_mask",)

  @nn.compact
  def __call__(
    self, states: States, tables: Tables, *, attention_mask: Shaped[Array, "B W"] | None = None
  ) -> Outputs:
    """Returns logits (B, C)."""
    words = states.words.astype(jnp.float32)
    mask = jnp.ones(words.shape[:2]) if attention_mask is None else attention_mask != 0
    text = jnp.einsum("bwd,bw->bd", words, mask / mask.sum(1, keepdims=True))
    return {"logits": _dense(self.numerics, self.labels, text.astype(states.words.dtype))}


class TokenHead(LabelHead):
  """Labels of every word piece."""

  kind: ClassVar[str] = "token"
  fits: ClassVar[str] = "words"
  suffix: ClassVar[str] = "ForTokenClassification"
  in_transformers: ClassVar[bool] = True
  hub_task: ClassVar[str] = "token-classification"

  @nn.compact
  def __call__(self, states: States, tables: Tables) -> Outputs:
    """Returns logits (B, W, C)."""
    return {"logits": _dense(self.numerics, self.labels, states.words)}


class ChoiceHead(Head):
  """Choice of one of several texts; every input has an axis of choices after the batch."""

  kind: ClassVar[str] = "choice"
  suffix: ClassVar[str] = "ForMultipleChoice"
  in_transformers: ClassVar[bool] = True
  pooled: ClassVar[bool] = True
  choices: ClassVar[bool] = True

  @nn.compact
  def __call__(self, states: States, tables: Tables) -> Outputs:
    """Returns logits (B C, 1) of states whose batch axis has all choices."""
    assert states.pooled is not None
    return {"logits": _dense(self.numerics, 1, states.pooled)}

  def loss(
    self, outputs: Outputs, labels: Int[Array, " B"], weights: jax.Array | None = None
  ) -> losses.Loss:
    """Returns the loss of the numbers of the right choices."""
    return losses.cross_entropy(outputs["logits"], labels, weights)


class NextSentenceHead(Head):
  """Classifier of pairs by whether the second text continues the first, as BERT was pretrained."""

  kind: ClassVar[str] = "next_sentence"
  suffix: ClassVar[str] = "ForNextSentencePrediction"
  in_transformers: ClassVar[bool] = True
  pooled: ClassVar[bool] = True

  @nn.compact
  def __call__(self, states: States, tables: Tables) -> Outputs:
    """Returns logits (B, 2); 0 is a text that goes on."""
    assert states.pooled is not None
    dense = Dense(self.numerics, (2,), output="float32", name="next_sentence")
    return {"logits": dense(states.pooled)}

  loss = LabelHead.loss


class AnswerHead(Head):
  """Scores of every word as the start and as the end of an answer."""

  kind: ClassVar[str] = "answer"
  suffix: ClassVar[str] = "ForQuestionAnswering"
  in_transformers: ClassVar[bool] = True
  hub_task: ClassVar[str] = "question-answering"

  @nn.compact
  def __call__(self, states: States, tables: Tables) -> Outputs:
    """Returns start_logits and end_logits (B, W)."""
    logits = _dense(self.numerics, 2, states.words, "qa_outputs")
    return {"start_logits": logits[..., 0], "end_logits": logits[..., 1]}

  def loss(
    self,
    outputs: Outputs,
    start_positions: Int[Array, " B"],
    end_positions: Int[Array, " B"],
    weights: Float[Array, "B 2"] | None = None,
  ) -> losses.Loss:
    """Returns the loss of positions; one outside the text is ignored."""
    logits = jnp.stack([outputs["start_logits"], outputs["end_logits"]], axis=-1)
    positions = jnp.stack([start_positions, end_positions], axis=-1)
    return losses.span_loss(logits, positions, weights)


def _classified(
  numerics: Numerics,
  labels: int,
  features: Float[Array, "*targets D"],
  *,
  name: str = "classifier",
  use_bias: bool = True,
) -> Float[Array, "*targets C"]:
  dropped = Dropout(numerics.dropout)(features)
  return Dense(numerics, (labels,), use_bias=use_bias, output="float32", name=name)(dropped)


def _dense(
  numerics: Numerics, labels: int, features: Float[Array, "*targets D"], name: str = "classifier"
) -> Float[Array, "*targets C"]:
  dropped = Dropout(numerics.of_classifiers)(features)
  return Dense(numerics, (labels,), output="float32", name=name)(dropped)


Legal = tuple[tuple[bool, ...], ...]  # (C + 2, C), as `packed` has it


class ChainHead(LabelHead):
  """Logits of the labels of word pieces, as of `TokenHead`, and the scores of their chain.

  Not every piece has a label; the chain connects those that have one. `legal` are the neighbours
  that training allows; without it all of them are.
  """

  legal: Legal | None = None

  kind: ClassVar[str] = "crf"
  fits: ClassVar[str] = "words"
  suffix: ClassVar[str] = "ForTokenClassificationWithCrf"
  hub_task: ClassVar[str] = "token-classification"

  @nn.compact
  def __call__(self, states: States, tables: Tables) -> Outputs:
    """Returns logits (B, W, C), and the chain's scores (B, C + 2, C), the same for every row."""
    logits = _dense(self.numerics, self.labels, states.words)
    chain = packed(crf.ChainScores(self.labels, self.numerics.init_std, name="crf")())
    return {"logits": logits, "chain": jnp.broadcast_to(chain, (logits.shape[0], *chain.shape))}

  def loss(
    self, outputs: Outputs, labels: Int[Array, "B W"], weights: Float[Array, " B"] | None = None
  ) -> losses.Loss:
    """Returns the mean over rows of the loss of class numbers, -100 where there is none.

    `weights` are those of the rows.
    """
    mask, chain = labels != losses.IGNORED, unpacked(outputs["chain"][0])
    if self.legal is not None:
      chain = crf.constrained(chain, unpacked(jnp.array(self.legal)))
    per_row = crf.path_losses(outputs["logits"], labels, mask, chain)
    return losses.mean_where(per_row, mask.any(1), weights)


def packed(chain: crf.Chain) -> Shaped[Array, "rows C"]:
  """Returns a chain as one array of C + 2 rows: the transitions, the starts and the ends."""
  return jnp.concatenate([chain.transitions, chain.starts[None], chain.ends[None]])


def unpacked(array: Shaped[Array, "rows C"]) -> crf.Chain:
  """Returns the chain in an array."""
  return crf.Chain(array[:-2], array[-2], array[-1])


HEADS = (EntityHead, PairHead, SpanHead, ClozeHead, TextHead, MeanTextHead)
HEADS += (TokenHead, ChainHead, ChoiceHead, NextSentenceHead, AnswerHead)
