"""Facts as the engine trains them: all names of a text, and every relation between two of them."""

import bisect
import collections
import dataclasses
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import jax
import numpy as np

from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.heads.facts import NAMES, FactHead
from luke_jax.models.network import Network
from luke_jax.models.system import Backbone
from luke_jax.nn.losses import IGNORED, target_weights
from luke_jax.tasks.contract import ExtraInputs, ReadExamples, RowLogits, TextTask, room_by_fields
from luke_jax.tasks.evaluation import Evaluation
from luke_jax.tasks.facts import files, score
from luke_jax.tasks.facts.denial import ENGLISH, Denials
from luke_jax.tasks.facts.features import NamesOfRow, room_for_names, rows_of
from luke_jax.tasks.facts.files import COLUMNS, FactsExample
from luke_jax.tasks.label_checks import check_label
from luke_jax.tasks.predictions import Fact, Mention
from luke_jax.text import Processor, Row
from luke_jax.text import Task as ProcessorTask
from luke_jax.text.rows import Sizes
from luke_jax.training.task import Batch

FEWEST_HEADS, SEVERAL = 20, 0.065  # that tell of a relation, and the share with several tails
LEAST = 0.02  # score of the facts that figures are made of
OF_NAME = 32  # facts of a row that are looked at, for each of its names: an untrained model has all


@dataclasses.dataclass(frozen=True)
class Facts(TextTask[FactsExample, list[Fact]]):
  """Finds every relation among all names of a text, in one pass over it."""

  labels: tuple[str, ...] = ()  # none: those of the training file
  words: int = 512  # the longest row
  entities: int = 128  # mentions of names in a row
  mention: int = 30  # positions of a mention
  types: tuple[str, ...] = ()  # of names; none: those of the training file
  threshold: float = 0.5  # the least score of a fact
  single: tuple[str, ...] = ()  # relations of which a name has one tail, as a date of birth
  language: str = ""  # en: what a sentence denies by the rules of English is no fact

  name: ClassVar[str] = "facts"
  answer: ClassVar[type | None] = Fact
  spreadsheet: ClassVar[Sequence[str]] = COLUMNS
  fields: ClassVar[Mapping[str, object]] = {"names": [[0, 3, "PER"], [13, 18, "LOC"]]}
  metric: ClassVar[str] = "f1"
  heads: ClassVar[tuple[str, ...]] = (FactHead.kind,)
  sizes = property(room_by_fields)
  text_task: ClassVar[ProcessorTask | None] = "entity_span_classification"

  read = staticmethod(files.read)
  parse = staticmethod(files.parse)
  to_json = staticmethod(files.to_json)

  def __post_init__(self) -> None:
    super().__post_init__()
    if not 0 < self.threshold < 1:
      raise InputError(f"threshold: {self.threshold!r}; expected a number between 0 and 1")
    if self.entities < NAMES:
      raise InputError(f"entities: {self.entities}; expected {NAMES} or more, one for each name")
    if self.language not in ("", ENGLISH):
      raise InputError(f"language: {self.language!r}; expected {ENGLISH}, or none")
    if len(set(self.types)) < len(self.types):
      raise InputError(f"types: {', '.join(self.types)}; expected each once")

  def of_examples(self, examples: Sequence[FactsExample]) -> Self:
    """Returns the task with the relations and the types of names that examples have."""
    types = sorted({name.label for x in examples for name in x.names} - {""})
    return dataclasses.replace(super().of_examples(examples), types=self.types or tuple(types))

  def found_labels(self, examples: Sequence[FactsExample]) -> tuple[str, ...]:
    """Returns the relations of a file by alphabet."""
    labels = sorted({fact.label for x in examples for fact in (*(x.facts or ()), *x.unknown)})
    if not (labels := [x for x in labels if x]):
      raise InputError(f"{self.train}: no facts; expected some, as [[0, 1, 'born in']]")
    return tuple(labels)

  def check_example(self, example: FactsExample) -> None:
    """Raises InputError for an example without facts, or with one that the model lacks."""
    if example.facts is None:
      raise InputError(f"{example.place}: no facts; expected those that hold, which may be none")
    for fact in example.facts:
      check_label(fact.label, self.labels, example.place)

  def spread_by(self, example: FactsExample) -> tuple[object, Collection[str]]:
    """Returns the text of an example and its relations."""
    return example.text, {fact.label for fact in example.facts or ()}

  def summary(self, examples: Sequence[FactsExample]) -> Sequence[str]:
    """Returns how many names, and facts inside of sentences, examples have."""
    facts = [x.inside(fact) for x in examples for fact in x.facts or ()]
    names = sum(len(x.names) for x in examples)
    return (f"{names:,} names, {len(facts):,} facts, {sum(facts):,} inside a sentence",)

  def network(self, backbone: Backbone) -> Network:
    """Returns a backbone with the head of facts."""
    numerics = backbone.numerics_of(FactHead.kind)
    return Network(backbone, FactHead(numerics, len(self.labels) or 1, len(self.types)))

  def check_head(self, model: Network) -> None:
    """Raises InputError for types that a trained head was not made for."""
    if isinstance(model.head, FactHead) and model.head.types != len(self.types):
      count = len(self.types)
      raise InputError(f"types: {count} of them; expected {model.head.types}, as the model has")

  @property
  def extra_inputs(self) -> tuple[ExtraInputs, ...]:
    """Returns the names of a row."""
    return (NamesOfRow(),)

  def features(
    self, processor: Processor, examples: Sequence[FactsExample], faults: Faults | None = None
  ) -> list[Row]:
    """Returns the rows of each example that has two names or more."""
    faults = faults or Faults(skip=self.skip_bad)
    return list(rows_of(processor, examples, self.labels, self.types, faults, self.entities))

  def label_shape(self, sizes: Sizes) -> tuple[int, ...]:
    """Returns the shape of a row's labels: heads, tails and relations."""
    names = room_for_names(sizes.words)
    return (names, names, len(self.labels))

  @property
  def label_dtype(self) -> type[np.number]:
    """Returns the type of labels."""
    return np.int8

  def weights(self, batch: Batch) -> jax.Array:
    """Returns the weights of a batch's pairs, of which something is known."""
    return target_weights((batch["labels"] != IGNORED).any(-1), self.micro_batch)

  def with_threshold(self, least: float) -> Self:
    """Returns the task with all facts of this score or more."""
    return dataclasses.replace(self, threshold=min(max(least, LEAST), 1 - LEAST))

  def needed(self, logits: np.ndarray) -> np.ndarray:
    """Returns head, tail, relation and logit of what is not too unlikely to be looked at."""
    if logits.ndim == 2:  # as these already
      return logits
    places = np.argwhere(logits >= math.log(LEAST / (1 - LEAST)))
    places = places[places[:, 0] != places[:, 1]]
    return np.column_stack([places, logits[tuple(places.T)]]).astype(np.float64)

  def tuned(
    self, read: ReadExamples, dev: Sequence[FactsExample], train: Sequence[FactsExample]
  ) -> Mapping[str, object]:
    """Returns the relations of which names have one tail, by the examples to train on."""
    tails: dict[str, collections.Counter[int]] = {}
    for example in train:
      counts = collections.Counter((x.head, x.label) for x in example.facts or ())
      for (_, label), count in counts.items():
        tails.setdefault(label, collections.Counter())[min(count, 2)] += 1
    single = (x for x, of in tails.items() if of[1] >= FEWEST_HEADS and of[2] <= SEVERAL * of[1])
    return {"single": sorted(single)}

  def decode(
    self, examples: Sequence[FactsExample], rows: Sequence[Row], outputs: RowLogits
  ) -> list[list[Fact]]:
    """Returns the facts of each example, those of the surest window, the surest first."""
    found: list[dict[tuple[int, int, int], float]] = [{} for _ in examples]
    least = math.log(self.threshold / (1 - self.threshold))
    for row, logits in zip(rows, outputs.get("logits", ()), strict=True):
      of_example, names = found[row.example], row.source
      every = self.needed(np.asarray(logits))
      beyond = len(names), len(names), len(self.labels)
      every = every[(every[:, :3] < beyond).all(-1) & (every[:, 3] >= least)]
      surest = every[np.argsort(-every[:, 3])[: OF_NAME * len(names)]]
      for *place, logit in surest.tolist():
        head, tail, label = map(int, place)
        key = names[head], names[tail], label
        of_example[key] = max(of_example.get(key, -math.inf), logit)
    return [
      sorted(self._of(example, of_one), key=lambda fact: -fact.score)
      for example, of_one in zip(examples, found, strict=True)
    ]

  def _of(
    self, example: FactsExample, found: Mapping[tuple[int, int, int], float]
  ) -> Iterator[Fact]:
    denials = Denials(example) if self.language else None
    for (head, tail, label), logit in found.items():
      if denials and denials(head, tail, self.labels[label]):
        continue
      nearest = _nearest(example, head, tail)
      chance = 1 / (1 + math.exp(-logit))
      yield Fact(*nearest, self.labels[label], chance, (head, tail))

  def evaluate(
    self, examples: Sequence[FactsExample], predictions: Sequence[Sequence[Fact]]
  ) -> Evaluation:
    """Returns micro F1 over facts, whatever their scores were fitted to, and what is around it."""
    return score.evaluate(examples, predictions, 0.0)

  def evaluate_rows(
    self, examples: Sequence[FactsExample], rows: Sequence[Row], outputs: RowLogits
  ) -> Evaluation:
    """Returns the scores of dev while training, and figures of what is less sure too."""
    found = self.with_threshold(LEAST).decode(examples, rows, outputs)
    return score.evaluate(examples, found, self.threshold)

  def to_prediction(self, example: FactsExample, prediction: Sequence[Fact]) -> dict[str, Any]:
    """Returns an example's line in a file of predictions."""
    return {
      "id": example.id,
      "facts": [[*fact.names, fact.label] for fact in prediction],
      "texts": [[fact.head.text, fact.tail.text] for fact in prediction],
      "scores": [round(fact.score, 4) for fact in prediction],
    }


def _nearest(example: FactsExample, head: int, tail: int) -> tuple[Mention, Mention]:
  """Returns the mentions of two names that are nearest to each other, the first such."""
  heads, tails = (example.names[x].mentions for x in (head, tail))
  beside = ((x, tails[i]) for x in heads for i in _around(bisect.bisect(tails, x), len(tails)))
  pair = min(beside, key=lambda x: max(x[0][0] - x[1][1], x[1][0] - x[0][1]))
  one, other = (Mention(example.text[slice(*x)], *x) for x in pair)
  return one, other


def _around(place: int, count: int) -> range:
  """Returns the numbers beside a place among so many."""
  return range(max(0, place - 1), min(count, place + 1))
