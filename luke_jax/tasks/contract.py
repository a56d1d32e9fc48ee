"""The contract of tasks on texts, frozen dataclasses: what is abstract is what one has to add."""

import abc
import collections
import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar

import jax
import numpy as np

from luke_jax.errors import InputError, check_whole
from luke_jax.files import Path
from luke_jax.formats.files import Faults
from luke_jax.formats.records import to_json
from luke_jax.heads.kinds import make_head
from luke_jax.models import network
from luke_jax.models.config_files import check_members
from luke_jax.models.head import Outputs
from luke_jax.models.network import Network
from luke_jax.models.system import Backbone
from luke_jax.nn.losses import IGNORED, target_weights
from luke_jax.pipeline.reads import Reads
from luke_jax.tasks.calibration import Answered
from luke_jax.tasks.evaluation import Evaluation
from luke_jax.tasks.predictions import Labelled, Missed
from luke_jax.text import Processor, Row
from luke_jax.text import Task as ProcessorTask
from luke_jax.text.rows import Room, Sizes
from luke_jax.training.task import Batch, Params, Settings, Task, Tree


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


Example = TypeVar("Example")
Prediction = TypeVar("Prediction")
# Applies a trained model: returns the task with the labels asked for, the rows, and their outputs.
ReadExamples = Callable[
  ["TextTask", Sequence[Any]], "tuple[TextTask, Sequence[Row], Mapping[str, Any]]"
]
SENTENCE = "Ana lives in Paris"  # that `fields` are about
RowLogits = Mapping[str, Sequence[np.ndarray] | np.ndarray]  # of all rows, by the names of LOGITS


@dataclasses.dataclass(frozen=True)
class TextTask(Settings, Generic[Example, Prediction]):
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

  metric: ClassVar[str]  # that selects a checkpoint
  text_task: ClassVar[ProcessorTask | None] = None  # of the processor
  # Words that the task adds, and those whose rows they start from.
  new_words: ClassVar[Mapping[str, str]] = {}
  by_length: ClassVar[bool] = True  # training by rows of like length learns as much
  candidates_by_data: ClassVar[bool] = False  # rows have room for as many as files have
  rate_of_many: ClassVar[float] = 1.0  # share of the usual rate that suits 10,000 rows or more
  english_start: ClassVar[str] = ""  # model of the box that it starts from where that is "english"
  fixed_entities: ClassVar[bool] = False  # batches have room for as many as a row may have
  # Its model's calibration changes its scores; else its own `slope`, `offset` and `threshold` do.
  calibrated: ClassVar[bool] = True
  answer: ClassVar[type | None] = None  # of which its predictions are lists, or are one
  spreadsheet: ClassVar[Sequence[str]] = ()  # columns, where cells have names by their words
  fields: ClassVar[Mapping[str, object]] = {}  # that it reads beside a text, here beside `SENTENCE`
  reads_labels: ClassVar[bool] = False  # any, at run time, by their words
  # Whether the task reads entities by title, or [MASK] and its like only.
  entity_table: ClassVar[Literal["special", "whole"]] = "special"

  def __init_subclass__(cls, **options: object) -> None:
    """Raises InputError for a class that lacks a part of the contract."""
    super().__init_subclass__(**options)
    needed = ("name", "heads", "metric", *sorted(TextTask.__abstractmethods__))
    check_members(cls, needed, "task", f"{__name__}.TextTask")

  def __post_init__(self) -> None:
    """Raises InputError for sizes below 1 and for duplicate labels."""
    for name, least, number in zip(Sizes._fields, (8, 1, 1), self.sizes, strict=True):
      check_whole(least, **{name: number})
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

  @abc.abstractmethod
  def features(
    self, processor: Processor, examples: Sequence[Example], faults: Faults | None = None
  ) -> list[Row]:
    """Returns rows in the order of their examples, with labels if known; faults have none."""

  @abc.abstractmethod
  def label_shape(self, sizes: Sizes) -> tuple[int, ...]:
    """Returns the shape of the labels of a row of these sizes."""

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

  # What it may change: for the examples of files.

  def spread_by(self, example: Example) -> tuple[object, Collection[str]]:
    """Returns what must not stand on both sides of a held-out part, if anything, and its labels."""
    return None, ()

  def to_json(self, example: Example) -> dict[str, Any]:
    """Returns an example as an object of JSON lines has it."""
    return to_json(example)

  def summary(self, examples: Sequence[Example]) -> Sequence[str]:
    """Returns what there is to say of a file's examples beside their number and their labels."""
    return ()

  def missed(self, example: Example, rows: Sequence[Row] | None) -> Sequence[Missed]:
    """Returns what an example has to find that no model can find, or not by these rows of it."""
    return ()

  def marks(self, row: Row) -> Sequence[Labelled]:
    """Returns the entities of a row to learn from, as places in its word pieces."""
    return [Labelled(start, end, "") for start, end in row.entity_tokens.tolist()]

  def counted_labels(self, examples: Sequence[Example]) -> str:
    """Returns what a training says of the labels of its examples."""
    return f"{len(self.labels)}: {', '.join(self.labels)}" if self.labels else "none"

  def of_examples(self, examples: Sequence[Example]) -> Self:
    """Returns the task with what the examples of its files decide, as their labels."""
    return dataclasses.replace(self, labels=self.labels or self.found_labels(examples))

  # For the settings that suit these.

  @classmethod
  def forms(cls, backbone: Backbone) -> "Mapping[str, type[TextTask]]":
    """Returns the tasks that do the same in another way, that which suits a system first."""
    return {}

  def own_data(self, pools_means: bool, given: Collection[str]) -> Mapping[str, object]:
    """Returns settings that suit people's files beside those given.

    The start may have been trained for means of its states.
    """
    return {}

  # For training.

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
    self, backbone: Backbone, params: Params, batch: Batch, weights: Tree, key: jax.Array | None
  ) -> tuple[jax.Array, dict[str, jax.Array]]:
    """Returns the weighted loss of a batch's labels."""
    outputs = outputs_of(self, backbone, params, batch, key)
    loss = self.network(backbone).loss(outputs, batch["labels"], weights=weights)
    return loss, {"tokens": batch["attention_mask"].sum()}

  def scores_all_spans(self, backbone: Backbone) -> bool:
    """Returns whether rows have all spans of their words as candidates, few of which have a label.

    Then each candidate has to weigh the same in every batch.
    """
    return False

  def row_sizes(self, backbone: Backbone, words: int) -> Sizes:
    """Returns the room of a row of so many words, for a backbone."""
    return self.sizes._replace(words=words)

  def reads(self) -> Reads:
    """Returns the files that rows depend on beside those of the examples."""
    return sum((inputs.reads() for inputs in self.extra_inputs), Reads())

  def for_training(self) -> Self:
    """Returns the task as it reads the examples to train on."""
    return self

  def check_training(self, examples: Sequence[Example], rows: Sequence[Row]) -> None:
    """Raises InputError for examples and rows of which nothing can be learnt."""

  def evaluate_rows(
    self, examples: Sequence[Example], rows: Sequence[Row], outputs: RowLogits
  ) -> Evaluation:
    """Returns the scores of the outputs of rows of dev while training."""
    return self.evaluate(examples, self.decode(examples, rows, outputs))

  # For answers.

  @property
  def title(self) -> str:
    """Returns what it is called."""
    return self.name

  def needed(self, logits: np.ndarray) -> np.ndarray:
    """Returns what `decode` needs of a row's logits, where these are large."""
    return logits

  @property
  def none_label(self) -> str | None:
    """Returns the label of an answer that there is nothing to find, if there is such a label."""
    return None

  @property
  def shown_labels(self) -> tuple[str, ...]:
    """Returns the labels that its answers have where none are asked for."""
    return self.labels

  def asked_of(self, examples: Sequence[Example] | None) -> tuple[str, ...]:
    """Returns the labels to ask for in examples that have labels, or else in any text.

    None for a task that has its own; raises InputError if there are no such labels.
    """
    return ()

  def showing(self, labels: Collection[str]) -> Mapping[str, object]:
    """Returns the settings of a task whose answers have these of its labels; {} if it has none."""
    return {}

  def wordings(self, examples: Sequence[Example]) -> list[str]:
    """Returns the texts of the labels that it learns from, whose vectors are in its `table`."""
    return []

  def for_predictions(self) -> Self:
    """Returns the task as it reads what people ask."""
    return self

  def tuned(
    self, read: "ReadExamples", dev: Sequence[Example], train: Sequence[Example]
  ) -> Mapping[str, object]:
    """Returns the settings that a trained model has by examples of dev, which may be none."""
    return {}

  def answers_withheld(self, read: "ReadExamples", examples: Sequence[Example]) -> list[Answered]:
    """Returns the answers to examples whose right answer is taken away, none of them right."""
    return []

  def with_threshold(self, least: float) -> Self:
    """Returns the task with all answers of this score or more, where it leaves answers out."""
    return self

  def check_head(self, model: Network) -> None:
    """Raises InputError for settings that a trained head was not made for."""

  def label_of_name(self, name: str) -> str:
    """Returns the label of an output that stands for a label as examples name it."""
    return name

  def engine(self) -> Task:
    """Returns the functions by which the engine trains the task."""
    from luke_jax.tasks.running import Running  # which runs any task on texts

    return Running(self)


def room_by_fields(task: Any) -> Sizes:
  """Returns a row's room for words, for entities and for the pieces of a mention."""
  return Sizes(task.words, task.entities, task.mention)


class Unlabelled:
  """Parts of a task on texts whose answers have no labels."""

  def found_labels(self, examples: Sequence[object]) -> tuple[str, ...]:
    """Returns no labels."""
    return ()

  def spread_by(self, example: Any) -> tuple[object, Collection[str]]:
    """Returns the text of an example, which has no labels."""
    return example.text, ()


def outputs_of(
  task: TextTask, backbone: Backbone, params: Params, batch: Batch, key: jax.Array | None
) -> Outputs:
  """Returns the outputs of a task's network for a batch, with dropout if there is a key."""
  inputs = {name: x for name, x in batch.items() if name != "labels"}
  return network.apply(task.network(backbone), params, inputs, key)
