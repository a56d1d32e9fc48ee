"""Cloze question answering as the engine trains it."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.tasks import fine_tuning
from luke_jax.tasks.cloze import decoding, features, score
from luke_jax.tasks.cloze.features import ENTITY_WORD, PLACEHOLDER_WORD
from luke_jax.tasks.cloze.files import Example, parse, read
from luke_jax.tasks.cloze.highlights import HIGHLIGHT_WORD
from luke_jax.tasks.evaluation import Evaluation
from luke_jax.tasks.files import Faults
from luke_jax.tasks.predictions import Answer
from luke_jax.text import Processor, Row, Task


@dataclasses.dataclass(frozen=True)
class ClozeAnswering:
  """Finds the entity of a passage that fills the gap of a question (paper §4.4)."""

  train: str = ""  # file of examples to train on
  dev: str = ""  # file of examples that checkpoints are scored on
  test: str = ""  # for luke-jax experiment run
  text: str = ""  # the directory of the tokenizer
  labels: tuple[str, ...] = ()  # none: candidates are scored
  words: int = 512  # the longest row
  entities: int = 128  # the gap and candidates; more of these take several rows
  mention: int = 30  # positions of a candidate, its markers included
  stride: int = 128  # pieces from the start of a window to that of the next
  skip_bad: bool = False  # leave out examples that are faulty, and count them
  authors: bool = False  # rows and losses of the authors' code, see docs/differences.md

  name: ClassVar[str] = "cloze"
  head: ClassVar[str] = "cloze"
  metric: ClassVar[str] = "exact_match"  # the metric that selects a checkpoint
  text_task: ClassVar[Task | None] = None
  # In the order of the authors' models.
  new_words: ClassVar[Mapping[str, str]] = {
    HIGHLIGHT_WORD: "@",
    PLACEHOLDER_WORD: "#",
    ENTITY_WORD: "*",
  }
  entity_table: ClassVar[Literal["special", "whole"]] = "special"
  micro_batch: ClassVar[int] = 1  # rows, of the authors' runs

  def __post_init__(self) -> None:
    fine_tuning.check_settings(self)
    if self.labels:
      raise InputError(f"labels: {', '.join(self.labels)}; expected none, candidates are scored")
    if type(self.stride) is not int or self.stride < 1:
      raise InputError(f"stride: {self.stride!r}; expected a whole number from 1")
    if self.entities < 2:
      raise InputError(f"entities: {self.entities}; expected 2 at least, the gap and a candidate")

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
    """Returns no labels."""
    return ()

  def check_example(self, example: Example) -> None:
    """Refuses one without answers."""
    if not example.answers:
      raise InputError(f"{example.place}: answers: none; expected one at least")

  def features(
    self, processor: Processor, examples: Sequence[Example], faults: Faults | None = None
  ) -> list[Row]:
    """Returns the rows of each example."""
    faults = faults or Faults(skip=self.skip_bad)
    limits = features.Limits(self.stride, self.authors)
    return features.features(processor, examples, faults, limits)

  def label_shape(self) -> tuple[int, ...]:
    """Returns the shape of a row's labels: whether each candidate is an answer."""
    return (self.entities - 1,)

  def decode(
    self, examples: Sequence[Example], rows: Sequence[Row], outputs: Mapping[str, Any]
  ) -> list[list[Answer]]:
    """The candidates of each example, the best first."""
    return decoding.decode(examples, rows, outputs)

  def evaluate(
    self, examples: Sequence[Example], predictions: Sequence[Sequence[Answer]]
  ) -> Evaluation:
    """Returns exact match and F1."""
    return score.evaluate(examples, predictions)

  def to_prediction(self, example: Example, prediction: Sequence[Answer]) -> dict[str, Any]:
    """Returns an example's line in a file of predictions: the best candidate, and all scores."""
    best = prediction[0] if prediction else Answer("", 0, 0, 0.0)
    return {
      "id": example.id,
      "answer": best.text,
      "span": [best.start, best.end],
      "score": round(best.score, 4),
      "scores": [[answer.start, answer.end, round(answer.score, 4)] for answer in prediction],
    }
