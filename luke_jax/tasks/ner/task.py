"""Named entity recognition as the engine trains it."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar, NamedTuple

import jax
import numpy as np

from luke_jax.errors import check_whole
from luke_jax.formats.files import Faults
from luke_jax.models.system import Backbone
from luke_jax.nn.losses import IGNORED
from luke_jax.tasks.contract import RowLogits, TextTask, room_by_fields
from luke_jax.tasks.known import task_class
from luke_jax.tasks.ner import features, files, score
from luke_jax.tasks.ner.columns import check_names
from luke_jax.tasks.ner.documents import NamesExample
from luke_jax.tasks.ner.features import check_learnable
from luke_jax.tasks.predictions import Labelled, Missed, Span
from luke_jax.text import Processor, Row
from luke_jax.text import Task as ProcessorTask
from luke_jax.text.rows import Sizes
from luke_jax.training.task import Batch

NIL = "NIL"  # the first label of a new model, of spans that are no entities
LEAST_PIECES_OF_WINDOW = 8  # word pieces of a window
# Candidates of a sentence, of which some have many more: losses are means over so many.
USUAL = 256
AUTHORS_PIECES = 16  # of the longest candidate, in the code of the paper's authors


@dataclasses.dataclass(frozen=True)
class NamedEntities(files.NamesOfFiles, TextTask[NamesExample, list[Span]]):
  """Finds the entities of texts (paper §4.3)."""

  labels: tuple[str, ...] = ()  # the first is that of spans that are no entities
  words: int = 512  # the longest row
  entities: int = 128  # candidates of a row that reads them; a sentence that has more takes several
  mention: int = 30  # positions of a candidate
  span_words: int = 16  # the longest candidate
  span_pieces: int | None = None  # the same in word pieces; the paper's code has 16
  # The longest stretch of a document that is read at once by a system that reads its words once, as
  # in training: longer ones than a model was trained on hide names from it.
  window: int = features.WINDOW
  authors: bool = False  # rows and losses of the authors' code, see docs/differences.md
  hidden: tuple[str, ...] = ()  # labels that answers do not have unless they are asked for

  name: ClassVar[str] = "ner"
  answer: ClassVar[type | None] = Span
  candidates_by_data: ClassVar[bool] = True
  english_start: ClassVar[str] = "labels"
  metric: ClassVar[str] = "f1"
  heads: ClassVar[tuple[str, ...]] = ("span",)
  sizes = property(room_by_fields)
  by_length: ClassVar[bool] = False  # candidates of short sentences would count for more
  text_task: ClassVar[ProcessorTask | None] = "entity_span_classification"

  def __post_init__(self) -> None:
    super().__post_init__()
    check_names(self.columns)
    check_whole(1, span_words=self.span_words)
    if self.span_pieces is not None:
      check_whole(1, span_pieces=self.span_pieces)
    check_whole(LEAST_PIECES_OF_WINDOW, window=self.window)
    object.__setattr__(self, "window", min(self.window, self.words))

  @property
  def micro_batch(self) -> int | None:
    """Returns the rows of a micro-batch in the authors' runs, whose losses are means of means."""
    return 2 if self.authors else None

  @classmethod
  def forms(cls, backbone: Backbone) -> Mapping[str, type[TextTask]]:
    """Returns names by spans, or by a tag for each word.

    Spans that are read as entities need entity tokens; tags learn faster without. A class of one's
    own stays what it is.
    """
    spans, tags = {"spans": cls}, {"tags": task_class("tagging")}
    if cls is not NamedEntities:
      return spans
    return spans | tags if backbone.entities else tags | spans

  def scores_all_spans(self, backbone: Backbone) -> bool:
    """Returns whether candidates are not read as entities."""
    return not backbone.entities

  def row_sizes(self, backbone: Backbone, words: int) -> Sizes:
    """Returns the room of a row: for all its candidates, where they are not read as entities."""
    if not self.scores_all_spans(backbone):
      return super().row_sizes(backbone, words)
    return Sizes(words, words * self.span_words, self.mention)

  def weights(self, batch: Batch) -> jax.Array:
    """Returns the weights of a batch's candidates, equal ones.

    With entity tokens their sum is 1, see `target_weights`. Where a row has all candidates of its
    words, each weighs the same in every batch, so that none counts for more beside short rows.
    """
    if "entity_ids" in batch:
      return super().weights(batch)
    mask = batch["labels"] != IGNORED
    return mask / (len(mask) * USUAL)

  def check_training(self, examples: Sequence[NamesExample], rows: Sequence[Row]) -> None:
    """Raises InputError if no candidate is a name."""
    check_learnable(self.train, examples, rows)

  def found_labels(self, examples: Sequence[NamesExample]) -> tuple[str, ...]:
    """Returns the label of no entity, and those of a file, in alphabetical order."""
    labels = {span.label for example in examples for span in example.spans or ()}
    return (NIL, *sorted(labels - {NIL}))

  def check_example(self, example: NamesExample) -> None:
    """Raises InputError for a document without entities, or with a label that the model lacks."""
    files.check_spans(example, self.labels[1:])

  to_prediction = staticmethod(files.to_prediction)
  evaluate = staticmethod(score.evaluate)

  @property
  def shown_labels(self) -> tuple[str, ...]:
    """Returns the labels that are not hidden."""
    return tuple(x for x in self.labels if x not in self.hidden)

  def showing(self, labels: Collection[str]) -> Mapping[str, object]:
    """Returns what hides all other labels than these, which are its own."""
    own = set(labels) <= set(self.labels)
    return {"hidden": tuple(x for x in self.labels[1:] if x not in labels)} if own else {}

  def missed(self, example: NamesExample, rows: Sequence[Row] | None) -> Sequence[Missed]:
    """Returns the entities of a document that are no candidates."""
    return features.missed_entities(example, self.span_words, rows)

  def marks(self, row: Row) -> Sequence[Labelled]:
    """Returns the entities of a row, as places in its word pieces."""
    return list(features.marks(row, self.labels))

  def features(
    self, processor: Processor, examples: Sequence[NamesExample], faults: Faults | None = None
  ) -> list[Row]:
    """Returns the rows of each sentence."""
    faults = faults or Faults(skip=self.skip_bad)
    pieces = AUTHORS_PIECES if self.authors else self.span_pieces
    limits = features.CandidateLimits(self.span_words, pieces, self.context, self.window)
    return features.features(processor, examples, limits, labels=self.labels, faults=faults)

  def label_shape(self, sizes: Sizes) -> tuple[int, ...]:
    """Returns the shape of a row's labels: one for each candidate."""
    return (sizes.entities,)

  def decode(
    self, examples: Sequence[NamesExample], rows: Sequence[Row], outputs: RowLogits
  ) -> list[list[Span]]:
    """Returns the entities of each document, in order."""
    found = entities_of(examples, rows, outputs, self.labels)
    return [[x for x in spans if x.label not in self.hidden] for spans in found]


class ScoredSpan(NamedTuple):
  """A span of words with its best label, if that is not the label of no entity."""

  logit: float
  start: int
  end: int
  label: int
  score: float


def entities_of(
  examples: Sequence[NamesExample], rows: Sequence[Row], outputs: RowLogits, labels: Sequence[str]
) -> list[list[Span]]:
  """Returns each document's entities in order; of overlapping ones, that with the highest logit."""
  candidates: list[list[ScoredSpan]] = [[] for _ in examples]
  for i, row in enumerate(rows):
    candidates[row.example] += _candidates(row, np.asarray(outputs["logits"][i], np.float64))
  return [
    apart(example, of_example, labels)
    for example, of_example in zip(examples, candidates, strict=True)
  ]


def _candidates(row: Row, logits: np.ndarray) -> list[ScoredSpan]:
  logits = logits[: len(row.entity_ids)]
  labels = logits.argmax(axis=-1)
  entities = labels.nonzero()[0]
  logits, labels = logits[entities], labels[entities]
  best = logits.max(axis=-1, initial=-np.inf)
  scores = 1 / np.exp(logits - best[:, None]).sum(axis=-1)
  columns = (best, *row.source[entities].T, labels, scores)
  return [ScoredSpan(*values) for values in zip(*(x.tolist() for x in columns), strict=True)]


def apart(example: NamesExample, candidates: list[ScoredSpan], labels: Sequence[str]) -> list[Span]:
  """Returns the spans of a document in order; of overlapping ones, that with the highest logit."""
  words, taken, spans = example.words, bytearray(len(example.words)), []
  for candidate in sorted(candidates, key=lambda candidate: -candidate.logit):
    start, end = candidate.start, candidate.end
    if not any(taken[start:end]):
      taken[start:end] = bytes([1]) * (end - start)
      first, last = words[start][0], words[end - 1][1]
      label = labels[candidate.label]
      spans.append(Span(example.text[first:last], first, last, label, candidate.score))
  return sorted(spans, key=lambda span: span.start)
