"""The contract of a system: the sizes of its encoder, and all that the package knows of it."""

import abc
import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NamedTuple, Self, TypeVar

import flax.linen as nn
import jax
import jax.numpy as jnp

from luke_jax.files import Path
from luke_jax.models import config_files
from luke_jax.models.config_files import (
  OF_DECODERS,
  Fixed,
  check_fields,
  check_fixed,
  check_members,
)
from luke_jax.models.head import Head
from luke_jax.models.head import States as States
from luke_jax.models.head import Tables as Tables
from luke_jax.models.keys import Keys
from luke_jax.nn.activations import Activation
from luke_jax.nn.layers import Dtype, Numerics, Remat
from luke_jax.nn.queries import AttentionForm
from luke_jax.text.rows import EntityReading, Room

NONE = "none"  # the kind of head of a network that is an encoder alone
Config = TypeVar("Config", bound="System")
OF_PAIRS = ("pretraining", "next_sentence")  # of networks that judge pairs of sentences


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
  words_bias: bool = True  # the layer and the norm before words are decoded have a bias
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
  from_nothing: bool = False  # trains random parameters, whatever the number of examples is


@dataclasses.dataclass(frozen=True)
class Described:
  """Contents of a config file: the sizes, the class, its labels, and other entries unchanged."""

  config: "System"
  architecture: str
  labels: tuple[str, ...] = ()
  num_labels: int = 2  # counts the labels, named or not
  rest: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class ModelConfig(abc.ABC):
  """The sizes of a model, and what the engine and the planner know of it."""

  name: ClassVar[str]  # also the path of the encoder among a network's parameters
  title: ClassVar[str]  # with its usual capitals
  layout: ClassVar[Layout] = Layout()

  @property
  def decoders(self) -> Decoders:
    """Returns the decoders of masked tokens."""
    return Decoders()

  def products(self, counts: TokenCounts) -> Mapping[str, float]:
    """Returns the multiplications and additions of a forward pass, by the path of their weights."""
    return {"": 0.0}


@dataclasses.dataclass(frozen=True)
class System(ModelConfig):
  """A system, such as LUKE, of known sizes: its encoder, its files and facts on its parameters.

  A subclass is a frozen dataclass whose fields are the sizes, named as in its config.json. It has a
  name, the class of its encoder and its room for words; all else has a default.
  """

  if TYPE_CHECKING:  # fields that every system has, in an order of its own
    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    pad_token_id: int

  # A module made with a `Backbone` and whether it has a pooler: keyword inputs to `States`. Its
  # method `tables` returns `Tables`.
  module: ClassVar[Callable[..., nn.Module]]
  # Made of its name where they are empty: that in prose, those in config.json, of which the first
  # is written, and the start of the names of its classes there.
  title: ClassVar[str] = ""
  model_types: ClassVar[tuple[str, ...]] = ()
  prefix: ClassVar[str] = ""
  unnamed: ClassVar[str] = "Model"  # the end of the name of the class that a file without one is of
  heads: ClassVar[Mapping[str, type[Head]]] = {}  # by kind, in place of the usual ones
  # Kinds of heads for which transformers has classes of this system alone.
  head_classes: ClassVar[tuple[str, ...]] = ()
  # Classes of the same parameters as the one for masked words, which read from left to right.
  left_to_right: ClassVar[tuple[str, ...]] = ()
  # Starts of the names of classes in config.json, and those that they are read as.
  read_as: ClassVar[Mapping[str, str]] = {}
  field_names: ClassVar[Mapping[str, str]] = {}  # fields that config.json has other names for
  # Fields of config files that this system computes with one value only.
  fixed: ClassVar[Fixed] = {}
  # Name of the config file in its authors' directories, and an entry that only theirs has.
  released_config: ClassVar[tuple[str, str]] = ("", "")
  released_always: ClassVar[bool] = False  # it is written beside config.json in every form
  words_folder: ClassVar[str] = ""  # of a model's directory, where its tokenizer is; "": itself
  # Folders of tokenizers that a model's files may lack, and the fields that name who has them.
  tokenizers_elsewhere: ClassVar[Mapping[str, str]] = {}
  # Model types whose weights a new model of this system may start from.
  starts_from: ClassVar[tuple[str, ...]] = ()
  recipes: ClassVar[Mapping[str, Recipe]] = {}
  token_types: ClassVar[bool] = False  # words have the type of the text of a pair that they are in
  adapters: ClassVar[bool] = False  # its layers compute with adapters, as those of `luke_jax.nn` do
  markers: ClassVar[bool] = False  # its vocabularies have LUKE's markers of entities

  def __init_subclass__(cls, **options: object) -> None:
    """Raises InputError for a class that lacks a part of the contract."""
    super().__init_subclass__(**options)
    needed = ("name", "module", *sorted(System.__abstractmethods__))
    check_members(cls, needed, "system", f"{__name__}.System")
    words = cls.name.replace("_", " ")
    cls.title = cls.title or words.capitalize()
    cls.prefix = cls.prefix or words.title().replace(" ", "")
    cls.model_types = cls.model_types or (cls.name,)

  @property
  @abc.abstractmethod
  def room_for_words(self) -> int:
    """Returns the most words of a text."""

  @classmethod
  def keys(cls, kind: str) -> Keys:
    """Returns the names of tensors on disk, by the kind of head; none: those of the parameters."""
    return Keys.of(())

  @property
  def inputs(self) -> tuple[str, ...]:
    """Returns the names of the encoder's inputs."""
    parameters = inspect.signature(type(self).module.__call__).parameters.values()
    return tuple(x.name for x in parameters if x.kind is x.KEYWORD_ONLY)

  @property
  def numerics(self) -> Numerics:
    """Returns the numbers that all layers share."""
    return Numerics()

  def products(self, counts: TokenCounts) -> Mapping[str, float]:
    """Returns the products of the encoder's forward pass, counted from its trace."""
    rows, entities = counts.sequences, counts.entities if self.decoders.entities else 0
    inputs = {"input_ids": jnp.zeros((rows, counts.words), int)}
    if entities:
      inputs["entity_ids"] = jnp.zeros((rows, entities), int)
      inputs["entity_position_ids"] = jnp.zeros((rows, entities, 1), int)
    from luke_jax.models.shapes import traced_products  # which imports this file

    encoder = type(self).module(Backbone(self), False)
    params = jax.eval_shape(encoder.init, jax.random.key(0), **inputs)
    # Not the initialisation, which computes no attention.
    traced = jax.make_jaxpr(encoder.apply)(params, **inputs)
    return {"": 0.0, f"{self.name}/encoder": traced_products(traced.jaxpr)}

  @property
  def feed_forward_width(self) -> int:
    """Returns the width between the two products of a layer, which layers of heads have too."""
    return 4 * self.hidden_size

  @property
  def entity_aware(self) -> bool:
    """Returns true if words and entities ask with queries of their own."""
    return False

  @property
  def entity_reading(self) -> EntityReading:
    """Returns how entities are read: as tokens, or not at all."""
    return "attended" if self.decoders.entities else "none"

  @property
  def entity_width(self) -> int:
    """Returns the width of the vectors that entity tokens may be given as; 0: by id alone."""
    return 0

  @property
  def labels_read_as(self) -> "type[System] | None":
    """Returns the system that a model's own files are read as to read labels; None: none is."""
    return None

  @property
  def started_from(self) -> str | None:
    """Returns the name of the language model that its authors began with; None: unknown."""
    return None

  @classmethod
  def takes(cls, kind: str) -> bool:
    """Returns true if a kind of head can be put on the encoder."""
    return kind not in OF_PAIRS

  @classmethod
  def pooled(cls, head: Head | None) -> bool:
    """Returns true if the encoder has a pooler under a head."""
    return head is not None and head.pooled

  def head_dropout(self, kind: str) -> float:
    """Returns the share of the states that a kind of head drops in training."""
    return 0.0 if kind == "answer" else self.numerics.of_classifiers

  def beside(self, words: int) -> Mapping[str, Room]:
    """Returns the arrays beside so many words of a row, which words of its own vocabulary have."""
    return {}

  @property
  def unread(self) -> tuple[str, ...]:
    """Returns patterns of the paths of parameters that change no result, and do not train."""
    return ()

  @staticmethod
  def for_prediction(params: dict, dtype: Dtype) -> dict:
    """Returns the encoder's parameters in a form that predictions read faster, of that type."""
    return params

  def with_entities(self, size: int, padding_id: int | None) -> Self:
    """Returns the sizes with another entity vocabulary; `padding_id` is a row that never learns."""
    return self

  @property
  def for_fine_tuning(self) -> Self:
    """Returns the sizes as the authors fine-tune what they pretrained."""
    return self

  def read_for(self, trained: Self) -> Self:
    """Returns the sizes of a model's files as a run reads them that trains with `trained`."""
    return self

  @property
  def about(self) -> str:
    """Returns a description for model cards."""
    return "A model"

  @property
  def not_in_transformers(self) -> str:
    """Returns why transformers has no class for it; "" if it has."""
    return ""

  @classmethod
  def read_config(cls, raw: dict[str, object], path: Path) -> "Described":
    """Returns the contents of a config.json."""
    named = {name: raw[theirs] for name, theirs in cls.field_names.items() if theirs in raw}
    raw = {x: raw[x] for x in raw if x not in cls.field_names.values()} | named
    labels = config_files.labels_in(raw, path)
    architecture = config_files.architecture_in(raw, path, f"{cls.prefix}{cls.unnamed}")
    for start, other in cls.read_as.items():
      if architecture.startswith(start):
        architecture = architecture.replace(start, other, 1)
    sizes, rest = config_files.sizes_from(cls, raw, path), config_files.rest_of(cls, raw)
    return Described(sizes, architecture, labels, len(labels) or 2, rest)

  @classmethod
  def read_archive(cls, raw: dict[str, object], path: Path) -> "Described | None":
    """Returns the contents of the metadata.json of an archive of the authors; None: not theirs."""
    return None

  @classmethod
  def write_config(cls, described: "Described") -> dict[str, object]:
    """Returns the config.json that both majors of transformers read."""
    written = config_files.config_json(described, cls.model_types[0])
    return {cls.field_names.get(name, name): x for name, x in written.items()}

  @classmethod
  def described(
    cls, raw: dict[str, object], path: Path, *, as_encoder: bool = False
  ) -> "Described":
    """Returns the contents of a config file, whose fixed fields are as they are computed with here.

    `as_encoder` reads what its authors trained to read from left to right as an encoder.
    """
    fields = {**raw, **OF_DECODERS} if as_encoder else raw
    check_fixed(fields, cls.fixed, f"{path}: ")
    read = cls.read_config(fields, path)
    if as_encoder and read.architecture in cls.left_to_right:
      read = dataclasses.replace(read, architecture=f"{cls.prefix}ForMaskedLM")
    return read

  @classmethod
  def markers_of(cls, task: str) -> tuple[str, ...]:
    """Returns the words of its vocabulary that enclose a task's entities; none: `<ent>`."""
    return cls.recipes.get(task, Recipe()).markers

  @classmethod
  def added_words(cls, task: str, words: Mapping[str, str]) -> Mapping[str, str]:
    """Returns the new words of a task that the system needs: none where it has words for them."""
    return {} if cls.markers_of(task) else words


@dataclasses.dataclass(frozen=True)
class Backbone(Generic[Config]):
  """Encoder of known sizes and how it runs, which heads are put on."""

  config: Config  # of a task on a graph, a ModelConfig of tables
  running: Running = Running()
  spread: Spread = Spread()
  on_cpu: bool = False  # see `Numerics.on_cpu`

  @property
  def numerics(self) -> Numerics:
    """Returns the numbers that all layers share."""
    return dataclasses.replace(self.config.numerics, dtype=self.running.dtype, on_cpu=self.on_cpu)

  def numerics_of(self, kind: str) -> Numerics:
    """Returns the numbers of a kind of head."""
    dropout = self.config.head_dropout(kind)
    return dataclasses.replace(self.numerics, classifier_dropout=dropout)

  @property
  def decoders(self) -> Decoders:
    """Returns the decoders of masked tokens."""
    return self.config.decoders

  @property
  def entities(self) -> int:
    """Returns the size of the entity vocabulary; 0 for a system that reads words only."""
    return self.decoders.entities
