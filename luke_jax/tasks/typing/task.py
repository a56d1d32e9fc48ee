"""Entity typing as the engine trains it."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from luke_jax.errors import InputError
from luke_jax.tasks import fine_tuning
from luke_jax.tasks.evaluation import Evaluation
from luke_jax.tasks.features import Features
from luke_jax.tasks.files import Faults
from luke_jax.tasks.predictions import Span
from luke_jax.tasks.typing import features, score
from luke_jax.tasks.typing.files import Example, read
from luke_jax.text import LukeProcessor, Task


@dataclasses.dataclass(frozen=True)
class EntityTyping:
  """Finds the types of entities in texts (paper §4.1)."""

  train: str = ""
  dev: str = ""
  text: str = ""  # the directory of the tokenizer
  labels: tuple[str, ...] = ()
  words: int = 256  # the longest row
  mention: int = 30  # positions of the mention, its markers included
  threshold: float = 0.0  # of a label's logit, above which it is predicted
  skip_bad: bool = False

  name: ClassVar[str] = "typing"
  architecture: ClassVar[str] = "LukeForEntityClassification"
  text_task: ClassVar[Task | None] = "entity_classification"
  new_words: ClassVar[Mapping[str, str]] = {"<ent>": "@", "<ent2>": "#"}
  entity_table: ClassVar[Literal["special", "whole"]] = "special"
  entities: ClassVar[int] = 1

  def __post_init__(self) -> None:
    fine_tuning.check_settings(self)
    if not math.isfinite(self.threshold):
      raise InputError(f"threshold: {self.threshold!r}; expected a number")

  text_directory = property(fine_tuning.text_directory)
  initial_params = fine_tuning.initial_params
  loss = fine_tuning.loss
  records = fine_tuning.records
  row_shapes = fine_tuning.row_shapes
  rows = fine_tuning.rows
  predict = fine_tuning.predict
  score = fine_tuning.score

  def read(self, path: Path, faults: Faults) -> list[Example]:
    """The examples of a file."""
    return read(path, faults)

  def found_labels(self, examples: Sequence[Example]) -> tuple[str, ...]:
    """The labels that a file has, in alphabetical order."""
    return tuple(sorted({label for example in examples for label in example.labels or ()}))

  def check(self, examples: Sequence[Example], faults: Faults) -> list[Example]:
    """The examples with labels that the model knows."""
    kept = []
    for example in examples:
      with faults.caught():
        if example.labels is None:
          raise InputError(f"{example.place}: labels: missing; expected a list of them")
        for label in example.labels:
          fine_tuning.check_label(label, self.labels, example.place)
        kept.append(example)
    return kept

  def features(self, processor: LukeProcessor, examples: Sequence[Example]) -> list[Features]:
    """A row for each example."""
    return features.features(processor, examples, self.labels)

  def label_shape(self) -> tuple[int, ...]:
    """0 or 1 for each label."""
    return (len(self.labels),)

  def decode(
    self, examples: Sequence[Example], features: Sequence[Features], outputs: Mapping[str, Any]
  ) -> list[list[Span]]:
    """The types of each entity, the most probable first."""
    logits = np.asarray(outputs["logits"], np.float64)
    return [self._spans(example, row) for example, row in zip(examples, logits, strict=True)]

  def _spans(self, example: Example, logits: np.ndarray) -> list[Span]:
    start, end = example.span
    mention = example.text[start:end]
    order = [i for i in np.argsort(-logits, kind="stable") if logits[i] > self.threshold]
    return [
      Span(mention, start, end, self.labels[i], float(1 / (1 + np.exp(-logits[i])))) for i in order
    ]

  def evaluate(
    self, examples: Sequence[Example], predictions: Sequence[Sequence[Span]]
  ) -> Evaluation:
    """Loose micro F1 and the figures around it."""
    return score.evaluate(examples, predictions, self.labels)
