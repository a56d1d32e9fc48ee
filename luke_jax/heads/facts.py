"""Scores of every relation between every two names of a text, in one pass over it."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from luke_jax.errors import InputError
from luke_jax.heads.labels import ENDS, STARTS, Places
from luke_jax.models.head import LabelHead, Outputs, SavedHead, States, Tables
from luke_jax.models.system import Backbone
from luke_jax.nn import losses
from luke_jax.nn.layers import Dense, Dropout, initializer, parameter

MENTIONS, TYPES = "name_mentions", "name_types"
ENTRY = "fact_types"  # of config.json: the number of types that names may have
NAMES, MENTIONS_OF_NAME = 40, 8  # that a row has room for
WIDTH, BLOCK = 192, 8  # of the vectors of names, and of the parts that are multiplied
NEVER = -1e9  # logit of what is left out
ASKING, ASKED = 6, 32  # heads of the attention of names over words, and their width


class FactHead(LabelHead):
  """Logits of all relations of all pairs of names, each above 0 if the relation holds.

  A name is the mean of its mentions: of their first and last words, and of their own states where
  the system has entity tokens. Two names are scored by a product in blocks, by what both attend to
  among the words (Zhou et al., AAAI 2021), and by their types. What holds has to beat a threshold
  that is learnt for each pair, which is taken off the logits.
  """

  types: int = 0  # that names may have

  kind: ClassVar[str] = "facts"
  hub_task: ClassVar[str] = "text-classification"
  entities: ClassVar[int] = 1
  places: ClassVar[tuple[str, ...]] = (STARTS, ENDS)
  shared: ClassVar[tuple[str, ...]] = ("attention_mask",)
  made_by_task: ClassVar[bool] = True

  @classmethod
  def saved(cls, backbone: Backbone, saved: SavedHead) -> Self:
    """Returns the head that a model's files describe."""
    return cls(backbone.numerics_of(cls.kind), saved.labels, int(saved.entries.get(ENTRY, 0)))

  def write(self, directory: Any) -> dict[str, Any]:
    """Returns the entry of config.json."""
    return {ENTRY: self.types}

  @property
  def own_inputs(self) -> Mapping[str, tuple[int, ...]]:
    """Returns the shapes, after the batch, of the inputs that no encoder has.

    The mentions of each name are numbers of entities from 1, and its type is one from 1; 0 is none.
    """
    return {MENTIONS: (NAMES, MENTIONS_OF_NAME), TYPES: (NAMES,)}

  def check_inputs(self, inputs: Mapping[str, np.ndarray]) -> None:
    """Raises InputError for types that the head does not know."""
    if (largest := int(np.max(inputs[TYPES], initial=0))) > self.types:
      raise InputError(f"{TYPES}: {largest}; expected at most {self.types}")

  @nn.compact
  def __call__(
    self,
    states: States,
    tables: Tables,
    *,
    entity_start_positions: Places,
    entity_end_positions: Places,
    name_mentions: Int[Array, "B N M"],
    name_types: Int[Array, "B N"],
    attention_mask: Int[Array, "B W"] | None = None,
  ) -> Outputs:
    """Returns logits (B, N, N, C) of heads and tails, without meaning for names that are none."""
    n, words = self.numerics, Dropout(self.numerics.dropout)(states.words)
    mentions = self._mentions(words, states.entities, entity_start_positions, entity_end_positions)
    types = jax.nn.one_hot(name_types, self.types + 1, dtype=mentions.dtype)
    names = jnp.concatenate([_means(mentions, name_mentions), types], axis=-1)  # (B, N, F)
    head, tail = (
      Dropout(n.dropout)(jnp.tanh(Dense(n, (WIDTH,), name=f"fact_{side}")(names)))
      for side in ("head", "tail")
    )
    pairs = head[:, :, None] + tail[:, None] + self._context(head, tail, words, attention_mask)
    pairs = Dropout(n.dropout)(nn.gelu(pairs))
    logits = Dense(n, (self.labels + 1,), output="float32", name="fact_pair")(pairs)
    logits += self._products(head, tail) + self._of_types(types)
    return {"logits": logits[..., :-1] - logits[..., -1:]}

  def _mentions(
    self,
    words: Float[Array, "B W D"],
    entities: Float[Array, "B E D"] | None,
    starts: Places,
    ends: Places,
  ) -> Float[Array, "B E F"]:
    """Returns the means of mentions' first and last words, and their own states if any."""
    first, last = (jnp.take_along_axis(words, x[..., None], axis=1) for x in (starts, ends))
    edges = (first + last) / 2
    if entities is None:
      return edges
    return jnp.concatenate([edges, Dropout(self.numerics.dropout)(entities)], axis=-1)

  def _products(
    self, head: Float[Array, "B N WIDTH"], tail: Float[Array, "B N WIDTH"]
  ) -> Float[Array, "B N N C"]:
    """Returns a form of head and tail for each relation, in blocks along the diagonal.

    Heads are multiplied first, so that the cost of pairs is that of one block.
    """
    n, labels = self.numerics, self.labels + 1
    shape = (WIDTH // BLOCK, BLOCK, BLOCK * labels)
    kernel = _Weights(initializer(n, 1 / WIDTH), shape, name="fact_blocks")().astype(n.dtype)
    parts = (*head.shape[:2], shape[0], BLOCK)
    of_heads = jnp.einsum("bngi,gix->bngx", head.reshape(parts), kernel)
    of_heads = of_heads.reshape(*parts, labels)
    wide = {"preferred_element_type": jnp.float32}
    return jnp.einsum("bhgjc,btgj->bhtc", of_heads, tail.reshape(parts), **wide)

  def _context(
    self,
    head: Float[Array, "B N WIDTH"],
    tail: Float[Array, "B N WIDTH"],
    words: Float[Array, "B W D"],
    mask: Int[Array, "B W"] | None,
  ) -> Float[Array, "B N N WIDTH"]:
    """Returns what both names of each pair attend to: the product of their attention, as shares."""
    keys = Dense(self.numerics, (ASKING, ASKED), name="fact_key")(words)
    values = Dense(self.numerics, (WIDTH,), name="fact_value")(words)
    query = Dense(self.numerics, (ASKING, ASKED), name="fact_query")
    of_heads, of_tails = (_shares(query(x), keys, mask) for x in (head, tail))
    both = jnp.einsum("bahw,batw->bhtw", of_heads, of_tails)
    both /= both.sum(-1, keepdims=True) + 1e-9
    return jnp.einsum("bhtw,bwd->bhtd", both.astype(values.dtype), values)

  def _of_types(self, types: Float[Array, "B N T"]) -> Float[Array, "B N N C"]:
    """Returns what the types of head and tail say by themselves."""
    shape = (types.shape[-1], types.shape[-1], self.labels + 1)
    kernel = _Weights(nn.initializers.zeros, shape, name="fact_types")()
    return jnp.einsum("bhs,btu,suc->bhtc", *(types.astype(jnp.float32),) * 2, kernel)

  def loss(
    self,
    outputs: Outputs,
    labels: Int[Array, "B N N C"],
    weights: Float[Array, "B N N"] | None = None,
  ) -> losses.Loss:
    """Returns the loss of pairs: 1 for what holds, 0 for what does not, -100 ignored.

    What holds competes with the threshold, and the threshold with what does not.
    """
    logits = outputs["logits"].astype(jnp.float32)
    right = _with_threshold(jnp.where(labels == 1, logits, NEVER))
    wrong = _with_threshold(jnp.where(labels == 0, logits, NEVER))
    of_right = jnp.where(labels == 1, right[..., None] - logits, 0).sum(-1)
    return losses.mean_where(of_right + wrong, (labels != losses.IGNORED).any(-1), weights)


class _Weights(nn.Module):
  """Numbers that are learnt, under a name of their own."""

  initializer: nn.initializers.Initializer
  shape: tuple[int, ...]

  @nn.compact
  def __call__(self) -> jax.Array:
    return parameter(self, "weights", self.initializer, self.shape)


def _shares(
  queries: Float[Array, "B N A H"], keys: Float[Array, "B W A H"], mask: Int[Array, "B W"] | None
) -> Float[Array, "B A N W"]:
  """Returns how much names attend to each word, by heads."""
  scores = jnp.einsum("bnah,bwah->banw", queries, keys, preferred_element_type=jnp.float32)
  scores /= math.sqrt(ASKED)
  if mask is not None:
    scores = jnp.where(mask[:, None, None] != 0, scores, jnp.finfo(jnp.float32).min)
  return jax.nn.softmax(scores)


def _with_threshold(logits: Float[Array, "B N N C"]) -> Float[Array, "B N N"]:
  """Returns the logarithm of the sum of the exponentials, the threshold's of 1 among them."""
  return jax.nn.logsumexp(jnp.concatenate([logits, jnp.zeros_like(logits[..., :1])], -1), axis=-1)


def _means(mentions: Float[Array, "B E F"], numbers: Int[Array, "B N M"]) -> Float[Array, "B N F"]:
  """Returns the means of names' mentions, by their numbers from 1; zeros of names without."""
  there = (numbers > 0)[..., None].astype(mentions.dtype)
  places = jnp.maximum(numbers - 1, 0).reshape(numbers.shape[0], -1, 1)
  of_names = jnp.take_along_axis(mentions, places, axis=1).reshape(*numbers.shape, -1)
  return (of_names * there).sum(2) / jnp.maximum(there.sum(2), 1)


HEADS = (FactHead,)
