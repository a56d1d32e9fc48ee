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
from luke_jax.nn.encoder import POLICIES, Layer, Pooler
from luke_jax.nn.layers import Dense, Dropout, LayerNorm, Numerics, Remat, constrain, keep
from luke_jax.nn.queries import AttentionSizes

if TYPE_CHECKING:
  from luke_jax.systems.ernie_thu.config import ErnieThuConfig
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
    kind = Layer if words_only else FusedLayer
    if self.remat != "none":
      kind = nn.remat(kind, policy=POLICIES[self.remat], prevent_cse=False)
    nothing = jnp.zeros((streams.words.shape[0], 0), bool)

    def step(layer: nn.Module, streams: Streams) -> tuple[Streams, None]:
      if words_only:
        return streams._replace(words=layer(streams.words, masks.words, nothing)), None
      return layer(streams, masks), None

    scan = nn.scan(
      step,
      variable_axes={"params": 0, "intermediates": 0},
      split_rngs={"params": True, "dropout": True},
      length=self.layers,
    )
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

  def tables(self) -> Tables:
    """Returns the embeddings that decode masked words."""
    return Tables(self.embeddings.word.embedding)
