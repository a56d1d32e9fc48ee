"""Head that finds an answer in a text."""

from typing import ClassVar

import flax.linen as nn
import jax
import jax.numpy as jnp

from luke_jax.models.head import Head, Outputs
from luke_jax.models.system import States, Tables
from luke_jax.nn import losses
from luke_jax.nn.layers import Dense, Dropout


class AnswerHead(Head):
  """Scores of every word as the start and as the end of an answer."""

  kind: ClassVar[str] = "answer"
  suffix: ClassVar[str] = "ForQuestionAnswering"
  in_transformers: ClassVar[bool] = True
  hub_task: ClassVar[str] = "question-answering"

  @nn.compact
  def __call__(self, states: States, tables: Tables) -> Outputs:
    """Returns start_logits and end_logits (B, W)."""
    words = Dropout(self.numerics.of_classifiers)(states.words)
    logits = Dense(self.numerics, (2,), output="float32", name="qa_outputs")(words)
    return {"start_logits": logits[..., 0], "end_logits": logits[..., 1]}

  def loss(
    self,
    outputs: Outputs,
    start_positions: jax.Array,
    end_positions: jax.Array,
    weights: jax.Array | None = None,
  ) -> jax.Array:
    """Returns the loss of positions (B,), weights (B, 2); one outside the text is ignored."""
    logits = jnp.stack([outputs["start_logits"], outputs["end_logits"]], axis=-1)
    positions = jnp.stack([start_positions, end_positions], axis=-1)
    return losses.span_loss(logits, positions, weights)


HEADS = (AnswerHead,)
