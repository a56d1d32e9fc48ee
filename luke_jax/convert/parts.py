"""The parts of a model: a network with its parameters, its labels and its text side."""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.models.adapters import merge_adapters
from luke_jax.models.head import LabelHead
from luke_jax.models.keys import LoadReport, flatten
from luke_jax.models.network import Network, on_backbone, prepared
from luke_jax.models.system import Backbone, System
from luke_jax.text import Processor, Tokenizer

Entities = Literal["none", "special", "whole"]
ENTITIES = get_args(Entities)
READER = "labels"  # of a whole model that is asked for labels: the folder of what reads those


def reader_in(directory: Path) -> Path:
  """Returns the directory of what reads labels for trainings from a model: mostly that model."""
  reader = directory / READER
  return reader if reader.is_dir() else directory


@dataclasses.dataclass(frozen=True)
class Start:
  """Origin of a model with adapters: its backbone, and what its task added to that."""

  directory: Path
  new_words: Mapping[str, str]  # and the words whose rows they start from
  entities: Entities  # that are read


@dataclasses.dataclass(frozen=True)
class ModelParts:
  """Everything that a model directory holds; `luke_jax.Model` adds methods for users."""

  network: Network
  params: dict
  labels: tuple[str, ...] = ()
  tokenizer: Tokenizer | None = None
  processor: Processor | None = None
  report: LoadReport = dataclasses.field(default_factory=LoadReport)
  rest: dict[str, Any] = dataclasses.field(default_factory=dict)  # of its config.json
  task: type | None = None  # a user's own, that the model was made for
  start: Start | None = None  # of a model with adapters, which stand beside its kernels
  whole_reader: Path | None = None  # of labels, where there is no start
  # Computes the outputs of inputs by their names, in the place of the network.
  program: Callable[..., Mapping[str, Any]] | None = None

  def __post_init__(self) -> None:
    if len(set(self.labels)) < len(self.labels):
      raise InputError(f"labels: {', '.join(self.labels)}; expected each of them once")
    if self.labels and len(self.labels) != self.num_labels:
      raise InputError(f"labels: {len(self.labels)}; expected {self.num_labels}, as its head has")

  @functools.cached_property
  def predicting(self) -> tuple[Network, dict]:
    """Returns the network and its parameters as they predict, sent to the device once."""
    return prepared(self.network, self.params)

  @property
  def merged(self) -> "ModelParts":
    """Returns the same model without adapters, whose products are in its kernels."""
    if self.start is None:
      return self
    params = merge_adapters(self.params, self.system)
    return dataclasses.replace(self, params=params, start=None, whole_reader=self.reader)

  @property
  def reader(self) -> Path | None:
    """Returns the directory of the model that reads labels, for one that is asked for them."""
    if self.config.labels_read_as:
      return self.whole_reader
    if self.network.head is None or not self.network.head.reads_start:
      return None
    return reader_in(self.start.directory) if self.start else self.whole_reader

  @property
  def backbone(self) -> Backbone:
    """Returns the encoder: its sizes, and how it runs."""
    return self.network.backbone

  @property
  def config(self) -> System:
    """Returns the sizes."""
    return self.backbone.config

  @property
  def system(self) -> type[System]:
    """Returns the system that the model is of."""
    return type(self.backbone.config)

  @property
  def kind(self) -> str:
    """Returns the kind of the head, such as "span"."""
    return self.network.kind

  @property
  def architecture(self) -> str:
    """Returns the name of its class in config.json."""
    head, prefix = self.network.head, self.system.prefix
    return f"{prefix}Model" if head is None else head.class_name(prefix)

  @property
  def num_labels(self) -> int:
    """Returns the number of the head's labels; 2 for a head without labels, as elsewhere."""
    head = self.network.head
    return head.labels if isinstance(head, LabelHead) else len(self.labels) or 2

  @property
  def entity_table(self) -> np.ndarray:
    """Returns the embeddings (U, K) of the entities."""
    return flatten(self.params)[self.system.layout.entities[0]]

  def with_config(self, config: System, params: dict) -> "ModelParts":
    """Returns the model with other sizes, and parameters of those sizes."""
    backbone = dataclasses.replace(self.backbone, config=config)
    return dataclasses.replace(self, network=on_backbone(self.network, backbone), params=params)
