"""Head that computes nothing, for the states and the attention of an encoder."""

from typing import ClassVar

import flax.linen as nn

from luke_jax.models.family import States, Tables
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
