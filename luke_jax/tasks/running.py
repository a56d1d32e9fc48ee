"""A task on texts as the engine runs it: files to rows, rows to batches, outputs to scores."""

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic

import jax
import jax.numpy as jnp
import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats.datasets import is_split, read_dataset
from luke_jax.formats.files import Faults
from luke_jax.formats.records import sources_of
from luke_jax.models import network
from luke_jax.models.system import Backbone
from luke_jax.nn.losses import IGNORED
from luke_jax.pipeline.reads import Reads, cached
from luke_jax.tasks import task_rows
from luke_jax.tasks.contract import Example, Prediction, RowLogits, TextTask, outputs_of
from luke_jax.tasks.evaluation import Evaluation
from luke_jax.text import Processor, Row
from luke_jax.text.rows import ENTITY_INPUTS, WORD_INPUTS, Room, Sizes, padded, padded_shapes
from luke_jax.text.unknown import counted
from luke_jax.training.task import DEV, Batch, Params, Task, Tree

MISTAKES = 100  # that are kept of an evaluation of dev
# With a chain's scores, and how usual a label is.
LOGITS = ("logits", "start_logits", "end_logits", "chain", "label_logits")


@dataclasses.dataclass(frozen=True)
class Running(Task, Generic[Example, Prediction]):
  """A task on texts as the engine trains it; no task changes how."""

  task: TextTask[Example, Prediction]

  @property
  def text_directory(self) -> str:
    """Returns the directory of the tokenizer and the entity vocabulary of the task's models."""
    return self.task.text

  @property
  def splits(self) -> Mapping[str, str]:
    """Returns the files of examples that there are, by split."""
    every = {"train": self.task.train, "dev": self.task.dev, "test": self.task.test}
    return {split: file for split, file in every.items() if file}

  @property
  def scored(self) -> bool:
    """Returns whether there is a file of dev, or a part of the training file is held out."""
    return bool(self.task.dev) or self.task.held_out > 0

  @property
  def choosing(self) -> str:
    """Returns the split that chooses checkpoints: "dev", or the sample of it."""
    return task_rows.SAMPLE if self.task.sampled < 1 else DEV

  def reads(self) -> Reads:
    """Returns the files of examples, and those of other inputs."""
    splits = (self.task.train, self.task.dev)
    files = tuple(file for split in splits if split for file in sources_of(split))
    return Reads(files) + self.task.reads()

  def initial_params(self, backbone: Backbone, key: jax.Array) -> Params:
    """Returns fresh parameters."""
    return network.initial_params(self.task.network(backbone), key)

  def weights(self, batch: Batch) -> jax.Array:
    """Returns the weights of a batch's labels."""
    return self.task.weights(batch)

  def loss(
    self, backbone: Backbone, params: Params, batch: Batch, weights: Tree, key: jax.Array | None
  ) -> tuple[jax.Array, dict[str, jax.Array]]:
    """Returns the weighted loss of a batch's labels."""
    return self.task.loss(backbone, params, batch, weights, key)

  def records(self, backbone: Backbone, split: str) -> task_rows.TaskRows[Example]:
    """Returns the rows of the file of "train" or "dev", or of the sample of dev."""
    task, room = self.task, backbone.config.room_for_words
    if task.words > room:
      raise InputError(f"task.words: {task.words}; expected at most {room}, the model's positions")
    check_inputs(task, backbone)
    records = rows_of(task, backbone, split)
    if split == "train":
      task.check_training(records.examples, records.rows)
    return records

  def lengths(self, records: task_rows.TaskRows[Example]) -> np.ndarray:
    """Returns the lengths of rows in words."""
    return np.array([len(row.input_ids) for row in records.rows])

  def of_length(self, words: int) -> TextTask[Example, Prediction]:
    """Returns the task with so many words a row."""
    return dataclasses.replace(self.task, words=words)

  def row_shapes(self, backbone: Backbone) -> dict[str, jax.ShapeDtypeStruct]:
    """Returns the shapes of one row of a batch."""
    task = self.task
    sizes = task.row_sizes(backbone, task.words)
    rooms = self._label_rooms(sizes) | self._rooms(backbone, task.words)
    shapes = padded_shapes(sizes, names=self._input_names(backbone), extra=rooms)
    types = {name: room.dtype for name, room in rooms.items()}
    read = {name: jax.ShapeDtypeStruct(x, types.get(name, jnp.int32)) for name, x in shapes.items()}
    for extra in task.extra_inputs:
      for name in extra.rooms(backbone, task.words):
        del read[name]
      read |= extra.shapes(backbone, task.words)
    return read

  def rows(
    self, backbone: Backbone, records: Sequence[Row], rngs: Sequence[np.random.Generator]
  ) -> dict[str, np.ndarray]:
    """Returns rows and their labels, padded."""
    task = self.task
    sizes = task.row_sizes(backbone, task.words)
    rooms = self._label_rooms(sizes) | self._rooms(backbone, task.words)
    pad_entity = processor_for(task, backbone).entity_vocab.pad_id
    return self._padded(backbone, records, sizes, pad_entity, rooms)

  def inputs(
    self, backbone: Backbone, rows: Sequence[Row], sizes: Sizes, pad_entity: int
  ) -> dict[str, np.ndarray]:
    """Returns rows as the arrays that the network reads, without labels."""
    if self.task.fixed_entities:
      sizes = sizes._replace(entities=self.task.sizes.entities)
    return self._padded(backbone, rows, sizes, pad_entity, self._rooms(backbone, sizes.words))

  def predict(self, backbone: Backbone, params: Params, batch: Batch) -> dict[str, jax.Array]:
    """Returns the logits of every row, in float32."""
    outputs = outputs_of(self.task, backbone, params, batch, None)
    return {name: outputs[name].astype(jnp.float32) for name in LOGITS if name in outputs}

  def score(self, records: task_rows.TaskRows[Example], predictions: RowLogits) -> dict[str, float]:
    """Returns the task's metrics."""
    return dict(self._evaluated(records, predictions).scores)

  def details(
    self, records: task_rows.TaskRows[Example], predictions: RowLogits
  ) -> dict[str, object]:
    """Returns the evaluation behind the metrics, with the worst mistakes."""
    evaluation = self._evaluated(records, predictions)
    return dataclasses.replace(evaluation, mistakes=evaluation.mistakes[:MISTAKES]).as_json()

  def _evaluated(self, records: task_rows.TaskRows[Example], predictions: RowLogits) -> Evaluation:
    return self.task.evaluate_rows(records.examples, records.rows, predictions)

  def _input_names(self, backbone: Backbone) -> tuple[str, ...]:
    """Returns the names of the network's inputs.

    Heads read the places of entities where there are two of them, or no entities to read.
    """
    names = (*WORD_INPUTS, *(ENTITY_INPUTS if backbone.entities else ()))
    if backbone.config.token_types:
      names += ("token_type_ids",)
    places = self.task.network(backbone).places
    return names + (places if len(places) > 1 or not backbone.entities else ())

  def _padded(
    self,
    backbone: Backbone,
    rows: Sequence[Row],
    sizes: Sizes,
    pad_entity: int,
    rooms: Mapping[str, Room],
  ) -> dict[str, np.ndarray]:
    pads = backbone.config.pad_token_id, pad_entity
    arrays = padded(rows, sizes, *pads, names=self._input_names(backbone), extra=rooms)
    for extra in self.task.extra_inputs:
      arrays = extra.batch(backbone, arrays)
    return arrays

  def _rooms(self, backbone: Backbone, words: int) -> dict[str, Room]:
    """Returns the room for what rows have beside their words."""
    rooms = dict(backbone.config.beside(words))
    rooms |= {name: Room(x) for name, x in self.task.network(backbone).own_inputs.items()}
    for extra in self.task.extra_inputs:
      shapes = extra.shapes(backbone, words)
      rooms = {name: room for name, room in rooms.items() if name not in shapes}
      rooms |= extra.rooms(backbone, words)
    return rooms

  def _label_rooms(self, sizes: Sizes) -> dict[str, Room]:
    """Returns the room for the labels of rows of these sizes."""
    return {"labels": Room(self.task.label_shape(sizes), IGNORED, self.task.label_dtype)}


def check_inputs(task: TextTask, backbone: Backbone) -> None:
  """Raises InputError if the model reads other inputs than the task has."""
  for inputs in task.extra_inputs:
    inputs.check(backbone)


def read_examples(task: TextTask[Example, Any], source: str, faults: Faults) -> list[Example]:
  """Returns the examples of files, or of a split of a dataset: FOLDER:SPLIT."""
  examples: list[Example] = []
  for file in sources_of(source):
    if is_split(file):
      examples += read_dataset(file, task.parse, faults)
    else:
      examples += task.read(Path(file), faults)
  return examples


def checked(
  task: TextTask[Example, Any], examples: Sequence[Example], faults: Faults
) -> list[Example]:
  """Returns the examples that can be trained and scored on; the others are faults."""
  valid = []
  for example in examples:
    with faults.caught(), _placed(example):
      task.check_example(example)
      valid.append(example)
  return valid


@contextlib.contextmanager
def _placed(example: object) -> Iterator[None]:
  """Raises a ValueError of a task of the user's own as a fault of the example, with its place."""
  try:
    yield
  except InputError:
    raise
  except ValueError as fault:
    place = getattr(example, "place", None) or f"{example!r:.60}"
    raise InputError(f"{place}: {fault}") from None


def processor_for(task: TextTask, backbone: Backbone) -> Processor:
  """Returns the maker of rows: the tokenizer and the entities of the task's directory."""
  if not task.text:
    raise InputError("task.text: empty; expected the directory of a tokenizer")
  system = backbone.config
  added = tuple(system.added_words(task.name, task.new_words))
  made = task_rows.processor_of_words(task.text, added, task.entity_table, system.markers)
  return fitted(task, made, backbone)


def fitted(task: TextTask, processor: Processor, backbone: Backbone | None = None) -> Processor:
  """Returns a processor with the task's sizes, for a backbone or else for any LUKE."""
  words, entities, mention = task.sizes
  return dataclasses.replace(
    processor,
    task=task.text_task,
    marker_words=backbone.config.markers_of(task.name) if backbone else (),
    max_length=words,
    max_entity_length=entities,
    max_mention_length=mention,
    entity_reading=backbone.config.entity_reading if backbone else "attended",
  )


@cached(4)  # every evaluation asks for them
def rows_of(
  task: TextTask[Example, Any], backbone: Backbone, split: str
) -> task_rows.TaskRows[Example]:
  """Returns the rows of a task's split."""
  if split == task_rows.SAMPLE:
    return task_rows.sample_of(rows_of(task, backbone, "dev"), task.sampled)
  faults, path = Faults(skip=task.skip_bad), _source(task, split)
  examples = examples_of(task, split, faults)
  reading = task.for_training() if split == "train" else task
  reads, counting = counted(processor_for(reading, backbone))
  rows = task_rows.TaskRows(examples, reading.features(reads, examples, faults))
  counting.warn(path)
  faults.warn(path)
  return rows


def examples_of(
  task: TextTask[Example, Any], split: str, faults: Faults | None = None
) -> list[Example]:
  """Returns the examples of a task's split that can be trained and scored on."""
  faults, path = faults or Faults(skip=task.skip_bad), _source(task, split)
  examples = checked(task, read_examples(task, path, faults), faults)
  if _held_out(task, split):
    share = task_rows.Share(task.held_out, task.fold)
    dev = task_rows.numbers_of_dev(list(map(task.spread_by, examples)), share)
    if split == "dev" and not dev:
      raise InputError(
        f"{path}: {len(examples)} examples with answers, none of them held out as dev; expected a"
        " file of dev, --dev, or more examples"
      )
    examples = [x for number, x in enumerate(examples) if (number in dev) == (split == "dev")]
  if split == "train" and task.used < 1:
    examples = task_rows.used_share(examples, task.used)
  if not examples:
    raise InputError(f"{path}: no examples with answers; expected one at least")
  return examples


def _held_out(task: TextTask, split: str) -> bool:
  return task.held_out > 0 and not task.dev and split in ("train", "dev")


def _source(task: TextTask, split: str) -> str:
  """Returns the file of a split, which may be a part of the training file."""
  path = Running(task).splits.get("train" if _held_out(task, split) else split)
  if path is None:
    raise InputError(f"task.{split}: empty; expected a file of examples")
  return path
