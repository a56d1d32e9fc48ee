"""Entity typing as the engine trains it: the mention between markers, one `[MASK]` entity."""

import dataclasses
import math
from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar, Self

import numpy as np

from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.tasks.aligned import MarkedEntities
from luke_jax.tasks.contract import RowLogits, TextTask
from luke_jax.tasks.evaluation import Evaluation
from luke_jax.tasks.label_checks import check_label
from luke_jax.tasks.predictions import Span, Types
from luke_jax.tasks.typing import score
from luke_jax.tasks.typing.files import COLUMNS, TypingExample, parse, read
from luke_jax.text import Processor, Row
from luke_jax.text import Task as ProcessorTask
from luke_jax.text.rows import Sizes


@dataclasses.dataclass(frozen=True)
class EntityTyping(MarkedEntities, TextTask[TypingExample, Types]):
  """Finds the types of entities in texts (paper §4.1)."""

  labels: tuple[str, ...] = ()  # none: those of the training file
  words: int = 256  # the longest row
  threshold: float = 0.0  # of a label's logit, above which it is predicted
  at_least_one: bool = False  # the likeliest label is predicted whatever its logit, as in FIGER
  exclusive: bool = False  # each mention has one of the labels, and the likeliest is predicted

  name: ClassVar[str] = "typing"
  answer: ClassVar[type | None] = Types
  spreadsheet: ClassVar[Sequence[str]] = COLUMNS
  fields: ClassVar[Mapping[str, object]] = {"span": [0, 3]}
  metric: ClassVar[str] = "f1"
  heads: ClassVar[tuple[str, ...]] = ("entity",)
  text_task: ClassVar[ProcessorTask | None] = "entity_classification"
  new_words: ClassVar[Mapping[str, str]] = {"<ent>": "@", "<ent2>": "#"}

  def __post_init__(self) -> None:
    super().__post_init__()
    if not math.isfinite(self.threshold):
      raise InputError(f"threshold: {self.threshold!r}; expected a number")

  @property
  def micro_batch(self) -> int | None:
    """Returns the rows of a micro-batch in the authors' runs, whose losses are means of means."""
    return 2 if self.authors else None

  def with_threshold(self, least: float) -> Self:
    """Returns the task with all types of this probability or more."""
    return dataclasses.replace(self, threshold=math.log(least / (1 - least)))

  @property
  def sizes(self) -> Sizes:
    """Returns a row's room for words, for entities and for the pieces of a mention."""
    return Sizes(self.words, 1, self.mention)

  read = staticmethod(read)
  parse = staticmethod(parse)

  def found_labels(self, examples: Sequence[TypingExample]) -> tuple[str, ...]:
    """Returns the labels of a file, in alphabetical order."""
    return tuple(sorted({label for example in examples for label in example.labels or ()}))

  def spread_by(self, example: TypingExample) -> tuple[object, Collection[str]]:
    """Returns the text of an example and its labels."""
    return example.text, example.labels or ()

  def check_example(self, example: TypingExample) -> None:
    """Raises InputError for an example without labels, or with one that the model lacks."""
    if example.labels is None:
      raise InputError(f"{example.place}: labels: missing; expected a list of them")
    for label in example.labels:
      check_label(label, self.labels, example.place)
    if self.exclusive and len(example.labels) != 1:
      names = ", ".join(example.labels) or "none"
      raise InputError(f"{example.place}: labels: {names}; expected one, as `exclusive` says")

  def features(
    self, processor: Processor, examples: Sequence[TypingExample], faults: Faults | None = None
  ) -> list[Row]:
    """Returns a row for each example; of too long a text, what stands around the mention."""
    faults, spans = faults or Faults(skip=self.skip_bad), [[x.span] for x in examples]
    rows = self.marked_rows(processor, examples, spans, faults)
    return [row.labelled(self._target(examples[row.example])) for row in rows]

  def _target(self, example: TypingExample) -> np.ndarray | None:
    if example.labels is None:
      return None
    targets = np.array([label in example.labels for label in self.labels], np.int32)
    return np.array(np.argmax(targets), np.int32) if self.exclusive else targets

  def label_shape(self, sizes: Sizes) -> tuple[int, ...]:
    """Returns the shape of a row's labels: 0 or 1 for each label, or the number of the only one."""
    return () if self.exclusive else (len(self.labels),)

  def decode(
    self, examples: Sequence[TypingExample], rows: Sequence[Row], outputs: RowLogits
  ) -> list[Types]:
    """Returns the types of each entity, the most probable first; of one without a row, none."""
    logits = {row.example: outputs["logits"][i] for i, row in enumerate(rows)}
    return [
      self._types(x, logits[i]) if i in logits else Types((), {}) for i, x in enumerate(examples)
    ]

  def _types(self, example: TypingExample, row: np.ndarray) -> Types:
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

  def evaluate(self, examples: Sequence[TypingExample], predictions: Sequence[Types]) -> Evaluation:
    """Returns loose micro F1 and the figures around it; without a threshold, no best one."""
    evaluation = score.evaluate(examples, predictions, self.labels)
    if not self.exclusive:
      return evaluation
    scores = {
      name: x for name, x in evaluation.scores.items() if not name.startswith("best_threshold")
    }
    return dataclasses.replace(evaluation, scores=scores)

  def to_prediction(self, example: TypingExample, prediction: Types) -> dict[str, object]:
    """Returns an example's line in a file of predictions."""
    return {
      "id": example.id,
      "span": list(example.span),
      "labels": [span.label for span in prediction],
      "scores": [round(span.score, 4) for span in prediction],
    }
