"""Head that computes nothing, for the states and the attention of an encoder."""

from typing import Any

import jax
import jax.numpy as jnp

from luke_jax.models.head import Head, Outputs
from luke_jax.models.network import Network
from luke_jax.models.system import States, Tables


class Bare(Head):
  """Stands for a head of some kind, which decides on the encoder's parts."""

  kind: str  # pyrefly: ignore[bad-override]
  pooled: bool  # pyrefly: ignore[bad-override]

  def __call__(self, states: States, tables: Tables) -> Outputs:
    """Returns no outputs."""
    return {}

  def loss(self, outputs: Outputs, *labels: Any, **named: Any) -> jax.Array:
    """Returns no loss: there are no outputs."""
    return jnp.zeros(())


def without_head(network: Network, params: dict) -> tuple[Network, dict]:
  """Returns the encoder alone, which reads texts that the head has no use for."""
  backbone, head = network.backbone, network.head
  name = backbone.config.name
  pooled = head is not None and head.pooled
  return Network(backbone, Bare(backbone.numerics, network.kind, pooled)), {name: params[name]}
