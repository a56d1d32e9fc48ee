"""Entity typing as the engine trains it."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.tasks import fine_tuning
from luke_jax.tasks.aligned import aligner
from luke_jax.tasks.evaluation import Evaluation
from luke_jax.tasks.files import Faults
from luke_jax.tasks.predictions import Span, Types
from luke_jax.tasks.typing import features, score
from luke_jax.tasks.typing.files import Example, parse, read
from luke_jax.text import Processor, Row, Task
from luke_jax.text.alignment import Alignment
from luke_jax.text.parts import after_space


@dataclasses.dataclass(frozen=True)
class EntityTyping:
  """Finds the types of entities in texts (paper §4.1)."""

  train: str = ""  # file of examples to train on
  dev: str = ""  # file of examples that checkpoints are scored on
  test: str = ""  # for luke-jax experiment run
  text: str = ""  # the directory of the tokenizer
  labels: tuple[str, ...] = ()  # none: those of the training file
  words: int = 256  # the longest row
  mention: int = 30  # positions of the mention, its markers included
  threshold: float = 0.0  # of a label's logit, above which it is predicted
  at_least_one: bool = False  # the likeliest label is predicted whatever its logit, as in FIGER
  exclusive: bool = False  # each mention has one of the labels, and the likeliest is predicted
  vectors: str = ""  # the folder of entities' vectors, for a system that reads them
  link_threshold: float = 0.0  # the score above which a link of an example counts
  alignment: Alignment = "first"  # the pieces of a mention that its entity is beside
  skip_bad: bool = False  # leave out examples that are faulty, and count them
  authors: bool = False  # rows and losses of the authors' code, see docs/differences.md

  name: ClassVar[str] = "typing"
  head: ClassVar[str] = "entity"
  metric: ClassVar[str] = "f1"  # the metric that selects a checkpoint
  text_task: ClassVar[Task | None] = "entity_classification"
  new_words: ClassVar[Mapping[str, str]] = {"<ent>": "@", "<ent2>": "#"}
  entity_table: ClassVar[Literal["special", "whole"]] = "special"
  micro_batch: ClassVar[int] = 2  # rows, of the authors' runs
  entities: ClassVar[int] = 1

  def __post_init__(self) -> None:
    fine_tuning.check_settings(self)
    if not math.isfinite(self.threshold):
      raise InputError(f"threshold: {self.threshold!r}; expected a number")

  parse = staticmethod(parse)
  text_directory = property(fine_tuning.text_directory)
  reads = fine_tuning.reads
  check = fine_tuning.check
  network = fine_tuning.task_network
  outputs = fine_tuning.outputs_of
  initial_params = fine_tuning.initial_params
  weights = fine_tuning.authors_weights
  loss = fine_tuning.loss
  records = fine_tuning.records
  row_shapes = fine_tuning.row_shapes
  rows = fine_tuning.rows
  predict = fine_tuning.predict
  score = fine_tuning.score

  def read(self, path: Path, faults: Faults) -> list[Example]:
    """Reads the examples of a file."""
    return read(path, faults)

  def found_labels(self, examples: Sequence[Example]) -> tuple[str, ...]:
    """Returns the labels of a file, in alphabetical order."""
    return tuple(sorted({label for example in examples for label in example.labels or ()}))

  def check_example(self, example: Example) -> None:
    """Refuses one without labels that the model knows."""
    if example.labels is None:
      raise InputError(f"{example.place}: labels: missing; expected a list of them")
    for label in example.labels:
      fine_tuning.check_label(label, self.labels, example.place)
    if self.exclusive and len(example.labels) != 1:
      names = ", ".join(example.labels) or "none"
      raise InputError(f"{example.place}: labels: {names}; expected one, as `exclusive` says")

  def features(
    self, processor: Processor, examples: Sequence[Example], faults: Faults | None = None
  ) -> list[Row]:
    """A row for each example."""
    faults = faults or Faults(skip=self.skip_bad)
    if self.authors:
      processor = dataclasses.replace(processor, read_as=after_space)
    found = features.features(
      processor, examples, self.labels, faults, aligner=aligner(self, processor.tokenizer)
    )
    return [_of_one(row) for row in found] if self.exclusive else found

  def label_shape(self) -> tuple[int, ...]:
    """Returns the shape of a row's labels: 0 or 1 for each label, or the number of the only one."""
    return () if self.exclusive else (len(self.labels),)

  def decode(
    self, examples: Sequence[Example], rows: Sequence[Row], outputs: Mapping[str, Any]
  ) -> list[Types]:
    """The types of each entity, the most probable first; of one without a row, none."""
    logits = {row.example: outputs["logits"][i] for i, row in enumerate(rows)}
    return [
      self._types(x, logits[i]) if i in logits else Types((), {}) for i, x in enumerate(examples)
    ]

  def _types(self, example: Example, row: np.ndarray) -> Types:
    start, end = example.span
    mention = example.text[start:end]
    logits = np.asarray(row, np.float64)[: len(self.labels)]
    order = np.argsort(-logits, kind="stable")
    if self.exclusive:
      scores, some = np.exp(logits - np.logaddexp.reduce(logits)), order[:1]
    else:
      scores = np.exp(-np.logaddexp(0, -logits))
      sure = order[:1] if self.at_least_one else ()
      some = [i for i in order if logits[i] > self.threshold or i in sure]
    spans = tuple(Span(mention, start, end, self.labels[i], float(scores[i])) for i in some)
    return Types(spans, dict(zip(self.labels, logits.tolist(), strict=True)))

  def evaluate(self, examples: Sequence[Example], predictions: Sequence[Types]) -> Evaluation:
    """Returns loose micro F1 and the figures around it; without a threshold, no best one."""
    found = score.evaluate(examples, predictions, self.labels)
    if not self.exclusive:
      return found
    scores = {name: x for name, x in found.scores.items() if not name.startswith("best_threshold")}
    return dataclasses.replace(found, scores=scores)

  def to_prediction(self, example: Example, prediction: Types) -> dict[str, Any]:
    """Returns an example's line in a file of predictions."""
    return {
      "id": example.id,
      "span": list(example.span),
      "labels": [span.label for span in prediction],
      "scores": [round(span.score, 4) for span in prediction],
    }


def _of_one(row: Row) -> Row:
  """Returns a row whose label is the number of the only one."""
  return row if row.labels is None else row.labelled(np.argmax(row.labels).astype(np.int32))
