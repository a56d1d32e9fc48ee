"""The contract of heads: what a network reads off the states of its encoder."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import flax.linen as nn
import jax

from luke_jax.models.system import Backbone, States, Tables
from luke_jax.nn.layers import Numerics

Outputs = dict[str, jax.Array]


class Head(nn.Module):
  """A module from states to outputs, with a loss. Its parameters are those of its network."""

  numerics: Numerics

  kind: ClassVar[str]  # in `FineTunedTask.heads` and in the classes of a system
  entities: ClassVar[int] = 0  # entities that a text needs at least
  places: ClassVar[tuple[str, ...]] = ()  # inputs with the places of entities among the words
  choices: ClassVar[bool] = False  # every input has an axis of choices after the batch
  shared: ClassVar[tuple[str, ...]] = ()  # inputs of the encoder that the head reads too

  @property
  def own_inputs(self) -> Mapping[str, tuple[int, ...]]:
    """Returns the shapes, after the batch, of the inputs that no encoder has."""
    return {}

  def on(self, backbone: Backbone) -> Self:
    """Returns the head for another backbone."""
    return self.clone(numerics=backbone.numerics)

  if TYPE_CHECKING:  # each head has arguments of its own; flax has no abstract modules

    def __call__(self, states: States, tables: Tables, **inputs: Any) -> Outputs:
      """Returns outputs, such as "logits"."""
      ...

    def loss(self, outputs: Outputs, *labels: Any, **named: Any) -> jax.Array:
      """Returns the mean loss of labels, or their sum by `weights`."""
      ...


class LabelHead(Head):
  """A head with a number of labels."""

  labels: int
