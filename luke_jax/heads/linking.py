"""Scores of the entities that each name in a text may mean, and of none of them."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from luke_jax.files import Path, in_bucket
from luke_jax.heads.labels import ENDS, STARTS, Places
from luke_jax.models.head import Head, Outputs, SavedHead, States, Tables
from luke_jax.models.system import Backbone
from luke_jax.nn import losses
from luke_jax.nn.layers import Dense, Dropout, LayerNorm, Numerics

VECTORS, PRIORS = "candidate_vectors", "candidate_priors"
SETTLED = "settled_candidates"  # the places of names' entities, -1 where none is settled
ENTRY = "linking_head"  # of config.json
KNOWLEDGE = "knowledge"  # in the model's folder, for one that was moved with it
Logits = Float[Array, "B E choices"]  # of candidates, then of none
UNLIKELY = 1e-4  # the least prior that counts, as of names that are a title and never a link


class LinkingHead(Head):
  """Scores of candidates by their vectors and by how often a name means them.

  A name is read off its first and last word, and its own state where the system has entity tokens.
  Then, `rounds` times, each name reads what the others of its row mean, the surer the more.

  With `entity_width` the encoder reads the names that are settled as their entities. A prediction
  then takes `steps` passes over a text, each of which settles the surest names that are left.
  """

  vectors: int  # width of candidates' vectors
  width: int = 256  # of the space that names and candidates are compared in
  rounds: int = 0
  described_by: str = ""  # hash of the weights by which entities are described, if known
  knowledge: str = ""  # the folder of that name beside the weights, if there is one
  entity_width: int = 0  # of the encoder's vectors of entities; 0: it reads none
  steps: int = 0  # passes in which names are settled; 0: all at once

  kind: ClassVar[str] = "linking"
  suffix: ClassVar[str] = "ForEntityLinking"
  hub_task: ClassVar[str] = "token-classification"
  entities: ClassVar[int] = 1
  places: ClassVar[tuple[str, ...]] = (STARTS, ENDS)
  made_by_task: ClassVar[bool] = True

  @classmethod
  def fresh(cls, backbone: Backbone, labels: int) -> Self:
    """Returns a head for vectors as wide as the backbone's states."""
    return cls(backbone.numerics_of(cls.kind), backbone.config.hidden_size)

  @property
  def own_files(self) -> Mapping[str, str]:
    """Returns the knowledge that was moved with the model, "" if it lies elsewhere."""
    return {KNOWLEDGE: self.knowledge}

  @classmethod
  def saved(cls, backbone: Backbone, saved: SavedHead) -> Self:
    """Returns the head that a model's files describe."""
    entry = saved.entries.get(ENTRY, {})
    beside = saved.directory / KNOWLEDGE
    beside = beside if in_bucket(beside) else beside.absolute()
    return cls(
      backbone.numerics_of(cls.kind),
      entry["vectors"],
      entry["width"],
      entry.get("rounds", 0),
      entry.get("described_by", ""),
      knowledge=str(beside) if beside.is_dir() else "",
      entity_width=entry.get("entity_width", 0),
      steps=entry.get("steps", 0),
    )

  def write(self, directory: Path) -> dict[str, Any]:
    """Returns the entry of config.json."""
    sizes = {"vectors": self.vectors, "width": self.width, "rounds": self.rounds}
    settled = {"entity_width": self.entity_width, "steps": self.steps}
    return {ENTRY: sizes | settled | {"described_by": self.described_by}}

  @property
  def own_inputs(self) -> Mapping[str, tuple[int, ...]]:
    """Returns the shapes, after the batch, of the inputs that no encoder has."""
    return {VECTORS: (2, 1, self.vectors), PRIORS: (2, 1)}

  def setup(self) -> None:
    """Makes the map of candidates' vectors to those that the encoder reads."""
    if self.entity_width and self.entity_width != self.vectors:
      self.settled_transform = Dense(self.numerics, (self.entity_width,), use_bias=False)

  def to_encoder(self, **inputs: Any) -> dict[str, jax.Array]:
    """Returns vectors (B, E, K) of the entities of names that are settled, zeros of others."""
    if not self.entity_width:
      return {}
    candidates = inputs[VECTORS]
    settled = inputs.get(SETTLED, jnp.full(candidates.shape[:2], -1))
    chosen = jax.nn.one_hot(settled, candidates.shape[2], dtype=candidates.dtype)
    vectors = jnp.einsum("bec,beck->bek", chosen, candidates)
    if self.entity_width != self.vectors:
      vectors = self.settled_transform(vectors)
    return {"entity_vectors": vectors}

  def predicted(
    self, read: Callable[[Mapping[str, jax.Array]], Outputs], inputs: Mapping[str, jax.Array]
  ) -> Outputs:
    """Returns the logits of each name as it is settled, the surest names first."""
    if not self.steps or not self.entity_width:
      return read(inputs)
    *shape, candidates = inputs[PRIORS].shape
    named = (inputs[PRIORS] > 0).any(-1)
    at_once = jnp.ceil(named.sum(-1, keepdims=True) / self.steps)

    def settle(state: _Settled) -> _Settled:
      done, places, kept = state
      now = read({**inputs, SETTLED: places})["logits"].astype(kept.dtype)
      kept = jnp.where(done[..., None], kept, now)
      sure = jnp.nan_to_num(jax.nn.softmax(kept).max(-1))  # a name without would never be done
      sure = jnp.where(named & ~done, sure, -1)
      done |= named & ((-sure).argsort(-1).argsort(-1) < at_once)
      best = kept.argmax(-1)
      return done, jnp.where(done & (best < candidates), best, -1), kept

    start = jnp.zeros(shape, bool), jnp.full(shape, -1), jnp.zeros((*shape, candidates + 1))
    left = jax.lax.while_loop(lambda state: (named & ~state[0]).any(), settle, settle(start))
    return {"logits": left[-1]}

  @nn.compact
  def __call__(
    self,
    states: States,
    tables: Tables,
    *,
    entity_start_positions: Places,
    entity_end_positions: Places,
    candidate_vectors: Float[Array, "B E C K"],
    candidate_priors: Float[Array, "B E C"],
    settled_candidates: Places | None = None,
  ) -> Outputs:
    """Returns logits (B, E, C + 1), the last of none of the candidates.

    Ends are inclusive, and priors are 0 for padding. Which names are settled is read by the encoder
    alone.
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
    priors = candidate_priors.astype(jnp.float32)
    by_prior = _Scaled(name="prior_scale")(jnp.log(jnp.maximum(priors, UNLIKELY)))
    by_prior = jnp.where(priors > 0, by_prior, -1e9)
    none = Dense(n, (1,), output="float32", name="none_classifier")(names)

    def logits_of(names: Float[Array, "B E width"]) -> Float[Array, "B E C+1"]:
      alike = jnp.einsum("bek,beck->bec", names, vectors).astype(jnp.float32) / self.width**0.5
      return jnp.concatenate([alike + by_prior, none], axis=-1)

    alone = logits_of(names)
    if not self.rounds:
      return {"logits": alone}
    beside = _Beside(n, name="beside")
    logits = self.again(alone, lambda read: logits_of(beside(names, vectors, read)))
    return {"logits": logits, "alone_logits": alone}

  def again(self, logits: Logits, score: Callable[[Logits], Logits]) -> Logits:
    """Returns the logits after all rounds; `score` returns those of names that read.

    It takes the logits by which each name is read by the others.
    """
    for _ in range(self.rounds):
      logits = score(logits)
    return logits

  def loss(
    self, outputs: Outputs, labels: Places, weights: Float[Array, "B E"] | None = None
  ) -> losses.Loss:
    """Returns the loss of the numbers of candidates, -100 ignored.

    With rounds it is the mean with that of names by themselves, which the first round reads.
    """
    loss = losses.cross_entropy(outputs["logits"], labels, weights)
    if "alone_logits" not in outputs:
      return loss
    return (loss + losses.cross_entropy(outputs["alone_logits"], labels, weights)) / 2


_Settled = tuple[Bool[Array, "B E"], Places, Logits]  # names that are, their places, their logits


class _Beside(nn.Module):
  """Names with what the other names of their row mean: attention to their likely entities.

  A name that means nothing, or is padding, is not read. What is read counts nothing at first.
  """

  numerics: Numerics

  @nn.compact
  def __call__(
    self, names: Float[Array, "B E K"], vectors: Float[Array, "B E C K"], logits: Logits
  ) -> Float[Array, "B E K"]:
    n, width = self.numerics, names.shape[-1]
    chances = jax.nn.softmax(logits)[..., :-1]
    meant = jnp.einsum("bec,beck->bek", chances.astype(vectors.dtype), vectors)
    queries = Dense(n, (width,), name="query")(names)
    scores = jnp.einsum("bik,bjk->bij", queries, meant).astype(jnp.float32) / width**0.5
    scores += jnp.log(jnp.maximum(chances.sum(-1), 1e-9))[:, None]
    scores = jnp.where(jnp.eye(names.shape[1], dtype=bool), -jnp.inf, scores)
    nothing = jnp.zeros((*scores.shape[:-1], 1))  # what a name without others reads
    shares = jax.nn.softmax(jnp.concatenate([scores, nothing], axis=-1))[..., :-1]
    found = jnp.einsum("bij,bjk->bik", shares.astype(meant.dtype), meant)
    found = _Scaled(0.0, name="scale")(Dense(n, (width,), use_bias=False, name="output")(found))
    return LayerNorm(n, name="norm")(names + found)


class _Scaled(nn.Module):
  """Numbers times one that is learned."""

  first: float = 1.0

  @nn.compact
  def __call__(self, x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    scale = self.param("scale", nn.initializers.constant(self.first), (1,))
    return x * scale.astype(x.dtype)


HEADS = (LinkingHead,)
