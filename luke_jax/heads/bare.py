"""Head that computes nothing, for the states and the attention of an encoder."""

from typing import ClassVar

import flax.linen as nn

from luke_jax.models.family import States, Tables
from luke_jax.models.network import Network
from luke_jax.nn.layers import Numerics


class Bare(nn.Module):
  """Stands for a head of some kind, which decides on the encoder's parts."""

  numerics: Numerics
  kind: str
  choices: ClassVar[bool] = False
  places: ClassVar[tuple[str, ...]] = ()
  entities: ClassVar[int] = 0

  def __call__(self, states: States, tables: Tables) -> dict:
    """Returns no outputs."""
    return {}


def without_head(network: Network, params: dict) -> tuple[Network, dict]:
  """Returns the encoder alone, which reads texts that the head has no use for."""
  backbone = network.backbone
  name = backbone.family.name
  return Network(backbone, Bare(backbone.numerics, network.kind)), {name: params[name]}
