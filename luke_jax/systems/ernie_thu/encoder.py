"""Encoder of two streams: words, and the entities aligned to them (Zhang et al. 2019, §3.3).

Both streams have W places. A word that names no entity has a zero vector in the other stream; it
passes nothing on there, since it is masked as a key and its state is zero before it meets the word.
The first word, [CLS], is a key of the entities too, though it names none: so there always is one.
"""

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import flax.linen as nn
import jax
import jax.numpy as jnp

from luke_jax.models.shapes import attention_sizes, word_embeddings
from luke_jax.models.system import Backbone, States, Tables
from luke_jax.nn.activations import activate
from luke_jax.nn.attention import Attention
from luke_jax.nn.embeddings import real_tokens
from luke_jax.nn.encoder import Layer, Pooler, over_layers, remade
from luke_jax.nn.layers import Dense, Dropout, LayerNorm, Numerics, Remat, constrain, keep
from luke_jax.nn.queries import AttentionSizes
from luke_jax.systems.bert.config import BertEncoder

if TYPE_CHECKING:
  from luke_jax.systems.ernie_thu.config import ErnieThuConfig
from typing import ClassVar

import optax

from luke_jax.heads.labels import EntityHead, PairHead, TextHead
from luke_jax.heads.masked import PretrainingHead, picked_states
from luke_jax.models.head import Outputs
from luke_jax.nn.losses import IGNORED

Kind = Literal["sim", "mix", "norm"]
KINDS: tuple[str, ...] = get_args(Kind)


class Streams(NamedTuple):
  """States of words (B, W, D), and of the entities aligned to them (B, W, K)."""

  words: jax.Array
  entities: jax.Array


class Masks(NamedTuple):
  """True where there is a word, and where it has an entity: both (B, W)."""

  words: jax.Array
  entities: jax.Array


class LayerSizes(NamedTuple):
  """Sizes of a layer."""

  words: AttentionSizes
  entities: AttentionSizes
  hidden: int  # F
  output_act: bool  # an activation after the last products


def self_attention(
  numerics: Numerics, sizes: AttentionSizes, x: jax.Array, mask: jax.Array, *, name: str
) -> jax.Array:
  """Returns a stream's normalised sum of itself and its attention, inside of a compact method."""
  nothing = jnp.zeros((x.shape[0], 0), bool)  # all tokens are of one kind
  y = Attention(numerics, sizes, name=name)(x, mask, nothing)
  return LayerNorm(numerics, name=f"{name}_norm")(x + Dropout(numerics.dropout)(y))


class Fusion(nn.Module):
  """Feed-forward network over a word and its entity together; a result for either."""

  numerics: Numerics
  hidden: int  # F
  output_act: bool

  @nn.compact
  def __call__(self, streams: Streams) -> Streams:
    """Returns the sums to add to words (B, W, D) and entities (B, W, K)."""
    n = self.numerics
    rows = [x.reshape(-1, x.shape[-1]) for x in streams]
    # The second bias counts where there is no entity too.
    parts = [Dense(n, (self.hidden,), name=f"{side}up")(x) for side, x in _sides(*rows)]
    # Their sum is kept for the backward pass in place of both.
    hidden = activate(keep(parts[0] + parts[1]), n.activation)
    results = [
      Dense(n, x.shape[-1:], name=f"{side}down")(hidden).reshape(x.shape)
      for side, x in _sides(*streams)
    ]
    return Streams(*(activate(y, n.activation) if self.output_act else y for y in results))


def _sides(words: jax.Array, entities: jax.Array) -> tuple[tuple[str, jax.Array], ...]:
  return ("", words), ("entity_", entities)


class FusedLayer(nn.Module):
  """Attention of the words and, in a `norm`, of the entities; then both meet."""

  numerics: Numerics
  kind: Kind
  sizes: LayerSizes

  @nn.compact
  def __call__(self, streams: Streams, masks: Masks) -> Streams:
    """Maps words (B, W, D) and entities (B, W, K) to the same shapes."""
    n, sizes = self.numerics, self.sizes
    x, e = map(constrain, streams)
    x = self_attention(n, sizes.words, x, masks.words, name="attention")
    if self.kind == "norm":
      e = self_attention(n, sizes.entities, e, masks.entities, name="entity_attention")
    e = jnp.where(masks.entities[..., None], e, 0)
    added = Fusion(n, sizes.hidden, sizes.output_act, name="mlp")(Streams(x, e))
    x = LayerNorm(n, name="mlp_norm")(x + Dropout(n.dropout)(added.words))
    # Not masked again: a word without an entity asks the others in the next layer.
    e = LayerNorm(n, name="entity_mlp_norm")(e + Dropout(n.dropout)(added.entities))
    self.sow("intermediates", "output", x)
    return Streams(x, e)


class EqualLayers(nn.Module):
  """Consecutive layers of one kind, scanned over parameters with a leading layer axis."""

  numerics: Numerics
  kind: Kind
  sizes: LayerSizes
  layers: int
  remat: Remat = "none"

  @nn.compact
  def __call__(self, streams: Streams, masks: Masks) -> Streams:
    """Maps words (B, W, D) and entities (B, W, K) to the same shapes."""
    words_only = self.kind == "sim"
    kind = remade(Layer if words_only else FusedLayer, self.remat)
    nothing = jnp.zeros((streams.words.shape[0], 0), bool)

    def step(layer: nn.Module, streams: Streams) -> tuple[Streams, None]:
      if words_only:
        return streams._replace(words=layer(streams.words, masks.words, nothing)), None
      return layer(streams, masks), None

    scan = over_layers(step, self.layers)
    sizes = self.sizes
    arguments: tuple[Any, ...] = (sizes.words, sizes.hidden) if words_only else (self.kind, sizes)
    return scan(kind(self.numerics, *arguments, name="layers"), streams)[0]


class EncoderRuns(nn.Module):
  """All layers: a scan for each run of equal ones, under the number of its first layer."""

  backbone: "Backbone[ErnieThuConfig]"

  @nn.compact
  def __call__(self, streams: Streams, masks: Masks) -> Streams:
    """Maps words (B, W, D) and entities (B, W, K) to the same shapes; sows the input."""
    config, running = self.backbone.config, self.backbone.running
    self.sow("intermediates", "input", streams.words)
    # The kernel for TPUs takes no attention heads as narrow as those of entities.
    form = "einsum" if running.attention == "einsum" else "blocks"
    entities = AttentionSizes(
      heads=config.num_entity_heads,
      head_size=config.entity_size // config.num_entity_heads,
      dropout=config.attention_probs_dropout_prob,
      form=form,
    )
    words = attention_sizes(config, running)
    sizes = LayerSizes(words, entities, config.intermediate_size, config.fusion_output_act)
    for run in config.runs:
      layers = EqualLayers(
        self.backbone.numerics, run.kind, sizes, run.count, running.remat, name=f"from_{run.first}"
      )
      streams = layers(streams, masks)
    return streams


class ErnieThuEncoder(nn.Module):
  """States of words in context, and of the entities aligned to them."""

  backbone: "Backbone[ErnieThuConfig]"
  pooled: bool

  def setup(self) -> None:
    """Makes the parts; the table of words also decodes masked ones."""
    c, n = self.backbone.config, self.backbone.numerics
    self.embeddings = word_embeddings(c, n)
    self.encoder = EncoderRuns(self.backbone)
    if self.pooled:
      self.pooler = Pooler(n)

  def __call__(
    self,
    *,
    input_ids: jax.Array,
    attention_mask: jax.Array | None = None,
    token_type_ids: jax.Array | None = None,
    position_ids: jax.Array | None = None,
    entity_vectors: jax.Array | None = None,
    entity_mask: jax.Array | None = None,
  ) -> States:
    """Returns the states of words, of the slots beside them, and of the first word.

    `entity_vectors` (B, W, K) are those of the entities aligned to the words, and zero elsewhere;
    `entity_mask` (B, W) is 1 where there is one, by default where a vector is not zero.
    """
    x = self.embeddings(input_ids, token_type_ids, position_ids)
    if entity_vectors is None:
      entity_vectors = jnp.zeros((*input_ids.shape, self.backbone.config.entity_size))
    if entity_mask is None:
      entity_mask = (entity_vectors != 0).any(-1)
    entity_mask = entity_mask.astype(bool) | (jnp.arange(input_ids.shape[1]) == 0)
    masks = Masks(real_tokens(attention_mask, input_ids), entity_mask)
    streams = Streams(x, entity_vectors.astype(x.dtype))
    words, entities = self.encoder(streams, masks)
    pooled = self.pooler(words) if self.pooled else None
    return States(words, pooled=pooled, slots=entities)

  tables = BertEncoder.tables


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
