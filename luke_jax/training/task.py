"""The protocol between the engine and a task. The engine knows no more of tasks than this."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import jax
import numpy as np

from luke_jax.models.family import Backbone

Params = dict[str, Any]
Batch = Mapping[str, Any]  # arrays, rows first


class Records(Protocol):
  """Random access to records; sent to worker processes, so small when pickled."""

  def __len__(self) -> int:
    """How many there are."""
    ...

  def __getitem__(self, index: int) -> Any:
    """One record."""
    ...


class Task(Protocol):
  """Pure functions of a backbone, as methods of a frozen dataclass of settings."""

  @property
  def text_directory(self) -> str | None:
    """Where the tokenizer and the entity vocabulary of its models are; None if it reads no text."""
    ...

  def initial_params(self, backbone: Backbone, key: jax.Array) -> Params:
    """Fresh parameters."""
    ...

  def loss(
    self, backbone: Backbone, params: Params, batch: Batch, key: jax.Array | None
  ) -> tuple[jax.Array, dict[str, jax.Array]]:
    """The mean loss of a batch and numbers worth logging, the number of "tokens" among them.

    Dropout is on when a key is given.
    """
    ...

  def records(self, backbone: Backbone, split: str) -> Records:
    """The records of "train" or "dev"."""
    ...

  def row_shapes(self, backbone: Backbone) -> dict[str, jax.ShapeDtypeStruct]:
    """Shapes of one row of a batch."""
    ...

  def rows(
    self, backbone: Backbone, records: Sequence[Any], rng: Sequence[np.random.Generator]
  ) -> dict[str, np.ndarray]:
    """Records as arrays of a shape that depends on nothing but the config; one generator each."""
    ...

  def predict(self, backbone: Backbone, params: Params, batch: Batch) -> Any:
    """What evaluation keeps of every row: a tree of arrays, rows first."""
    ...

  def score(self, records: Records, predictions: Any) -> dict[str, float]:
    """Metrics of the predictions for all records, in their order."""
    ...
