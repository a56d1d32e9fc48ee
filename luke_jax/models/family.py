"""Definition of a system: the parts that its folder provides, and the outputs of its encoder."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import flax.linen as nn
import jax

from luke_jax.files import Path
from luke_jax.models.checks import check_fields
from luke_jax.models.fixed_fields import OF_DECODERS, Fixed, check_fixed
from luke_jax.models.keys import Keys
from luke_jax.nn.activations import Activation
from luke_jax.nn.encoder import Remat
from luke_jax.nn.layers import Dtype, Numerics
from luke_jax.nn.queries import AttentionForm
from luke_jax.text.rows import Room

NONE = "none"  # the kind of head of a network that is an encoder alone
MASKED = "masked"  # of one that decodes masked tokens


class States(NamedTuple):
  """Output of every encoder, which heads and pictures read."""

  words: jax.Array  # (B, W, D)
  entities: jax.Array | None = None  # (B, E, D)
  pooled: jax.Array | None = None  # (B, D)
  slots: jax.Array | None = None  # (B, W, K), of the entities aligned to words


class Tables(NamedTuple):
  """Embedding tables of an encoder, which also decode masked tokens."""

  words: jax.Array  # (V, D)
  entities: jax.Array | None = None  # (U, K), with the rows that fill it up


@dataclasses.dataclass(frozen=True)
class Running:
  """Settings of running a model, which are not saved with it."""

  dtype: Dtype = "float32"  # of products
  # Form of attention: the definition, four blocks, or one kernel on TPUs.
  attention: AttentionForm = "blocks"
  remat: Remat = "none"  # values that the backward pass computes again, to save memory

  def __post_init__(self) -> None:
    check_fields(self)


@dataclasses.dataclass(frozen=True)
class Spread:
  """Layout of the entity table on the mesh; the engine decides it."""

  axis: str | None = None  # of the mesh, over which its rows are spread
  padding_rows: int = 0  # that fill it up for the mesh


class TokenCounts(NamedTuple):
  """Tokens of a batch, padding included, whose products a step computes."""

  sequences: int
  words: int  # of one sequence
  entities: int  # of one sequence
  masked_words: int = 0  # of the whole batch
  masked_entities: int = 0  # of the whole batch


@dataclasses.dataclass(frozen=True)
class Layout:
  """Facts about parameters that sharding, padding and weight decay need. Paths end as given."""

  # Arrays with a row for each word, and with one for each entity. The latter are spread over the
  # mesh and padded for it.
  words: tuple[str, ...] = ()
  entities: tuple[str, ...] = ()
  # Scales of layer norms that weight decay shrinks, as the reference does by an accident of names.
  decayed: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Decoders:
  """Vocabularies and tables that a system can decode masked tokens with."""

  tied: bool = True  # words are decoded with the embedding table
  words_activation: Activation | None = None  # before words are decoded; None: that of the layers
  entities: int = 0  # U; 0: none
  entities_tied: bool = True  # entities are decoded with their embedding table
  page_width: int = 0  # K of the page's own entity; 0: not predicted
  # K of the vectors of entities that are aligned to words, read and predicted; 0: there are none.
  vectors: int = 0


@dataclasses.dataclass(frozen=True)
class Recipe:
  """Settings that a system's authors fine-tuned a task with."""

  learning_rate: float = 1e-5
  batch_size: int = 8
  epochs: int = 5
  frozen: tuple[str, ...] = ()  # patterns of the paths of parameters that do not train
  beta2: float = 0.98  # of Adam
  max_gradient_norm: float | None = None  # gradients are scaled down to this norm; None: never
  # Of the optimizer and the task: fields that differ from the usual ones.
  optimizer: Mapping[str, Any] = dataclasses.field(default_factory=dict)
  task: Mapping[str, Any] = dataclasses.field(default_factory=dict)
  warmup_ratio: float = 0.06  # share of the steps in which the rate rises
  decay: Literal["linear", "constant"] = "linear"  # of the rate after that
  # Words of the vocabulary that enclose the entities of a text, instead of `<ent>` and `<ent2>`.
  markers: tuple[str, ...] = ()
  lengths: int = 1  # that rows are padded to in training


@dataclasses.dataclass(frozen=True)
class Described:
  """Contents of a config file: the sizes, the class, its labels, and other entries unchanged."""

  config: Any
  architecture: str
  labels: tuple[str, ...] = ()
  num_labels: int = 2  # counts the labels, named or not
  rest: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Family:
  """A system, such as LUKE: its sizes, its encoder, its files and the facts about its parameters.

  A config has at least `vocab_size`, `hidden_size`, `num_hidden_layers`, `num_attention_heads`,
  `pad_token_id`, `room_for_words` and `family`, under these names.
  """

  name: str  # also the path of the encoder among a network's parameters
  title: str  # with its usual capitals
  model_types: tuple[str, ...]  # of config.json, the first is written
  config: type  # a frozen dataclass of sizes
  sizes: Mapping[str, Any]  # configs that have names
  encoder: Callable[["Backbone", bool, str], nn.Module]  # backbone, pooled, name -> the module
  inputs: Callable[[Any], tuple[str, ...]]  # names of the encoder's inputs
  numerics: Callable[[Any], Numerics]
  keys: Callable[[str], Keys]  # by the kind of head
  architectures: Mapping[str, str]  # kind of head -> class name in config.json
  pooled: Callable[[str], bool]  # by the kind of head: does the reference have a pooler there?
  read_config: Callable[[dict[str, Any], Path], Described]
  write_config: Callable[[Described], dict[str, Any]]
  products: Callable[[Any, TokenCounts], Mapping[str, float]]  # path -> multiplications, forward
  # Reads the metadata.json of the archives that the authors published their models as.
  read_archive: Callable[[dict[str, Any], Path], Described] | None = None
  # Fields of config files that this system computes with one value only.
  fixed: Fixed = dataclasses.field(default_factory=dict)
  # Classes of the same parameters as the one for masked words, which read from left to right.
  left_to_right: tuple[str, ...] = ()
  # Texts for model cards: a description, and why transformers has no class for it, "" if it has.
  about: Callable[[Any], str] = lambda config: "A model"
  not_in_transformers: Callable[[Any], str] = lambda config: ""
  own_heads: tuple[str, ...] = ()  # kinds of heads that transformers has no classes for
  layout: Layout = Layout()
  decoders: Callable[[Any], Decoders] = lambda config: Decoders()
  # Arrays beside the words of a row, by the row's length, which only words of its own vocabulary
  # have (`luke_jax.text.whole_words`).
  beside: Callable[[Any, int], Mapping[str, Room]] = lambda config, words: {}
  token_types: bool = False  # its words have the type of the text of a pair that they are in
  adapters: bool = False  # its layers compute with adapters, as those of `luke_jax.nn` do
  markers: bool = False  # its vocabularies have LUKE's markers of entities
  # Marked entities are classified by the text's pooled state, not by their own.
  labels_from_first_word: bool = False
  # Patterns of the paths of parameters that change no result, and do not train.
  unread: Callable[[Any], tuple[str, ...]] = lambda config: ()
  # Name of the config file in its authors' directories, and an entry that only theirs has.
  released_config: tuple[str, str] = ("", "")
  # Model types whose weights a new model of this system may start from.
  starts_from: tuple[str, ...] = ()
  # The encoder's parameters in a form that its predictions read faster, by the type of products.
  for_prediction: Callable[[dict, Dtype], dict] = lambda params, dtype: params
  # The config with another entity vocabulary: its size, and the id whose row learns nothing.
  with_entities: Callable[[Any, int, int | None], Any] = lambda config, size, padding_id: config
  # The config as the authors fine-tune what they pretrained.
  for_fine_tuning: Callable[[Any], Any] = lambda config: config
  # The config of a model's files as a run reads it that trains with the second one.
  read_for: Callable[[Any, Any], Any] = lambda config, trained: config
  recipes: Mapping[str, Recipe] = dataclasses.field(default_factory=dict)

  def described(self, raw: dict[str, Any], path: Path, *, as_encoder: bool = False) -> Described:
    """Reads a config file, whose fixed fields are as they are computed with here.

    `as_encoder` reads what its authors trained to read from left to right as an encoder.
    """
    fields = {**raw, **OF_DECODERS} if as_encoder else raw
    check_fixed(fields, self.fixed, f"{path}: ")
    found = self.read_config(fields, path)
    if as_encoder and found.architecture in self.left_to_right:
      found = dataclasses.replace(found, architecture=self.architectures[MASKED])
    return found

  def kind_of(self, architecture: str) -> str | None:
    """Returns the kind of head of a class of this system; None if it has no such class."""
    kinds = (kind for kind, name in self.architectures.items() if name == architecture)
    return next(kinds, None)

  def markers_of(self, task: str) -> tuple[str, ...]:
    """Returns the words of its vocabulary that enclose a task's entities; none: `<ent>`."""
    return self.recipes.get(task, Recipe()).markers

  def added_words(self, task: str, words: Mapping[str, str]) -> Mapping[str, str]:
    """Returns those of a task's new words that it needs: none where it has words for them."""
    return {} if self.markers_of(task) else words

  def architecture_of(self, kind: str) -> str:
    """Returns the class name of a kind of head, which may be a user's own."""
    stem = self.architectures[NONE].removesuffix("Model")
    return self.architectures.get(kind) or f"{stem}For{kind.title().replace('_', '')}"


@dataclasses.dataclass(frozen=True)
class Backbone:
  """Encoder of known sizes and how it runs, which heads are put on."""

  config: Any
  running: Running = Running()
  spread: Spread = Spread()
  on_cpu: bool = False  # see `Numerics.on_cpu`

  @property
  def family(self) -> Family:
    """Returns the system that the sizes are of."""
    return self.config.family

  @property
  def numerics(self) -> Numerics:
    """Returns the numbers that all layers share."""
    numbers = self.family.numerics(self.config)
    return dataclasses.replace(numbers, dtype=self.running.dtype, on_cpu=self.on_cpu)

  @property
  def decoders(self) -> Decoders:
    """Returns the decoders of masked tokens."""
    return self.family.decoders(self.config)

  @property
  def entities(self) -> int:
    """Returns the size of the entity vocabulary; 0 for a system that reads words only."""
    return self.decoders.entities
