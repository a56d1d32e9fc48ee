"""The contract between the engine and a task: all that the engine knows of tasks."""

import abc
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import jax
import numpy as np

from luke_jax.models.system import Backbone
from luke_jax.pipeline.batches import Records
from luke_jax.pipeline.reads import Reads

Tree = Any  # of arrays, as in `jax.tree`
Params = dict[str, Any]  # such a tree
DEV = "dev"  # the split that a run is scored on
Batch = Mapping[str, Any]  # arrays, rows first
# Trained and frozen parameters, the average of the trained ones if there is one, moments, step,
# skipped, key.
State = dict[str, Any]
Update = Callable[[State, Batch], tuple[State, dict[str, jax.Array]]]


class Settings(abc.ABC):
  """A task as an experiment has it: a frozen dataclass of settings."""

  name: ClassVar[str]  # of the task, in commands and model cards
  heads: ClassVar[tuple[str, ...]] = ()  # kinds of heads, of luke_jax.heads, that it may have

  @property
  def head(self) -> str:
    """Returns the kind of head that it has with its settings."""
    return self.heads[0]

  @abc.abstractmethod
  def engine(self) -> "Task":
    """Returns the functions by which the engine trains it."""


class Task(Settings):
  """Pure functions of a backbone; where they are the settings' own methods, both are one class."""

  markers: ClassVar[bool] = True  # its tokenizer has LUKE's markers of entities

  @property
  def text_directory(self) -> str | None:
    """Returns the folder of the models' tokenizer and entity vocabulary; None without texts."""
    return None

  def engine(self) -> "Task":
    """Returns itself."""
    return self

  @property
  def splits(self) -> Mapping[str, str]:
    """Returns the files of examples by split; none where records come from elsewhere."""
    return {}

  @property
  def folders(self) -> tuple[str, ...]:
    """Returns the folders of records of all splits."""
    return ()

  @property
  def scored(self) -> bool:
    """Returns whether there are records of "dev", to score checkpoints on."""
    return True

  @property
  def choosing(self) -> str:
    """Returns the split that chooses checkpoints: "dev", or one that is a part of it."""
    return DEV

  @abc.abstractmethod
  def reads(self) -> Reads:
    """Returns the files that its records and rows depend on, but for the text directory's.

    A run goes on only with the same files, and all hosts have to have the same.
    """

  @abc.abstractmethod
  def initial_params(self, backbone: Backbone, key: jax.Array) -> Params:
    """Returns fresh parameters."""

  @abc.abstractmethod
  def weights(self, batch: Batch) -> Tree:
    """Returns the weights of a batch's targets by its labels: a tree of arrays, rows first.

    They make weighted sums of losses the mean that is trained on, in micro-batches too.
    """

  @abc.abstractmethod
  def loss(
    self, backbone: Backbone, params: Params, batch: Batch, weights: Tree, key: jax.Array | None
  ) -> tuple[jax.Array, dict[str, jax.Array]]:
    """Returns the weighted loss of a batch and numbers to log, the number of "tokens" among them.

    Those of micro-batches are added up. Dropout is on when a key is given.
    """

  @abc.abstractmethod
  def records(self, backbone: Backbone, split: str) -> Records:
    """Returns the records of "train" or "dev"."""

  def lengths(self, records: Any) -> np.ndarray | None:
    """Returns the lengths of records in words, where batches may be padded to less than `words`.

    None: all batches have one shape.
    """
    return None

  def of_length(self, words: int) -> Settings:
    """Returns the settings with so many words a row, by their field `words`, if it has lengths."""
    own: Any = self
    return dataclasses.replace(own, words=words)

  def at_step(self, step: int) -> "Task":
    """Returns the task that makes the rows of a training step, of the same shapes."""
    return self

  @abc.abstractmethod
  def row_shapes(self, backbone: Backbone) -> dict[str, jax.ShapeDtypeStruct]:
    """Returns the shapes of one row of a batch."""

  def evaluation_row_shapes(self, backbone: Backbone) -> dict[str, jax.ShapeDtypeStruct]:
    """Returns the shapes of one row of a batch to predict, by default those of training."""
    return self.row_shapes(backbone)

  @abc.abstractmethod
  def rows(
    self, backbone: Backbone, records: Sequence[Any], rngs: Sequence[np.random.Generator]
  ) -> dict[str, np.ndarray]:
    """Returns records as arrays whose shape depends on the config only; one generator each."""

  def updated(
    self, backbone: Backbone, state: State, batch: Batch, update: Update
  ) -> tuple[State, dict[str, jax.Array]]:
    """Returns the state after a batch, and metrics, by an update of all that trains.

    Of large tables a task may hand over the rows that the batch reads in place of all.
    """
    return update(state, batch)

  @abc.abstractmethod
  def predict(self, backbone: Backbone, params: Params, batch: Batch) -> Tree:
    """Returns the numbers of every row that `score` needs: a tree of arrays, rows first."""

  @abc.abstractmethod
  def score(self, records: Any, predictions: Tree) -> dict[str, float]:
    """Returns metrics of the predictions for all records, in their order."""

  def details(self, records: Any, predictions: Tree) -> dict[str, object] | None:
    """Returns the evaluation behind the metrics, as JSON values; None where there is no more."""
    return None
