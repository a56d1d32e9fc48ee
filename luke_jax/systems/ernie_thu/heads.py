"""Heads of ERNIE of Tsinghua: labels of whole texts, and entities aligned to words (§3.4)."""

from typing import ClassVar, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax

from luke_jax.heads.labels import EntityHead, PairHead, TextHead
from luke_jax.heads.masked import PretrainingHead, picked_states
from luke_jax.models.head import Outputs
from luke_jax.models.system import States, Tables
from luke_jax.nn.activations import activate
from luke_jax.nn.layers import Dense, Dropout, LayerNorm, Numerics
from luke_jax.nn.losses import IGNORED

_NOT_ONE = -1e9  # the logit of what is no candidate


class WordCandidates(NamedTuple):
  """Entities that a word may be aligned to: ids (B, C), -1 for none, and vectors (B, C, K)."""

  ids: jax.Array
  vectors: jax.Array


class EntityScores(NamedTuple):
  """Losses and hits (B, P) of the predicted entities; 0 where a label is -100."""

  losses: jax.Array
  hits: jax.Array


class PooledEntityHead(TextHead):
  """Labels of the marked entity of a text, from the text's pooled state."""

  kind: ClassVar[str] = EntityHead.kind
  suffix: ClassVar[str] = EntityHead.suffix

  @nn.compact
  def __call__(self, states: States, tables: Tables) -> Outputs:
    """Returns logits (B, C)."""
    assert states.pooled is not None
    n = self.numerics
    dense = Dense(n, (self.labels,), use_bias=False, output="float32", name="classifier")
    return {"logits": dense(Dropout(n.of_classifiers)(states.pooled))}

  loss = EntityHead.loss


class PooledPairHead(TextHead):
  """Labels of the two marked entities of a text, from the text's pooled state."""

  kind: ClassVar[str] = PairHead.kind
  suffix: ClassVar[str] = PairHead.suffix

  loss = EntityHead.loss


class AlignedPretrainingHead(PretrainingHead):
  """Masked words, the next sentence, and the entities that words are aligned to.

  `entity_labels` are numbers of candidates, the distinct ones of a text, or of the whole batch.
  """

  whole_batch: bool = False  # the candidates are the entities of the batch

  def setup(self) -> None:
    """Makes the decoders."""
    super().setup()
    self.aligned_entities = AlignedEntities(self.numerics, self.decoders.vectors)

  def __call__(self, states: States, tables: Tables, **inputs: jax.Array) -> Outputs:
    """Returns the outputs of `PretrainingHead`, and aligned_entities.

    The latter are vectors (B, W, K) or, given labels, entity_losses and entity_hits (B, P).
    """
    of_words = {name: x for name, x in inputs.items() if name in ("masked_positions", "labels")}
    return super().__call__(states, tables, **of_words) | self._aligned(states, inputs)

  def _aligned(self, states: States, inputs: dict[str, jax.Array]) -> Outputs:
    if "entity_labels" not in inputs:
      return {"aligned_entities": self.aligned_entities(states.words)}
    predicted = self.aligned_entities(picked_states(states.words, inputs["aligned_positions"]))
    candidates = WordCandidates(inputs["candidate_ids"], inputs["candidate_vectors"])
    labels = inputs["entity_labels"]
    scores = entity_scores(predicted, labels, candidates, whole_batch=self.whole_batch)
    return {"entity_losses": scores.losses, "entity_hits": scores.hits}


class AlignedEntities(nn.Module):
  """Transform of a word's state to the vector of its entity."""

  numerics: Numerics
  width: int  # K

  @nn.compact
  def __call__(self, states: jax.Array) -> jax.Array:
    """Maps (..., D) to (..., K)."""
    n = self.numerics
    x = activate(Dense(n, (self.width,), name="transform")(states), n.activation)
    return LayerNorm(n, name="norm")(x)


def entity_scores(
  predicted: jax.Array, labels: jax.Array, candidates: WordCandidates, *, whole_batch: bool = False
) -> EntityScores:
  """Returns how well labels (B, P), numbers of candidates, are predicted by vectors (B, P, K).

  An entity that comes more than once is one candidate. Those of a sequence are its own or, with
  `whole_batch`, those of all sequences, and the zero vector of no entity.
  """
  if whole_batch:
    rows, count = candidates.ids.shape
    offset = 1 + count * jnp.arange(rows)[:, None]
    labels = jnp.where(labels == IGNORED, labels, labels + offset).reshape(1, -1)
    ids = jnp.concatenate([jnp.full((1,), -2), candidates.ids.reshape(-1)])
    vectors = candidates.vectors.reshape(rows * count, -1)
    vectors = jnp.concatenate([jnp.zeros_like(vectors[:1]), vectors])
    everywhere = WordCandidates(ids[None], vectors[None])
    flat = entity_scores(predicted.reshape(1, -1, predicted.shape[-1]), labels, everywhere)
    return EntityScores(*(x.reshape(predicted.shape[:2]) for x in flat))
  first = first_places(candidates.ids)
  alone = (candidates.ids != -1) & (first == jnp.arange(first.shape[1]))
  logits = entity_logits(predicted, candidates.vectors)
  logits = jnp.where(alone[:, None], logits, _NOT_ONE)
  mask = labels != IGNORED
  labels = jnp.take_along_axis(first, jnp.where(mask, labels, 0), axis=1)
  losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
  hits = logits.argmax(-1) == labels
  return EntityScores(
    jnp.where(mask, losses, 0.0), jnp.where(mask, hits, False).astype(jnp.float32)
  )


def entity_logits(predicted: jax.Array, vectors: jax.Array) -> jax.Array:
  """Returns float32 products (B, P, C) of vectors (B, P, K) and those of candidates (B, C, K)."""
  return jnp.einsum("bpk,bck->bpc", predicted.astype(jnp.float32), vectors.astype(jnp.float32))


def first_places(ids: jax.Array) -> jax.Array:
  """Returns, for each of the ids (B, C), the place in its row where that id comes first."""
  order = jnp.argsort(ids, axis=1, stable=True)
  inorder = jnp.take_along_axis(ids, order, axis=1)
  starts = jnp.pad(inorder[:, 1:] != inorder[:, :-1], ((0, 0), (1, 0)), constant_values=True)
  places = jnp.arange(ids.shape[1])[None]
  group = jax.lax.cummax(jnp.where(starts, places, 0), axis=1)
  first = jnp.take_along_axis(order, group, axis=1)
  return jnp.put_along_axis(jnp.zeros_like(order), order, first, axis=1, inplace=False)


HEADS = {head.kind: head for head in (PooledEntityHead, PooledPairHead, AlignedPretrainingHead)}
