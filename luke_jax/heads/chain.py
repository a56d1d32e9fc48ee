"""Head that labels words by a conditional random field over their chain."""

from typing import ClassVar

import flax.linen as nn
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Shaped

from luke_jax.models.head import LabelHead, Outputs
from luke_jax.models.system import States, Tables
from luke_jax.nn import crf, losses
from luke_jax.nn.layers import Dense, Dropout

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
    words = Dropout(self.numerics.of_classifiers)(states.words)
    logits = Dense(self.numerics, (self.labels,), output="float32", name="classifier")(words)
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


HEADS = (ChainHead,)
