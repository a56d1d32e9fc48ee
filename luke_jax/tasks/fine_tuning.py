"""The contract of fine-tuned tasks, frozen dataclasses: what is abstract is what one has to add."""

import abc
import collections
import dataclasses
import functools
from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar, Generic, Literal, Self, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.heads.kinds import make_head
from luke_jax.models import network
from luke_jax.models.config_files import check_members
from luke_jax.models.head import Outputs
from luke_jax.models.network import Network
from luke_jax.models.system import Backbone
from luke_jax.nn.losses import IGNORED, target_weights
from luke_jax.pipeline.reads import Reads
from luke_jax.tasks.datasets import is_split, read_dataset
from luke_jax.tasks.evaluation import Evaluation
from luke_jax.tasks.extra_inputs import ExtraInputs
from luke_jax.tasks.files import Faults, sources_of
from luke_jax.tasks.task_rows import SAMPLE, Example, TaskRows, processor_of_words, rows_of
from luke_jax.text import Processor, Row
from luke_jax.text import Task as TextTask
from luke_jax.text.rows import ENTITY_INPUTS, WORD_INPUTS, Room, Sizes, padded, padded_shapes
from luke_jax.training.task import DEV, Batch, Params, Task

MISTAKES = 100  # that are kept of an evaluation of dev
# With a chain's scores, and how usual a label is.
LOGITS = ("logits", "start_logits", "end_logits", "chain", "label_logits")

Prediction = TypeVar("Prediction")
RowLogits = Mapping[str, Sequence[np.ndarray] | np.ndarray]  # of all rows, by the names of LOGITS


@dataclasses.dataclass(frozen=True)
class FineTunedTask(Task, Generic[Example, Prediction]):
  """Settings of a task on texts that a user has in files, whose examples have predictions."""

  train: str = ""  # file of examples to train on; several, with commas between them
  dev: str = ""  # file of examples that checkpoints are scored on
  test: str = ""  # for luke-jax experiment run
  text: str = ""  # the directory of the tokenizer and the entity vocabulary
  labels: tuple[str, ...] = ()  # none: those of the training file
  words: int = 512  # the longest row
  skip_bad: bool = False  # leave out examples that are faulty, and count them
  held_out: float = 0.0  # share of the training file that is dev, where no file of dev is given
  fold: int = 0  # which of the shares of this size it is
  used: float = 1.0  # share of the examples to train on that is used, by hashes
  sampled: float = 1.0  # share of dev that is scored while training, by hashes; all is at the end
  fit_head: bool = False  # begin with a head fitted in closed form to the states of the start

  text_task: ClassVar[TextTask | None] = None  # of the processor
  # Words that the task adds, and those whose rows they start from.
  new_words: ClassVar[Mapping[str, str]] = {}
  by_length: ClassVar[bool] = True  # training by rows of like length learns as much
  reads_vectors: ClassVar[bool] = False  # of the entities that examples link
  # Its model's calibration changes its scores; else its own `slope`, `offset` and `threshold` do.
  calibrated: ClassVar[bool] = True
  spreadsheet: ClassVar[Sequence[str]] = ()  # columns, where cells have names by their words
  # Whether the task reads entities by title, or [MASK] and its like only.
  entity_table: ClassVar[Literal["special", "whole"]] = "special"

  def __init_subclass__(cls, **options: object) -> None:
    """Raises InputError for a class that lacks a part of the contract."""
    super().__init_subclass__(**options)
    needed = ("name", "heads", *sorted(FineTunedTask.__abstractmethods__))
    check_members(cls, needed, "task", f"{__name__}.FineTunedTask")

  def __post_init__(self) -> None:
    """Raises InputError for sizes below 1 and for duplicate labels."""
    for name, least, number in zip(Sizes._fields, (8, 1, 1), self.sizes, strict=True):
      if type(number) is not int or number < least:
        raise InputError(f"{name}: {number!r}; expected a whole number from {least}")
    if len(set(self.labels)) < len(self.labels):
      twice = sorted(x for x, count in collections.Counter(self.labels).items() if count > 1)
      raise InputError(f"labels: {', '.join(twice)}: twice; expected each once")
    if not 0 <= self.held_out < 1:
      raise InputError(f"held_out: {self.held_out!r}; expected a share below 1")
    if not 0 <= self.fold * self.held_out < 1:
      raise InputError(
        f"fold: {self.fold}; expected one of the shares of {self.held_out:g}, from 0"
      )
    for name, share in (("used", self.used), ("sampled", self.sampled)):
      if not 0 < share <= 1:
        raise InputError(f"{name}: {share!r}; expected a share above 0, or 1")

  # What a task has to add.

  @property
  @abc.abstractmethod
  def metric(self) -> str:
    """Returns the metric that selects a checkpoint."""

  @property
  @abc.abstractmethod
  def sizes(self) -> Sizes:
    """Returns a row's room for words, for entities and for the pieces of a mention, 1 at least."""

  @abc.abstractmethod
  def parse(self, value: Mapping[str, object], id: str, place: str) -> Example:
    """Returns the example in an object of JSON lines, with or without answers."""

  @abc.abstractmethod
  def read(self, path: Path, faults: Faults) -> list[Example]:
    """Returns the examples of a file."""

  @abc.abstractmethod
  def found_labels(self, examples: Sequence[Example]) -> tuple[str, ...]:
    """Returns the labels of a file of examples, in the order that a new model gives them."""

  @abc.abstractmethod
  def check_example(self, example: Example) -> None:
    """Raises InputError for an example without answers, or with one that the model lacks."""

  def spread_by(self, example: Example) -> tuple[object, Collection[str]]:
    """Returns what must not stand on both sides of a held-out part, if anything, and its labels."""
    return None, ()

  @abc.abstractmethod
  def features(
    self, processor: Processor, examples: Sequence[Example], faults: Faults | None = None
  ) -> list[Row]:
    """Returns rows in the order of their examples, with labels if known; faults have none."""

  @abc.abstractmethod
  def label_shape(self) -> tuple[int, ...]:
    """Returns the shape of the labels of a row."""

  @abc.abstractmethod
  def decode(
    self, examples: Sequence[Example], rows: Sequence[Row], outputs: RowLogits
  ) -> list[Prediction]:
    """Returns a prediction for each example, by the outputs of all its rows."""

  @abc.abstractmethod
  def evaluate(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Evaluation:
    """Returns the scores of predictions."""

  @abc.abstractmethod
  def to_prediction(self, example: Example, prediction: Prediction) -> dict[str, object]:
    """Returns an example's line in a file of predictions."""

  # What it may change.

  def scores_all_spans(self, backbone: Backbone) -> bool:
    """Returns whether rows have all spans of their words as candidates, few of which have a label.

    Then each candidate has to weigh the same in every batch.
    """
    return False

  def with_threshold(self, least: float) -> Self:
    """Returns the task with all answers of this score or more, where it leaves answers out."""
    return self

  @property
  def label_dtype(self) -> type[np.number]:
    """Returns the type of labels; numbers that a task learns are float32."""
    return np.int32

  @property
  def micro_batch(self) -> int | None:
    """Returns the number of rows over which losses are averaged first; None: over all at once."""
    return None

  @property
  def extra_inputs(self) -> tuple[ExtraInputs, ...]:
    """Returns the inputs that rows have beside words and entities."""
    return ()

  @property
  def config_entries(self) -> Mapping[str, object]:
    """Returns entries of config.json by which transformers knows some of the settings."""
    return {}

  @staticmethod
  def settings_from(entries: Mapping[str, object], labels: Sequence[str]) -> dict[str, object]:
    """Returns the settings of a model of transformers, from its config.json and its labels."""
    return {}

  def network(self, backbone: Backbone) -> Network:
    """Returns a backbone with the task's head."""
    return Network(backbone, make_head(self.head, backbone, labels=len(self.labels) or 2))

  def weights(self, batch: Batch) -> jax.Array:
    """Returns the weights of a batch's labels, see `target_weights`."""
    return target_weights(batch["labels"] != IGNORED, self.micro_batch)

  def loss(
    self,
    backbone: Backbone,
    params: Params,
    batch: Batch,
    weights: jax.Array,
    key: jax.Array | None,
  ) -> tuple[jax.Array, dict[str, jax.Array]]:
    """Returns the weighted loss of a batch's labels."""
    outputs = self.outputs(backbone, params, batch, key)
    loss = self.network(backbone).loss(outputs, batch["labels"], weights=weights)
    return loss, {"tokens": batch["attention_mask"].sum()}

  def records(self, backbone: Backbone, split: str) -> TaskRows[Example]:
    """Returns the rows of the file of "train" or "dev", or of the sample of dev."""
    room = backbone.config.room_for_words
    if self.words > room:
      raise InputError(f"task.words: {self.words}; expected at most {room}, the model's positions")
    self.check_inputs(backbone)
    return rows_of(self, backbone, split)

  def label_of_name(self, name: str) -> str:
    """Returns the label of an output that stands for a label as examples name it."""
    return name

  # What all share.

  @property
  def text_directory(self) -> str:
    """Returns the directory of the tokenizer and the entity vocabulary of the task's models."""
    return self.text

  @property
  def splits(self) -> Mapping[str, str]:
    """Returns the files of examples that there are, by split."""
    every = {"train": self.train, "dev": self.dev, "test": self.test}
    return {split: file for split, file in every.items() if file}

  @property
  def scored(self) -> bool:
    """Returns whether there is a file of dev, or a part of the training file is held out."""
    return bool(self.dev) or self.held_out > 0

  @property
  def choosing(self) -> str:
    """Returns the split that chooses checkpoints: "dev", or the sample of it."""
    return SAMPLE if self.sampled < 1 else DEV

  def reads(self) -> Reads:
    """Returns the files of examples, and those of other inputs."""
    files = (file for split in (self.train, self.dev) if split for file in sources_of(split))
    return functools.reduce(lambda all, x: all + x.reads(), self.extra_inputs, Reads(tuple(files)))

  def check_inputs(self, backbone: Backbone) -> None:
    """Raises InputError if the model reads other inputs than the task has."""
    for inputs in self.extra_inputs:
      inputs.check(backbone)

  def check_head(self, model: Network) -> None:
    """Raises InputError for settings that a trained head was not made for."""

  def check(self, examples: Sequence[Example], faults: Faults) -> list[Example]:
    """Returns the examples that can be trained and scored on; the others are faults."""
    valid = []
    for example in examples:
      with faults.caught():
        self.check_example(example)
        valid.append(example)
    return valid

  def read_examples(self, source: str, faults: Faults) -> list[Example]:
    """Returns the examples of files, or of a split of a dataset: FOLDER:SPLIT."""
    examples: list[Example] = []
    for file in sources_of(source):
      if is_split(file):
        examples += read_dataset(file, self.parse, faults)
      else:
        examples += self.read(Path(file), faults)
    return examples

  def processor(self, backbone: Backbone) -> Processor:
    """Returns the maker of rows: the tokenizer and the entities of the task's directory."""
    if not self.text:
      raise InputError("task.text: empty; expected the directory of a tokenizer")
    system = backbone.config
    added = tuple(system.added_words(self.name, self.new_words))
    made = processor_of_words(self.text, added, self.entity_table, system.markers)
    return self.fitted(made, backbone)

  def fitted(self, processor: Processor, backbone: Backbone | None = None) -> Processor:
    """Returns a processor with the task's sizes, for a backbone or else for any LUKE."""
    words, entities, mention = self.sizes
    return dataclasses.replace(
      processor,
      task=self.text_task,
      marker_words=backbone.config.markers_of(self.name) if backbone else (),
      max_length=words,
      max_entity_length=entities,
      max_mention_length=mention,
      entity_reading=backbone.config.entity_reading if backbone else "attended",
    )

  def initial_params(self, backbone: Backbone, key: jax.Array) -> Params:
    """Returns fresh parameters."""
    return network.initial_params(self.network(backbone), key)

  def outputs(
    self, backbone: Backbone, params: Params, batch: Batch, key: jax.Array | None
  ) -> Outputs:
    """Returns the network's outputs for a batch, with dropout if there is a key."""
    inputs = {name: x for name, x in batch.items() if name != "labels"}
    return network.apply(self.network(backbone), params, inputs, key)

  def lengths(self, records: TaskRows[Example]) -> np.ndarray:
    """Returns the lengths of rows in words."""
    return np.array([len(row.input_ids) for row in records.rows])

  def input_names(self, backbone: Backbone) -> tuple[str, ...]:
    """Returns the names of the network's inputs.

    Heads read the places of entities where there are two of them, or no entities to read.
    """
    names = (*WORD_INPUTS, *(ENTITY_INPUTS if backbone.entities else ()))
    if backbone.config.token_types:
      names += ("token_type_ids",)
    places = self.network(backbone).places
    return names + (places if len(places) > 1 or not backbone.entities else ())

  def inputs(
    self, backbone: Backbone, rows: Sequence[Row], sizes: Sizes, pad_entity: int
  ) -> dict[str, np.ndarray]:
    """Returns rows as the arrays that the network reads."""
    return self._padded(backbone, rows, sizes, pad_entity, self._rooms(backbone, sizes.words))

  def row_sizes(self, backbone: Backbone, words: int) -> Sizes:
    """Returns the room of a row of so many words, for a backbone."""
    return self.sizes._replace(words=words)

  def row_shapes(self, backbone: Backbone) -> dict[str, jax.ShapeDtypeStruct]:
    """Returns the shapes of one row of a batch."""
    sizes = self.row_sizes(backbone, self.words)
    rooms = self._label_rooms(sizes) | self._rooms(backbone, self.words)
    shapes = padded_shapes(sizes, names=self.input_names(backbone), extra=rooms)
    types = {name: room.dtype for name, room in rooms.items()}
    read = {name: jax.ShapeDtypeStruct(x, types.get(name, jnp.int32)) for name, x in shapes.items()}
    for extra in self.extra_inputs:
      for name in extra.rooms(backbone, self.words):
        del read[name]
      read |= extra.shapes(backbone, self.words)
    return read

  def rows(
    self, backbone: Backbone, records: Sequence[Row], rngs: Sequence[np.random.Generator]
  ) -> dict[str, np.ndarray]:
    """Returns rows and their labels, padded."""
    sizes = self.row_sizes(backbone, self.words)
    rooms = self._label_rooms(sizes) | self._rooms(backbone, self.words)
    pad_entity = self.processor(backbone).entity_vocab.pad_id
    return self._padded(backbone, records, sizes, pad_entity, rooms)

  def predict(self, backbone: Backbone, params: Params, batch: Batch) -> dict[str, jax.Array]:
    """Returns the logits of every row, in float32."""
    outputs = self.outputs(backbone, params, batch, None)
    return {name: outputs[name].astype(jnp.float32) for name in LOGITS if name in outputs}

  def score(self, records: TaskRows[Example], predictions: RowLogits) -> dict[str, float]:
    """Returns the task's metrics."""
    return dict(self._evaluated(records, predictions).scores)

  def details(self, records: TaskRows[Example], predictions: RowLogits) -> dict[str, object]:
    """Returns the evaluation behind the metrics, with the worst mistakes."""
    evaluation = self._evaluated(records, predictions)
    return dataclasses.replace(evaluation, mistakes=evaluation.mistakes[:MISTAKES]).as_json()

  def _evaluated(self, records: TaskRows[Example], predictions: RowLogits) -> Evaluation:
    examples = records.examples
    return self.evaluate(examples, self.decode(examples, records.rows, predictions))

  def _padded(
    self,
    backbone: Backbone,
    rows: Sequence[Row],
    sizes: Sizes,
    pad_entity: int,
    rooms: Mapping[str, Room],
  ) -> dict[str, np.ndarray]:
    pads = backbone.config.pad_token_id, pad_entity
    arrays = padded(rows, sizes, *pads, names=self.input_names(backbone), extra=rooms)
    for extra in self.extra_inputs:
      arrays = extra.batch(backbone, arrays)
    return arrays

  def _rooms(self, backbone: Backbone, words: int) -> dict[str, Room]:
    """Returns the room for what rows have beside their words."""
    rooms = dict(backbone.config.beside(words))
    rooms |= {name: Room(x) for name, x in self.network(backbone).own_inputs.items()}
    for extra in self.extra_inputs:
      shapes = extra.shapes(backbone, words)
      rooms = {name: room for name, room in rooms.items() if name not in shapes}
      rooms |= extra.rooms(backbone, words)
    return rooms

  def _label_rooms(self, sizes: Sizes) -> dict[str, Room]:
    """Returns the room for the labels of rows of these sizes."""
    return {"labels": Room(self.label_shape(), IGNORED, self.label_dtype)}
