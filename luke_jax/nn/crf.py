"""Linear-chain conditional random fields (Lafferty et al., 2001): sums and best paths over labels.

L is the length of a chain. Places that the mask leaves out, between others too, have no label: the
state is carried over them. Every scan runs over L, for the whole batch at once.
"""

from typing import NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Shaped

from luke_jax.nn.losses import IGNORED

FORBIDDEN = -1e4  # score of what a scheme does not allow; finite, so that gradients are


class Chain(NamedTuple):
  """Scores of neighbouring labels, or, as booleans, which of them are allowed."""

  transitions: Shaped[Array, "C C"]  # from and to
  starts: Shaped[Array, " C"]  # of a path's first label
  ends: Shaped[Array, " C"]  # of its last label


Emissions = Float[Array, "B L C"]
Mask = Bool[Array, "B L"]
Labels = Int[Array, "B L"]


class ChainScores(nn.Module):
  """Chain whose scores are learned.

  They start from normal(0, `init_std`) or, without it, as TENER's: Xavier's and the unit normal,
  which a learning rate for fine-tuning hardly moves.
  """

  labels: int
  init_std: float | None = None

  @nn.compact
  def __call__(self) -> Chain:
    """Returns the scores, in float32."""
    normal, square = nn.initializers.normal(1.0), nn.initializers.xavier_normal()
    if self.init_std is not None:
      normal = square = nn.initializers.normal(self.init_std)
    return Chain(
      self.param("transitions", square, (self.labels, self.labels)),
      self.param("starts", normal, (self.labels,)),
      self.param("ends", normal, (self.labels,)),
    )


def constrained(chain: Chain, allowed: Chain) -> Chain:
  """Returns the chain with `FORBIDDEN` for what is not allowed."""
  pairs = zip(chain, allowed, strict=True)
  return Chain(*(jnp.where(legal, scores, FORBIDDEN) for scores, legal in pairs))


def log_sums(emissions: Emissions, mask: Mask, chain: Chain) -> Float[Array, " B"]:
  """Returns the log of the sum over all paths of e to their scores; 0 for an empty mask."""

  def step(state: tuple[jax.Array, jax.Array], now: tuple[jax.Array, jax.Array]):
    (sums, begun), (scores, real) = state, now
    joined = jax.nn.logsumexp(sums[:, :, None] + chain.transitions, axis=1)
    ahead = jnp.where(begun[:, None], joined, chain.starts) + scores
    return (jnp.where(real[:, None], ahead, sums), begun | real), None

  (sums, begun), _ = jax.lax.scan(step, _beginning(emissions), _by_place(emissions, mask))
  return jnp.where(begun, jax.nn.logsumexp(sums + chain.ends, axis=1), 0.0)


def path_scores(
  emissions: Emissions, labels: Labels, mask: Mask, chain: Chain
) -> Float[Array, " B"]:
  """Returns the scores of paths of labels; those outside the mask do not matter."""
  labels = jnp.where(mask, labels, 0)
  emitted = jnp.take_along_axis(emissions.astype(jnp.float32), labels[..., None], axis=2)[..., 0]
  # The last place of the mask up to each one, -1 before the first.
  latest = jax.lax.cummax(jnp.where(mask, jnp.arange(mask.shape[1]), -1), axis=1)
  before = jnp.pad(latest[:, :-1], ((0, 0), (1, 0)), constant_values=-1)
  previous = jnp.take_along_axis(labels, jnp.maximum(before, 0), axis=1)
  moved = jnp.where(before < 0, chain.starts[labels], chain.transitions[previous, labels])
  last = jnp.take_along_axis(labels, jnp.maximum(latest[:, -1:], 0), axis=1)[:, 0]
  ended = jnp.where(latest[:, -1] < 0, 0.0, chain.ends[last])
  return jnp.where(mask, emitted + moved, 0.0).sum(1) + ended


def path_losses(
  emissions: Emissions, labels: Labels, mask: Mask, chain: Chain
) -> Float[Array, " B"]:
  """Returns the negative log-likelihood of paths of labels; 0 for an empty mask."""
  scores = path_scores(emissions, labels, mask, chain)
  return log_sums(emissions, mask, chain) - scores


def marginals(emissions: Emissions, mask: Mask, chain: Chain) -> Emissions:
  """Returns the probability of each label at each place, over all paths."""
  return jax.grad(lambda scores: log_sums(scores, mask, chain).sum())(emissions.astype(jnp.float32))


def best_paths(emissions: Emissions, mask: Mask, chain: Chain) -> tuple[Labels, Float[Array, " B"]]:
  """Returns the labels of the best path, `IGNORED` outside the mask, and its score."""
  stay = jnp.arange(emissions.shape[-1])

  def step(state: tuple[jax.Array, jax.Array], now: tuple[jax.Array, jax.Array]):
    (best, begun), (scores, real) = state, now
    joined = best[:, :, None] + chain.transitions
    moved = (begun & real)[:, None]
    came_from = jnp.where(moved, joined.argmax(1), stay)
    ahead = jnp.where(begun[:, None], joined.max(1), chain.starts) + scores
    return (jnp.where(real[:, None], ahead, best), begun | real), came_from

  (best, begun), came_from = jax.lax.scan(step, _beginning(emissions), _by_place(emissions, mask))
  best = best + chain.ends

  def back(label: jax.Array, pointers: jax.Array):
    return jnp.take_along_axis(pointers, label[:, None], axis=1)[:, 0], label

  _, labels = jax.lax.scan(back, best.argmax(1), came_from, reverse=True)
  return jnp.where(mask, labels.T, IGNORED), jnp.where(begun, best.max(1), 0.0)


def _beginning(emissions: Emissions) -> tuple[Float[Array, "B C"], Bool[Array, " B"]]:
  """Returns scores and whether a path has begun, which none has."""
  batch, _, labels = emissions.shape
  return jnp.zeros((batch, labels)), jnp.zeros(batch, bool)


def _by_place(emissions: Emissions, mask: Mask) -> tuple[Float[Array, "L B C"], Bool[Array, "L B"]]:
  return jnp.moveaxis(emissions.astype(jnp.float32), 1, 0), mask.astype(bool).T
