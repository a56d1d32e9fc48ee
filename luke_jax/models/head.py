"""The contract of heads: what a network reads off the states of its encoder."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import flax.linen as nn
import jax
import numpy as np

from luke_jax.files import Path
from luke_jax.nn.layers import Numerics
from luke_jax.nn.losses import label_loss

if TYPE_CHECKING:
  from luke_jax.models.system import Backbone, Described
  from luke_jax.text import Tokenizer

Outputs = dict[str, jax.Array]
ReadTensor = Callable[[str], np.ndarray]  # a tensor of a model's files, by its name


class States(NamedTuple):
  """Output of every encoder, which heads and pictures read."""

  words: jax.Array  # (B, W, D)
  entities: jax.Array | None = None  # (B, E, D)
  pooled: jax.Array | None = None  # (B, D)
  slots: jax.Array | None = None  # (B, W, K), of the entities aligned to words


class LabelPrompt(NamedTuple):
  """Word pieces that a model reads before each text, and what stands for each label (L, D)."""

  ids: tuple[int, ...]
  vectors: np.ndarray


class Tables(NamedTuple):
  """Embedding tables of an encoder, which also decode masked tokens."""

  words: jax.Array  # (V, D)
  entities: jax.Array | None = None  # (U, K), with the rows that fill it up


@dataclasses.dataclass(frozen=True)
class SavedHead:
  """Facts on a head in the files of its model."""

  labels: int
  entries: Mapping[str, Any]  # of config.json, beside the sizes
  tensors: frozenset[str]  # their names
  directory: Path


class Head(nn.Module):
  """A module from states to outputs, with a loss. Its parameters are those of its network."""

  numerics: Numerics

  kind: ClassVar[str] = ""  # in `TextTask.heads`; each head has its own
  suffix: ClassVar[str] = ""  # of the names of its classes in config.json; "": by its kind
  # transformers has such classes for most systems; else `System.head_classes` names those it has.
  in_transformers: ClassVar[bool] = False
  hub_task: ClassVar[str] = ""  # under which Hugging Face's hub lists its models
  pooled: ClassVar[bool] = False  # it reads the pooled state
  entities: ClassVar[int] = 0  # entities that a text needs at least
  places: ClassVar[tuple[str, ...]] = ()  # inputs with the places of entities among the words
  choices: ClassVar[bool] = False  # every input has an axis of choices after the batch
  shared: ClassVar[tuple[str, ...]] = ()  # inputs of the encoder that the head reads too
  # Inputs of its own that the texts of a batch share, with any number of rows.
  once: ClassVar[tuple[str, ...]] = ()
  # Its answers are a linear layer `classifier` over states, of each row or of each word, so that it
  # can be fitted to these.
  fits: ClassVar[str] = ""  # or "rows", "words"
  # Settings of its task say how it is made, so that its kind and its labels are not enough.
  made_by_task: ClassVar[bool] = False
  # It compares texts with vectors of the model that the training started from: what is saved is an
  # adapter of that.
  reads_start: ClassVar[bool] = False
  exported: ClassVar[bool] = True  # its network can be written as a program

  @property
  def own_inputs(self) -> Mapping[str, tuple[int, ...]]:
    """Returns the shapes, after the batch, of the inputs that no encoder has."""
    return {}

  @property
  def task_settings(self) -> Mapping[str, Any]:
    """Returns the settings of a task that the head was made with, by their names."""
    return {}

  @property
  def own_files(self) -> Mapping[str, str]:
    """Returns the settings of a task that name folders beside a model's files, "" for none there.

    Others may be given.
    """
    return {}

  def check_inputs(self, inputs: Mapping[str, np.ndarray]) -> None:
    """Raises InputError for numbers among the head's own inputs that it has no row for."""

  @classmethod
  def class_name(cls, prefix: str) -> str:
    """Returns the name of its class in config.json, for a system with this prefix."""
    return prefix + (cls.suffix or f"For{cls.kind.title().replace('_', '')}")

  @classmethod
  def of_authors(
    cls, described: "Described", names: frozenset[str], read: ReadTensor, directory: Path
  ) -> "tuple[Described, ReadTensor] | None":
    """Returns the description and the reader of a model of the head's authors; None for another.

    Theirs do not say in config.json which class they are of, but by the names of their tensors.
    """
    return None

  @classmethod
  def fresh(cls, backbone: "Backbone", labels: int) -> Self:
    """Returns a head for a backbone, with the usual settings."""
    return cls(backbone.numerics_of(cls.kind))

  @classmethod
  def saved(cls, backbone: "Backbone", saved: SavedHead) -> Self:
    """Returns the head that a model's files describe."""
    return cls.fresh(backbone, saved.labels)

  def prompt(self, tokenizer: "Tokenizer", labels: Sequence[str]) -> LabelPrompt | None:
    """Returns how labels that are asked for stand before a text; None: they have vectors."""
    return None

  def write(self, directory: Path) -> dict[str, Any]:
    """Writes files of the head's own; returns its entries of config.json."""
    return {}

  def on(self, backbone: "Backbone") -> Self:
    """Returns the head for another backbone."""
    return self.clone(numerics=backbone.numerics_of(self.kind))

  def to_encoder(self, **inputs: Any) -> dict[str, jax.Array]:
    """Returns what the encoder reads beside its inputs, made of those of the head."""
    return {}

  def predicted(
    self, read: Callable[[Mapping[str, jax.Array]], Outputs], inputs: Mapping[str, jax.Array]
  ) -> Outputs:
    """Returns the outputs of a prediction, for which `read` may be called more than once."""
    return read(inputs)

  def loss(self, outputs: Outputs, *labels: Any, **named: Any) -> jax.Array:
    """Returns the mean loss of labels, or their sum by `weights`. Each head has its own."""
    raise NotImplementedError

  if TYPE_CHECKING:  # each head has arguments of its own; flax has no abstract modules

    def __call__(self, states: States, tables: Tables, **inputs: Any) -> Outputs:
      """Returns outputs, such as "logits"."""
      ...


class LabelHead(Head):
  """A head with a number of labels."""

  labels: int

  @classmethod
  def fresh(cls, backbone: "Backbone", labels: int) -> Self:
    """Returns a head for a backbone, with this number of labels."""
    return cls(backbone.numerics_of(cls.kind), labels)

  def loss(
    self, outputs: Outputs, labels: jax.Array, weights: jax.Array | None = None
  ) -> jax.Array:
    """Returns the loss of class numbers, -100 ignored, or of 0 and 1 for every class."""
    return label_loss(outputs["logits"], labels, weights)
