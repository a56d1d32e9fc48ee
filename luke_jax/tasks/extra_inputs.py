"""The contract of inputs that a task's rows have beside words and entities."""

import abc
from collections.abc import Mapping

import jax
import numpy as np

from luke_jax.models.system import Backbone
from luke_jax.pipeline.reads import Reads
from luke_jax.text.rows import Room


class ExtraInputs(abc.ABC):
  """Inputs of one kind, such as vectors of entities.

  Rows hold something small in their `extra`, such as the numbers of vectors in a file; batches hold
  what the network reads.
  """

  @abc.abstractmethod
  def rooms(self, backbone: Backbone, words: int) -> Mapping[str, Room]:
    """Returns the room that rows of so many words have for them."""

  def reads(self) -> Reads:
    """Returns the files that they come from."""
    return Reads()

  @abc.abstractmethod
  def check(self, backbone: Backbone) -> None:
    """Raises InputError if the model reads other inputs than these."""

  def shapes(self, backbone: Backbone, words: int) -> Mapping[str, jax.ShapeDtypeStruct]:
    """Returns the shapes of a row's inputs in a batch."""
    rooms = self.rooms(backbone, words).items()
    return {name: jax.ShapeDtypeStruct(room.shape, room.dtype) for name, room in rooms}

  def batch(self, backbone: Backbone, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Returns a batch of padded rows with the inputs in the place of what rows hold."""
    return arrays
