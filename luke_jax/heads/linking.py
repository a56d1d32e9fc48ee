"""Scores of the entities that each name in a text may mean, and of none of them."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import flax.linen as nn
import jax
import jax.numpy as jnp

from luke_jax.files import Path
from luke_jax.heads.labels import ENDS, STARTS
from luke_jax.models.head import Head, Outputs, SavedHead, States, Tables
from luke_jax.models.system import Backbone
from luke_jax.nn import losses
from luke_jax.nn.layers import Dense, Dropout, LayerNorm

VECTORS, PRIORS = "candidate_vectors", "candidate_priors"
ENTRY = "linking_head"  # of config.json
UNLIKELY = 1e-4  # the least prior that counts, as of names that are a title and never a link


class LinkingHead(Head):
  """Scores of candidates by their vectors and by how often a name means them.

  A name is read off its first and last word, and its own state where the system has entity tokens.
  """

  vectors: int  # width of candidates' vectors
  width: int = 256  # of the space that names and candidates are compared in

  kind: ClassVar[str] = "linking"
  suffix: ClassVar[str] = "ForEntityLinking"
  hub_task: ClassVar[str] = "token-classification"
  entities: ClassVar[int] = 1
  places: ClassVar[tuple[str, ...]] = (STARTS, ENDS)

  @classmethod
  def fresh(cls, backbone: Backbone, labels: int) -> Self:
    """Returns a head for vectors as wide as the backbone's states."""
    return cls(backbone.numerics_of(cls.kind), backbone.config.hidden_size)

  @classmethod
  def saved(cls, backbone: Backbone, saved: SavedHead) -> Self:
    """Returns the head that a model's files describe."""
    entry = saved.entries.get(ENTRY, {})
    return cls(backbone.numerics_of(cls.kind), entry["vectors"], entry["width"])

  def write(self, directory: Path) -> dict[str, Any]:
    """Returns the entry of config.json."""
    return {ENTRY: {"vectors": self.vectors, "width": self.width}}

  @property
  def own_inputs(self) -> Mapping[str, tuple[int, ...]]:
    """Returns the shapes, after the batch, of the inputs that no encoder has."""
    return {VECTORS: (2, 1, self.vectors), PRIORS: (2, 1)}

  @nn.compact
  def __call__(
    self,
    states: States,
    tables: Tables,
    *,
    entity_start_positions: jax.Array,
    entity_end_positions: jax.Array,
    candidate_vectors: jax.Array,
    candidate_priors: jax.Array,
  ) -> Outputs:
    """Returns logits (B, E, C + 1), the last of none of the candidates.

    Starts and inclusive ends are (B, E), vectors (B, E, C, K) and priors (B, E, C), 0 for padding.
    """
    n, places = self.numerics, (entity_start_positions, entity_end_positions)
    features = [jnp.take_along_axis(states.words, x[..., None], axis=1) for x in places]
    if states.entities is not None:
      features.append(states.entities)
    features = Dropout(n.dropout)(jnp.concatenate(features, axis=-1))
    names = nn.gelu(Dense(n, (self.width,), name="name_transform")(features))
    names = LayerNorm(n, name="name_norm")(names)
    vectors = Dense(n, (self.width,), name="candidate_transform")(candidate_vectors)
    vectors = LayerNorm(n, name="candidate_norm")(vectors)
    alike = jnp.einsum("bek,beck->bec", names, vectors).astype(jnp.float32) / self.width**0.5
    priors = candidate_priors.astype(jnp.float32)
    by_prior = _Scaled(name="prior_scale")(jnp.log(jnp.maximum(priors, UNLIKELY)))
    logits = alike + by_prior
    logits = jnp.where(priors > 0, logits, -1e9)
    none = Dense(n, (1,), output="float32", name="none_classifier")(names)
    return {"logits": jnp.concatenate([logits, none], axis=-1)}

  def loss(
    self, outputs: Outputs, labels: jax.Array, weights: jax.Array | None = None
  ) -> jax.Array:
    """Returns the loss of the numbers of candidates (B, E), -100 ignored."""
    return losses.cross_entropy(outputs["logits"], labels, weights)


class _Scaled(nn.Module):
  """Numbers times one that is learned, 1 at first."""

  @nn.compact
  def __call__(self, x: jax.Array) -> jax.Array:
    return x * self.param("scale", nn.initializers.ones, (1,))


HEADS = (LinkingHead,)
