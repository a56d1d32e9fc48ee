"""Relation classification as the engine trains it: head and tail, between markers."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar

import numpy as np

from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.heads.labels import PairHead
from luke_jax.models.network import Network
from luke_jax.models.system import Backbone
from luke_jax.nn.losses import IGNORED
from luke_jax.tasks.aligned import MarkedEntities
from luke_jax.tasks.contract import RowLogits, TextTask
from luke_jax.tasks.evaluation import Evaluation
from luke_jax.tasks.label_checks import check_label
from luke_jax.tasks.predictions import Mention, Relation
from luke_jax.tasks.relations import score
from luke_jax.tasks.relations.files import COLUMNS, RelationExample, parse, read
from luke_jax.text import Processor, Row
from luke_jax.text import Task as ProcessorTask
from luke_jax.text.rows import Sizes


@dataclasses.dataclass(frozen=True)
class RelationClassification(MarkedEntities, TextTask[RelationExample, Relation]):
  """Finds the relation of two entities of a text (paper §4.2)."""

  labels: tuple[str, ...] = ()  # none: those of the training file
  words: int = 512  # the longest row
  negative: str = ""  # the label of no relation; "": no_relation or Other, if it is there
  bias: bool = False  # of the classifier; LUKE's has none, that of mLUKE's authors has one

  name: ClassVar[str] = "relations"
  answer: ClassVar[type | None] = Relation
  spreadsheet: ClassVar[Sequence[str]] = COLUMNS
  fields: ClassVar[Mapping[str, object]] = {"head": [0, 3], "tail": [13, 18]}
  metric: ClassVar[str] = "f1"
  heads: ClassVar[tuple[str, ...]] = ("pair",)
  text_task: ClassVar[ProcessorTask | None] = "entity_pair_classification"
  new_words: ClassVar[Mapping[str, str]] = {"<ent>": "@", "<ent2>": "#"}

  def __post_init__(self) -> None:
    super().__post_init__()
    if self.negative and self.labels and self.negative not in self.labels:
      raise InputError(
        f"negative: {self.negative!r}: no label; expected one of {', '.join(self.labels)}"
      )

  @property
  def micro_batch(self) -> int | None:
    """Returns the rows of a micro-batch in the authors' runs, whose losses are means of means."""
    return 4 if self.authors else None

  @property
  def no_relation(self) -> str | None:
    """Returns the label of no relation, if there is one."""
    return self.negative or score.negative_of(self.labels)

  @property
  def none_label(self) -> str | None:
    """Returns the label of no relation, or what an example without an answer has."""
    return self.no_relation or score.UNANSWERED

  @property
  def sizes(self) -> Sizes:
    """Returns a row's room for words, for entities and for the pieces of a mention."""
    return Sizes(self.words, 2, self.mention)

  read = staticmethod(read)
  parse = staticmethod(parse)

  def network(self, backbone: Backbone) -> Network:
    """Returns a backbone with the head of pairs, whose classifier has a bias if it is asked for."""
    network = super().network(backbone)
    if not self.bias:
      return network
    if not isinstance(network.head, PairHead):
      system = type(backbone.config).__name__
      raise InputError(f"bias: true; expected false, for the classifier of {system} has none")
    return Network(backbone, network.head.clone(bias=True))

  def found_labels(self, examples: Sequence[RelationExample]) -> tuple[str, ...]:
    """Returns the labels of a file: first that of no relation, then the others by alphabet."""
    labels = {example.label for example in examples if example.label is not None}
    if len(labels) < 2:
      names = ", ".join(labels) or "none"
      raise InputError(
        f"{self.train}: labels: {names}; expected two or more, such as that of no relation"
      )
    negative = self.negative or score.negative_of(labels)
    return tuple(sorted(labels, key=lambda label: (label != negative, label)))

  def spread_by(self, example: RelationExample) -> tuple[object, Collection[str]]:
    """Returns the text of an example and its labels."""
    return example.text, (example.label,) if example.label else ()

  def check_example(self, example: RelationExample) -> None:
    """Raises InputError for an example without a label, or with one that the model lacks."""
    check_label(score.gold_label(example), self.labels, example.place)

  def features(
    self, processor: Processor, examples: Sequence[RelationExample], faults: Faults | None = None
  ) -> list[Row]:
    """Returns a row for each example; of too long a text, what stands around the two entities."""
    faults, spans = faults or Faults(skip=self.skip_bad), [[x.head, x.tail] for x in examples]
    rows = self.marked_rows(processor, examples, spans, faults)
    numbers = {label: number for number, label in enumerate(self.labels)}
    return [row.labelled(_target(examples[row.example].label, numbers)) for row in rows]

  def label_shape(self, sizes: Sizes) -> tuple[int, ...]:
    """Returns the shape of a row's label, a single number."""
    return ()

  def decode(
    self, examples: Sequence[RelationExample], rows: Sequence[Row], outputs: RowLogits
  ) -> list[Relation]:
    """Returns the most probable label of each example; of one without a row, none, which is ""."""
    logits = {row.example: outputs["logits"][i] for i, row in enumerate(rows)}
    return [self._relation(example, logits.get(i)) for i, example in enumerate(examples)]

  def _relation(self, example: RelationExample, row: np.ndarray | None) -> Relation:
    head, tail = (Mention(example.text[slice(*x)], *x) for x in (example.head, example.tail))
    if row is None:
      return Relation(head, tail, score.UNANSWERED, 0.0)
    logits = np.asarray(row, np.float64)[: len(self.labels)]
    best = int(logits.argmax())
    probability = 1 / np.exp(logits - logits[best]).sum()
    return Relation(head, tail, self.labels[best], float(probability))

  def evaluate(
    self, examples: Sequence[RelationExample], predictions: Sequence[Relation]
  ) -> Evaluation:
    """Returns micro F1 without the label of no relation, and the figures around it."""
    return score.evaluate(examples, predictions, self.labels, self.negative)

  def to_prediction(self, example: RelationExample, prediction: Relation) -> dict[str, object]:
    """Returns an example's line in a file of predictions."""
    return {
      "id": example.id,
      "head": list(example.head),
      "tail": list(example.tail),
      "label": prediction.label,
      "score": round(prediction.score, 4),
    }


def _target(label: str | None, numbers: dict[str, int]) -> np.ndarray | None:
  return None if label is None else np.array(numbers.get(label, IGNORED), np.int32)
