"""Names with labels that are given at run time, as the engine trains them."""

import collections
import dataclasses
import functools
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from luke_jax.errors import InputError, check_whole
from luke_jax.files import Path, read_json_object
from luke_jax.formats.files import Faults
from luke_jax.heads.matching import LABELS
from luke_jax.models.system import Backbone
from luke_jax.nn.losses import IGNORED
from luke_jax.pipeline.reads import Reads
from luke_jax.tasks.calibration import LEAST_SCORE, NEARLY_BEST, fitted, low_threshold, share_right
from luke_jax.tasks.contract import ExtraInputs, ReadExamples, RowLogits, TextTask
from luke_jax.tasks.evaluation import Evaluation
from luke_jax.tasks.labels import files, score
from luke_jax.tasks.labels.features import IDS, LearningRoom, Lessons, all_spans
from luke_jax.tasks.labels.files import Example
from luke_jax.tasks.labels.wordings import NONE, TEXTS, VECTORS, open_wordings
from luke_jax.tasks.ner.columns import check_names
from luke_jax.tasks.ner.documents import Reading
from luke_jax.tasks.ner.features import CandidateLimits, missed_entities
from luke_jax.tasks.ner.files import to_prediction
from luke_jax.tasks.ner.task import ScoredSpan, apart
from luke_jax.tasks.predictions import Missed, Span
from luke_jax.text import Processor, Row
from luke_jax.text import Task as ProcessorTask
from luke_jax.text.rows import Room, Sizes
from luke_jax.training.task import Batch

WIDTHS = (8, 16, 32, 64, 128, 256, 512, 1024)  # of labels that are asked for together
NEARLY = 0.2  # of a name's best score, that a label has to have to be its label
TELLING = 2.0  # how much it counts that few names have a label
MOST = 40  # labels that are asked for in texts whose own labels are more: the most frequent


@dataclasses.dataclass(frozen=True)
class LabelVectors(ExtraInputs):
  """Vectors of the labels that the spans of a row are scored for."""

  table: str  # its folder, or its name in memory
  labels: int  # of a row
  same: bool  # all rows of a batch have the same

  def reads(self) -> Reads:
    """Returns the files of the table."""
    if not self.table or self.same:
      return Reads()
    folder = Path(self.table)
    return Reads((str(folder / TEXTS), str(folder / VECTORS)))

  def check(self, backbone: Backbone) -> None:
    """Accepts any backbone."""

  def rooms(self, backbone: Backbone, words: int) -> dict[str, Room]:
    """Returns the room for the numbers of labels."""
    return {IDS: Room((self.labels,), NONE)}

  def shapes(self, backbone: Backbone, words: int) -> dict[str, jax.ShapeDtypeStruct]:
    """Returns the shape of a row's vectors."""
    shape = (self.labels, backbone.config.hidden_size)
    return {LABELS: jax.ShapeDtypeStruct(shape, jnp.float32)}

  def batch(self, backbone: Backbone, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Returns a batch with vectors in the place of numbers, once where all rows have the same."""
    numbers = arrays.pop(IDS)
    table = open_wordings(self.table)
    return arrays | {LABELS: table.vectors(numbers[:1] if self.same else numbers)}


@dataclasses.dataclass(frozen=True)
class LabelledNames(TextTask[Example, list[Span]]):
  """Finds the names in texts that have one of the labels that are asked for."""

  labels: tuple[str, ...] = ()  # that are asked for; none in training, where rows have their own
  words: int = 512  # the longest row
  entities: int = 128  # spans of a row that reads them; a sentence that has more takes several
  mention: int = 30  # positions of a span
  span_words: int = 8  # the longest span
  window: int = 128  # the longest stretch of a text that is read at once, in word pieces
  language: str = "en"  # its rules split a text into sentences if the file does not
  columns: tuple[str, ...] = ()  # of a file: word, tag or _ (not read) for each; else a guess
  repair_tags: bool = False  # read tags that are not legal where they stand as conlleval does
  tag_names: tuple[str, ...] = ()  # of tags that are numbers, from 0
  spans: int = 32  # of a row to learn from
  row_labels: int = 24  # labels of a row to learn from
  descriptions: str = ""  # file of an object of JSON: labels and what they are, to learn from
  kinds: tuple[str, ...] = ()  # that are asked for where no labels are given: the few learnt
  threshold: float = 0.5  # the least score of a name
  slope: float = 1.0  # of the logits that become scores
  offset: float = 0.0  # that is added to these
  table: str = ""  # folder of labels and their vectors, which a run makes
  hyphenated: bool = False  # hyphens join words, which are read without the space before
  prompt: tuple[int, ...] = ()  # word pieces before every text, by which a model reads labels
  nested: bool = False  # names may stand inside others
  several: bool = False  # names have all labels of that score

  name: ClassVar[str] = "labels"
  answer: ClassVar[type | None] = Span
  reads_labels: ClassVar[bool] = True
  calibrated: ClassVar[bool] = False
  metric: ClassVar[str] = "f1"
  heads: ClassVar[tuple[str, ...]] = ("match",)
  text_task: ClassVar[ProcessorTask | None] = "entity_span_classification"

  def __post_init__(self) -> None:
    super().__post_init__()
    check_whole(1, span_words=self.span_words, spans=self.spans, row_labels=self.row_labels)
    check_whole(8, window=self.window)
    check_names(self.columns)
    if not 0 <= self.threshold <= 1:
      raise InputError(f"threshold: {self.threshold!r}; expected a number from 0 to 1")
    object.__setattr__(self, "window", min(self.window, self.words))

  @property
  def learns(self) -> bool:
    """Returns whether rows have spans and labels to learn from, since no labels are asked for."""
    return not self.labels

  def with_threshold(self, least: float) -> Self:
    """Returns the task with all answers of this score or more."""
    return dataclasses.replace(self, threshold=least)

  @property
  def sizes(self) -> Sizes:
    """Returns a row's room for words, for entities and for the pieces of a mention."""
    return Sizes(self.words, self.spans if self.learns else self.entities, self.mention)

  def row_sizes(self, backbone: Backbone, words: int) -> Sizes:
    """Returns the room of a row: for all its spans, where they are not read as entities."""
    if self.learns or backbone.entities:
      return super().row_sizes(backbone, words)
    return Sizes(words, words * self.span_words, self.mention)

  @property
  def extra_inputs(self) -> tuple[ExtraInputs, ...]:
    """Returns the vectors of labels."""
    most = self.row_labels if self.learns else _width(len(self.labels))
    return (LabelVectors(self.table, most, not self.learns),)

  @functools.cached_property
  def described(self) -> dict[str, str]:
    """Returns the descriptions of labels."""
    if not self.descriptions:
      return {}
    found = read_json_object(Path(self.descriptions), "descriptions of labels")
    return {str(label): str(about) for label, about in found.items() if about}

  def reads(self) -> Reads:
    """Returns the files of labels."""
    return super().reads() + Reads((self.descriptions,) if self.descriptions else ())

  def weights(self, batch: Batch) -> jax.Array:
    """Returns the weights of a batch's spans and labels: their losses are summed for each name.

    A name counts as much whatever the number of labels that are wrong.
    """
    mask = batch["labels"] != IGNORED
    return mask / jnp.maximum((batch["labels"] == 1).sum(), 1)

  def read(self, path: Path, faults: Faults) -> list[Example]:
    """Reads the documents of a file."""
    return files.read(path, faults, self._reading)

  def parse(self, value: Mapping[str, object], id: str, place: str) -> Example:
    """Returns the document in an object of JSON lines."""
    return files.parse(value, id, place, self._reading)

  @property
  def _reading(self) -> Reading:
    tags = self.columns, self.repair_tags, self.tag_names
    return Reading(self.language, False, *tags, self.hyphenated)

  def found_labels(self, examples: Sequence[Example]) -> tuple[str, ...]:
    """Returns no labels: they are given at run time."""
    return ()

  def spread_by(self, example: Example) -> tuple[object, Collection[str]]:
    """Returns the text of an example and its labels."""
    return example.text, {label for labels in example.labels for label in labels}

  def check_example(self, example: Example) -> None:
    """Raises InputError for a document that does not say which names it has."""
    if example.spans is None:
      raise InputError(f"{example.place}: no spans; expected those of names, or tags")

  def wordings(self, examples: Sequence[Example]) -> list[str]:
    """Returns the labels of examples, and those with a description once more with it."""
    labels = sorted({label for x in examples for labels in x.labels for label in labels})
    return labels + [f"{x}: {self.described[x]}" for x in labels if x in self.described]

  def asked_of(self, examples: Sequence[Example] | None) -> tuple[str, ...]:
    """Returns the labels to ask for in texts that have labels: all, or the most frequent ones.

    Elsewhere the few kinds that it learnt; raises InputError if it has none.
    """
    if self.labels:
      return ()
    if examples is not None:
      return self._most_frequent(examples)
    if not self.kinds:
      given = 'labels=["person", "ship"], or --labels "person, ship"'
      raise InputError(f"labels: none; expected those to look for, as {given}")
    return self.kinds

  def _most_frequent(self, examples: Sequence[Example]) -> tuple[str, ...]:
    counts = collections.Counter(x for example in examples for of in example.labels for x in of)
    return tuple(sorted(label for label, _ in counts.most_common(MOST)))

  @property
  def shown_labels(self) -> tuple[str, ...]:
    """Returns the kinds that it learnt."""
    return self.kinds

  def counted_labels(self, examples: Sequence[Example]) -> str:
    """Returns what a training says of the labels of its examples."""
    return f"{len(self.wordings(examples)):,} to learn from; any at run time"

  def tuned(
    self, read: ReadExamples, dev: Sequence[Example], train: Sequence[Example]
  ) -> Mapping[str, object]:
    """Returns slope, offset and threshold by dev, and the kinds to ask for elsewhere.

    Who learns few kinds will ask for these, in texts like dev; of many, elsewhere for others.
    """
    kinds = {label for x in dev or train for labels in x.labels for label in labels}
    few = len(kinds) <= MOST
    settings = self._meaning(read, dev, few=few) if dev else {}
    return settings | ({"kinds": self._most_frequent(train)} if few else {})

  def _meaning(
    self, read: ReadExamples, examples: Sequence[Example], *, few: bool
  ) -> dict[str, object]:
    plain = dataclasses.replace(self, slope=1.0, offset=0.0, threshold=LEAST_SCORE)
    asked, rows, outputs = read(plain, examples)
    predicted = asked.decode(examples, rows, outputs)
    slope, offset = fitted(asked.evaluate(examples, predicted).answers)
    answers, gold = score.found(examples, predicted, asked.labels)
    threshold = share_right(
      low_threshold(answers, gold, 0.0 if few else NEARLY_BEST), slope, offset
    )
    numbers = {"slope": slope, "offset": offset, "threshold": threshold}
    return {name: round(x, 6) for name, x in numbers.items()}

  to_json = staticmethod(files.to_json)
  to_prediction = staticmethod(to_prediction)

  def missed(self, example: Example, rows: Sequence[Row] | None) -> Sequence[Missed]:
    """Returns the names of a document that are too long, or no whole words."""
    return missed_entities(example, self.span_words)

  def features(
    self, processor: Processor, examples: Sequence[Example], faults: Faults | None = None
  ) -> list[Row]:
    """Returns the rows of each document."""
    faults = faults or Faults(skip=self.skip_bad)
    rows = self.window, self.hyphenated, self.prompt
    limits = CandidateLimits(self.span_words, None, True, *rows)
    if self.learns:
      examples = [dataclasses.replace(example, mentions=None) for example in examples]
    rows = all_spans(processor, examples, limits, faults)
    table = open_wordings(self.table) if self.table else None
    if self.learns and table is None:  # a run that is prepared asks how long rows are
      none, nowhere = np.zeros(0, np.int32), np.zeros((0, 2), np.int32)  # no part of all spans
      return [Row(row.example, row.input_ids, none, nowhere) for row in rows]
    if self.learns:
      lessons = Lessons(examples, table, self.described)
      room = LearningRoom(self.spans, self.row_labels)
      return [lessons.row(row, examples[row.example], room) for row in rows]
    numbers = np.array([table.numbers[x] if table else 0 for x in self.labels], np.int32)
    return [dataclasses.replace(row, extra={**(row.extra or {}), IDS: numbers}) for row in rows]

  def label_shape(self, sizes: Sizes) -> tuple[int, ...]:
    """Returns the shape of a row's labels: one for each span and label."""
    return (sizes.entities, self.row_labels)

  @property
  def label_dtype(self) -> type[np.number]:
    """Returns the type of labels."""
    return np.int8

  def decode(
    self, examples: Sequence[Example], rows: Sequence[Row], outputs: RowLogits
  ) -> list[list[Span]]:
    """Returns the names of each document in order, of overlapping ones that of the best score.

    Of a document with mentions it returns these, whether they overlap or not.

    A score is that of the surest label. Of the labels that are not much less sure, a name gets the
    one that says most: that has the highest logit beside that of any name. So who is a politician
    and a person is a politician. With `several` it gets all that are sure enough.
    """
    candidates: list[list[ScoredSpan]] = [[] for _ in examples]
    of_rows = (outputs.get(name, ()) for name in ("logits", "label_logits"))  # none: empty texts
    pairs = zip(*of_rows, strict=True)
    for row, (logits, usual) in zip(rows, pairs, strict=True):
      logits = np.asarray(logits)[: len(row.source), : len(self.labels)]
      scores = self._scores(logits if self.several else logits.max(-1, keepdims=True))
      found, labels = np.nonzero(scores >= self.threshold)
      scores = scores[found, labels]
      if not self.several:
        labels = _telling(logits[found], np.asarray(usual)[: len(self.labels)])
      columns = (scores, *row.source[found].T, labels, scores)
      rows_of = zip(*(x.tolist() for x in columns), strict=True)
      candidates[row.example] += [ScoredSpan(*values) for values in rows_of]
    return [
      self._apart(example, of_example)
      if example.mentions is None
      else _labelled(example, of_example, self.labels)
      for example, of_example in zip(examples, candidates, strict=True)
    ]

  def _apart(self, example: Example, candidates: list[ScoredSpan]) -> list[Span]:
    """Returns the names of a document, of those that cannot stand together the surest."""
    if not (self.nested or self.several):
      return apart(example, candidates, self.labels)
    kept: list[ScoredSpan] = []
    taken: dict[int, set[int]] = {}  # ends by starts
    longest = max((x.end - x.start for x in candidates), default=0)
    for one in sorted(candidates, key=lambda candidate: -candidate.logit):
      again = one.end in taken.get(one.start, ()) and not self.several
      near = range(one.start - longest, one.end)
      others = ((a, b) for a in near for b in taken.get(a, ()) if b > one.start)
      if not (again or _clashes((one.start, one.end), others, nested=self.nested)):
        kept.append(one)
        taken.setdefault(one.start, set()).add(one.end)
    words = example.words
    places = [(words[x.start][0], words[x.end - 1][1], x) for x in kept]
    found = [Span(example.text[a:b], a, b, self.labels[x.label], x.score) for a, b, x in places]
    return sorted(found, key=lambda span: span.start)

  def evaluate_rows(
    self, examples: Sequence[Example], rows: Sequence[Row], outputs: RowLogits
  ) -> Evaluation:
    """Returns the scores of the spans and labels of rows to learn from."""
    scores = [self._scores(np.asarray(x)) for x in outputs["logits"]]
    return score.of_lessons(rows, scores, self.threshold)

  def _scores(self, logits: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-(self.slope * logits.astype(np.float64) + self.offset)))

  def evaluate(
    self, examples: Sequence[Example], predictions: Sequence[Sequence[Span]]
  ) -> Evaluation:
    """Returns F1 of names with their labels and the figures around it."""
    return score.evaluate(examples, predictions, self.labels or self._most_frequent(examples))


def _labelled(
  example: Example, candidates: Sequence[ScoredSpan], labels: Sequence[str]
) -> list[Span]:
  """Returns the mentions of a document with the labels of the words that they are in."""
  found: dict[tuple[int, int], list[ScoredSpan]] = {}
  for one in candidates:
    found.setdefault((one.start, one.end), []).append(one)
  pairs = ((x, found.get(example.words_of(x), ())) for x in example.mentions or ())
  return [
    Span(example.text[start:end], start, end, labels[one.label], one.score)
    for (start, end), of_mention in pairs
    for one in of_mention
  ]


def _clashes(place: tuple[int, int], others: Iterable[tuple[int, int]], *, nested: bool) -> bool:
  """Returns whether a span and one of those that share its words are not one inside the other."""
  start, end = place
  return any(
    not (nested and ((a <= start and end <= b) or (start <= a and b <= end)))
    for a, b in others
    if (a, b) != place
  )


def _telling(logits: np.ndarray, usual: np.ndarray) -> np.ndarray:
  """Returns the label of each span (E,), by logits (E, L) and those of any name (L,)."""
  scores = 1 / (1 + np.exp(-logits.astype(np.float64)))
  sure = scores >= NEARLY * scores.max(-1, keepdims=True)
  return np.where(sure, logits - TELLING * usual, -np.inf).argmax(-1)


def _width(labels: int) -> int:
  """Returns the room for so many labels, one of few."""
  return next((width for width in WIDTHS if labels <= width), -(-labels // 1024) * 1024)
