"""The protocol between the engine and a task: all that the engine knows of tasks."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import jax
import numpy as np

from luke_jax.models.family import Backbone
from luke_jax.pipeline.reads import Reads

Params = dict[str, Any]
Batch = Mapping[str, Any]  # arrays, rows first


class Records(Protocol):
  """Random access to records; worker processes get it pickled, so it should be small.

  Where it has `lengths`, in words, and the task `words`, batches may be padded to less than these.
  """

  def __len__(self) -> int:
    """Returns the number of records."""
    ...

  def __getitem__(self, index: int) -> Any:
    """Returns one record."""
    ...


class Task(Protocol):
  """Pure functions of a backbone, as methods of a frozen dataclass of settings."""

  @property
  def text_directory(self) -> str | None:
    """Returns the folder of the models' tokenizer and entity vocabulary; None without texts."""
    ...

  def reads(self) -> Reads:
    """Returns the files that its records and rows depend on, but for the text directory's.

    A run goes on only with the same files, and all hosts have to have the same.
    """
    ...

  def initial_params(self, backbone: Backbone, key: jax.Array) -> Params:
    """Returns fresh parameters."""
    ...

  def weights(self, batch: Batch) -> Any:
    """Returns the weights of a batch's targets by its labels: a tree of arrays, rows first.

    They make weighted sums of losses the mean that is trained on, in micro-batches too.
    """
    ...

  def loss(
    self, backbone: Backbone, params: Params, batch: Batch, weights: Any, key: jax.Array | None
  ) -> tuple[jax.Array, dict[str, jax.Array]]:
    """Returns the weighted loss of a batch and numbers to log, the number of "tokens" among them.

    Those of micro-batches are added up. Dropout is on when a key is given.
    """
    ...

  def records(self, backbone: Backbone, split: str) -> Records:
    """Returns the records of "train" or "dev"."""
    ...

  def row_shapes(self, backbone: Backbone) -> dict[str, jax.ShapeDtypeStruct]:
    """Returns the shapes of one row of a batch."""
    ...

  def rows(
    self, backbone: Backbone, records: Sequence[Any], rng: Sequence[np.random.Generator]
  ) -> dict[str, np.ndarray]:
    """Returns records as arrays whose shape depends on the config only; one generator each."""
    ...

  def predict(self, backbone: Backbone, params: Params, batch: Batch) -> Any:
    """Returns the numbers of every row that `score` needs: a tree of arrays, rows first."""
    ...

  def score(self, records: Records, predictions: Any) -> dict[str, float]:
    """Returns metrics of the predictions for all records, in their order."""
    ...
