"""Functions that fine-tuned tasks share: how the engine gets their records, rows and losses.

A task is a frozen dataclass of settings. The functions here are the methods that it shares with the
others; what it adds is in `FineTuned`.
"""

import dataclasses
import difflib
import functools
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.heads.kinds import make_head
from luke_jax.models import network
from luke_jax.models.family import Backbone
from luke_jax.models.network import Network
from luke_jax.nn.losses import IGNORED, target_weights
from luke_jax.pipeline.cache import cached
from luke_jax.pipeline.reads import Reads
from luke_jax.tasks import aligned, beside
from luke_jax.tasks.datasets import is_split, read_dataset
from luke_jax.tasks.evaluation import Evaluation
from luke_jax.tasks.files import Faults
from luke_jax.text import Processor, Row, Task, load_entity_vocab, load_tokenizer
from luke_jax.text.entity_vocab import MASK2, SPECIAL_ENTITIES
from luke_jax.text.processor_files import has_entity_vocab
from luke_jax.text.rows import ENTITY_INPUTS, WORD_INPUTS, Room, Sizes, padded, padded_shapes
from luke_jax.text.unknown import CountingTokenizer

LOGITS = ("logits", "start_logits", "end_logits", "chain")  # and a chain's scores


class FineTuned(Protocol):
  """The part of a task that the shared functions need."""

  name: ClassVar[str]
  head: ClassVar[str]  # the kind of head, of luke_jax.heads
  metric: ClassVar[str]  # that chooses a checkpoint
  text_task: ClassVar[Task | None]  # of the processor
  # Words that the task adds, and those whose rows they start from.
  new_words: ClassVar[Mapping[str, str]]
  # Whether the task reads entities by title, or [MASK] and its like only.
  entity_table: ClassVar[Literal["special", "whole"]]

  train: str
  dev: str
  text: str  # the directory whose tokenizer and entity vocabulary the task reads with
  labels: tuple[str, ...]
  words: int
  entities: int
  mention: int
  skip_bad: bool

  def network(self, backbone: Backbone) -> Network:
    """Returns a backbone with the task's head."""
    ...

  def outputs(self, backbone: Backbone, params: dict, batch: dict, key: jax.Array | None) -> Any:
    """Returns the network's outputs for a batch, with dropout if there is a key."""
    ...

  def read(self, path: Path, faults: Faults) -> list[Any]:
    """The examples of a file, with or without answers."""
    ...

  def parse(self, value: Mapping[str, Any], id: str, place: str) -> Any:
    """The example in an object of JSON lines."""
    ...

  def features(
    self, processor: Processor, examples: Sequence[Any], faults: Faults | None = None
  ) -> list[Row]:
    """Rows for the model, those of an example one after the other; with labels where known.

    An example that has no place in a row is at fault.
    """
    ...

  def check(self, examples: Sequence[Any], faults: Faults) -> list[Any]:
    """Those of the examples that can be trained and scored on; the others are faults."""
    ...

  def check_example(self, example: Any) -> None:
    """Refuses an example without answers, or with one that the model does not know."""
    ...

  def found_labels(self, examples: Sequence[Any]) -> tuple[str, ...]:
    """The labels of a file of examples, in the order that a new model gives them."""
    ...

  def label_shape(self) -> tuple[int, ...]:
    """The shape of the labels of a row."""
    ...

  def decode(self, examples: Sequence[Any], rows: Sequence[Row], outputs: Any) -> list[Any]:
    """Returns a prediction for each example, by the outputs of all its rows."""
    ...

  def evaluate(self, examples: Sequence[Any], predictions: Sequence[Any]) -> Evaluation:
    """Returns the scores of predictions."""
    ...


@dataclasses.dataclass(frozen=True)
class TaskRows:
  """The rows of a split, and the examples they are of."""

  examples: Sequence[Any]
  rows: Sequence[Row]

  def __len__(self) -> int:
    return len(self.rows)

  def __getitem__(self, index: int) -> Row:
    return self.rows[index]

  @functools.cached_property
  def lengths(self) -> np.ndarray:
    """Returns the lengths of the rows in words."""
    return np.array([len(row.input_ids) for row in self.rows])


def check_settings(task: Any) -> None:
  """Raises InputError for sizes below 1 and for duplicate labels."""
  for name, least in (("words", 8), ("entities", 1), ("mention", 1)):
    number = getattr(task, name)
    if type(number) is not int or number < least:
      raise InputError(f"{name}: {number!r}; expected a whole number from {least}")
  twice = {label for label in task.labels if task.labels.count(label) > 1}
  if twice:
    raise InputError(f"labels: {', '.join(sorted(twice))}: twice; expected each once")


def check(task: FineTuned, examples: Sequence[Any], faults: Faults) -> list[Any]:
  """Returns the examples that can be trained and scored on; the others are faults."""
  valid = []
  for example in examples:
    with faults.caught():
      task.check_example(example)
      valid.append(example)
  return valid


def check_label(label: str, labels: Sequence[str], place: str) -> None:
  """Refuses a label that the model was not trained for."""
  if label not in labels:
    near = difflib.get_close_matches(label, labels, n=1)
    hint = f", perhaps {near[0]!r}" if near else ""
    raise InputError(
      f"{place}: label {label!r}: not among the model's {len(labels)}; expected one of"
      f" {', '.join(labels[:20])}{hint}"
    )


def sizes(task: FineTuned) -> Sizes:
  """Returns a row's lengths: words, entities, pieces of a mention."""
  return Sizes(task.words, task.entities, task.mention)


def processor(task: FineTuned, backbone: Backbone) -> Processor:
  """Returns what makes rows of texts: the tokenizer and the entities of the task's directory."""
  if not task.text:
    raise InputError("task.text: empty; expected the directory of a tokenizer")
  family = backbone.family
  added = tuple(family.added_words(task.name, task.new_words))
  read = _processor(task.text, added, task.entity_table, family.markers)
  return fitted(read, task, family.markers_of(task.name))


def fitted(processor: Processor, task: FineTuned, markers: tuple[str, ...] = ()) -> Processor:
  """A model's processor with the task's sizes, and words that enclose its entities."""
  return dataclasses.replace(
    processor,
    task=task.text_task,
    marker_words=markers,
    max_length=task.words,
    max_entity_length=task.entities,
    max_mention_length=task.mention,
  )


@cached(4)
def _processor(directory: str, new_words: tuple[str, ...], table: str, markers: bool) -> Processor:
  tokenizer = load_tokenizer(directory, markers=markers)
  # A language model that LUKE is compared with has no entities.
  whole = table == "whole" and has_entity_vocab(Path(directory))
  vocab = load_entity_vocab(directory) if whole else SPECIAL_ENTITIES
  if vocab.mask2_id is None:  # models are given one as they are loaded
    vocab = vocab.add([MASK2])
  return Processor(tokenizer.with_words(new_words) if new_words else tokenizer, vocab)


def text_directory(task: FineTuned) -> str:
  """Returns the directory of the tokenizer and the entity vocabulary of the task's models."""
  return task.text


def reads(task: FineTuned) -> Reads:
  """Returns the files of examples, and those of the vectors of entities and of words."""
  examples = Reads(tuple(filter(None, (task.train, task.dev))))
  return examples + aligned.reads(task) + beside.reads(task)


def task_network(task: Any, backbone: Backbone) -> Network:
  """Returns a backbone with the task's head."""
  return Network(backbone, make_head(task.head, backbone, labels=len(task.labels) or 2))


def initial_params(task: FineTuned, backbone: Backbone, key: jax.Array) -> dict:
  """Returns fresh parameters."""
  return network.initial_params(task.network(backbone), key)


def outputs_of(
  task: Any, backbone: Backbone, params: dict, batch: dict, key: jax.Array | None
) -> Any:
  """Returns the network's outputs for a batch, with dropout if there is a key."""
  inputs = {name: x for name, x in batch.items() if name != "labels"}
  rngs = {} if key is None else {"dropout": key}
  return task.network(backbone).apply({"params": params}, **inputs, rngs=rngs)


def weights(task: FineTuned, batch: Mapping[str, jax.Array]) -> jax.Array:
  """Returns the weights of a batch's labels, see `target_weights`."""
  return target_weights(batch["labels"] != IGNORED)


def authors_weights(task: Any, batch: Mapping[str, jax.Array]) -> jax.Array:
  """Returns weights as `weights` does, or for the mean of means of the authors' micro-batches."""
  return target_weights(batch["labels"] != IGNORED, task.micro_batch if task.authors else None)


def loss(
  task: FineTuned,
  backbone: Backbone,
  params: dict,
  batch: dict,
  weights: jax.Array,
  key: jax.Array | None,
) -> tuple[jax.Array, dict[str, jax.Array]]:
  """Returns the weighted loss of a batch's labels."""
  outputs = task.outputs(backbone, params, batch, key)
  loss = task.network(backbone).loss(outputs, batch["labels"], weights=weights)
  return loss, {"tokens": batch["attention_mask"].sum()}


def records(task: FineTuned, backbone: Backbone, split: str) -> TaskRows:
  """Returns the rows of the file of "train" or "dev"."""
  room = backbone.config.room_for_words
  if task.words > room:
    raise InputError(f"task.words: {task.words}; expected at most {room}, the model's positions")
  aligned.check_task(task, backbone)
  beside.check_task(task, backbone)
  return _records(task, backbone, split)


def read_examples(task: FineTuned, source: str, faults: Faults) -> list[Any]:
  """The examples of a file, or of a split of a dataset: FOLDER:SPLIT."""
  if is_split(source):
    return list(read_dataset(source, task.parse, faults))
  return task.read(Path(source), faults)


def counted(reads: Processor) -> tuple[Processor, CountingTokenizer]:
  """Returns a processor whose tokenizer counts what it does not know, and that tokenizer."""
  counting: Any = CountingTokenizer(reads.tokenizer)
  return dataclasses.replace(reads, tokenizer=counting), counting


@cached(4)  # every evaluation asks for them
def _records(task: FineTuned, backbone: Backbone, split: str) -> TaskRows:
  path, faults = getattr(task, split), Faults(skip=task.skip_bad)
  if not path:
    raise InputError(f"task.{split}: empty; expected a file of examples")
  examples = task.check(read_examples(task, path, faults), faults)
  if not examples:
    raise InputError(f"{path}: no examples with answers; expected one at least")
  reads = processor(task, backbone)
  reads, counting = counted(reads)
  rows = TaskRows(examples, task.features(reads, examples, faults))
  counting.warn(path)
  if faults.found:
    warnings.warn(
      f"{path}: {len(faults.found)} faults, what has them is left out: {faults.found[0]}",
      stacklevel=2,
    )
  return rows


def input_names(task: FineTuned, backbone: Backbone) -> tuple[str, ...]:
  """Returns the names of the network's inputs.

  Heads read the places of entities where there are two of them, or no entities to read.
  """
  names = (*WORD_INPUTS, *(ENTITY_INPUTS if backbone.entities else ()))
  if backbone.family.token_types:
    names += ("token_type_ids",)
  places = task.network(backbone).head.places
  return names + (places if len(places) > 1 or not backbone.entities else ())


def inputs(
  task: FineTuned, backbone: Backbone, rows: Sequence[Row], sizes: Sizes, pad_entity: int
) -> dict[str, np.ndarray]:
  """Returns rows as the arrays that the network reads."""
  names, extra = input_names(task, backbone), _rooms(task, backbone, sizes.words)
  pad = backbone.config.pad_token_id
  arrays = padded(rows, sizes, pad, pad_entity, names=names, extra=extra)
  return _with_vectors(task, backbone, arrays)


def row_shapes(task: FineTuned, backbone: Backbone) -> dict[str, jax.ShapeDtypeStruct]:
  """Returns the shapes of one row of a batch."""
  names = input_names(task, backbone)
  extra = _labels(task) | dict(backbone.family.beside(backbone.config, task.words))
  extra |= _own(task, backbone)
  shapes = padded_shapes(sizes(task), names=names, extra=extra)
  types = {name: room.dtype for name, room in extra.items()}
  found = {
    name: jax.ShapeDtypeStruct(shape, types.get(name, jnp.int32)) for name, shape in shapes.items()
  }
  return found | dict(aligned.vector_shapes(task, backbone, task.words))


def rows(
  task: FineTuned,
  backbone: Backbone,
  records: Sequence[Row],
  rngs: Sequence[np.random.Generator],
) -> dict[str, np.ndarray]:
  """Pads rows and their labels."""
  names = input_names(task, backbone)
  extra = _labels(task) | _rooms(task, backbone, task.words)
  pads = backbone.config.pad_token_id, processor(task, backbone).entity_vocab.pad_id
  arrays = padded(records, sizes(task), *pads, names=names, extra=extra)
  return _with_vectors(task, backbone, arrays)


def _rooms(task: FineTuned, backbone: Backbone, words: int) -> dict[str, Room]:
  """Returns the room for what rows have beside their words."""
  return aligned.rooms(task, words) | beside.rooms(backbone, words) | _own(task, backbone)


def _with_vectors(task: FineTuned, backbone: Backbone, arrays: dict[str, np.ndarray]) -> dict:
  """Returns a batch with vectors of entities and of words in the place of their numbers."""
  return beside.with_vectors(task, backbone, aligned.with_vectors(task, backbone, arrays))


def _own(task: FineTuned, backbone: Backbone) -> dict[str, Room]:
  """Returns the room for inputs that only the task's head reads."""
  shapes = getattr(task.network(backbone).head, "own_inputs", {})
  return {name: Room(shape) for name, shape in shapes.items()}


def _labels(task: FineTuned) -> dict[str, Room]:
  dtype = getattr(task, "label_dtype", np.int32)  # numbers that a task learns are float32
  return {"labels": Room(task.label_shape(), IGNORED, dtype)}


def predict(task: FineTuned, backbone: Backbone, params: dict, batch: dict) -> dict[str, jax.Array]:
  """Returns the logits of every row, in float32."""
  outputs = task.outputs(backbone, params, batch, None)
  return {name: outputs[name].astype(jnp.float32) for name in LOGITS if name in outputs}


def score(task: FineTuned, records: TaskRows, predictions: Any) -> dict[str, float]:
  """The task's metrics."""
  found = task.decode(records.examples, records.rows, predictions)
  return dict(task.evaluate(records.examples, found).scores)
