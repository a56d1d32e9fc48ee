"""Extractive question answering as the engine trains it.

Texts without entities get those of a table of mentions of Wikipedia (paper, appendix C).
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Literal, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np

from luke_jax.errors import InputError, check_whole
from luke_jax.files import Path
from luke_jax.formats.files import Faults
from luke_jax.models.system import Backbone
from luke_jax.nn.losses import IGNORED, target_weights
from luke_jax.pipeline.reads import Reads, cached
from luke_jax.tasks.answers import check_language
from luke_jax.tasks.contract import RowLogits, TextTask, Unlabelled, outputs_of, room_by_fields
from luke_jax.tasks.label_checks import check_none
from luke_jax.tasks.predictions import Answer
from luke_jax.tasks.qa import features, score
from luke_jax.tasks.qa.features import Window
from luke_jax.tasks.qa.files import COLUMNS, EntityReference, QuestionExample, parse, read
from luke_jax.text import Processor, Row
from luke_jax.text.rows import Sizes
from luke_jax.training.task import Batch, Params, Tree
from luke_jax.wiki.mentions import (
  TABLE,
  BuiltPages,
  Mentions,
  annotate,
  annotate_with,
  names_on_page,
)
from luke_jax.wiki.stages.stage import MANIFEST
from luke_jax.wiki.stages.tokens import TOKEN

NO_ANSWER = Answer("", 0, 0, 0.0)


class _Scored(NamedTuple):
  window: Window
  starts: np.ndarray  # logits of the tokens of the passage that the row has
  ends: np.ndarray
  null: float  # the score of no answer


def _scored(row: Row, starts: np.ndarray, ends: np.ndarray, task: "QuestionAnswering") -> _Scored:
  window: Window = row.source
  length = len(row.input_ids)
  passage = slice(window.place, length - 1)
  starts, ends = (np.asarray(logits[:length], np.float64) for logits in (starts, ends))
  null = float(starts[0] + ends[0]) - (0 if task.authors else task.null_threshold)
  if task.authors:
    starts, ends = (_best(logits, task.n_best) for logits in (starts, ends))
  return _Scored(window, starts[passage], ends[passage], null)


def _best(logits: np.ndarray, number: int) -> np.ndarray:
  """Returns the highest logits of a row, question and all, and -inf in the place of the others."""
  likeliest = np.argsort(-logits, kind="stable")[:number]
  best = np.full_like(logits, -np.inf)
  best[likeliest] = logits[likeliest]
  return best


def _ranked(text: str, rows: Sequence[_Scored], task: "QuestionAnswering") -> Iterator[Answer]:
  """Yields different answers with their scores, the best first."""
  owners = _owners(rows)
  scores, places = zip(*(_spans(row, owners, task.answer_words) for row in rows), strict=True)
  all_scores, all_places = np.concatenate(scores), np.concatenate(places)
  offsets, seen = rows[0].window.offsets, set()
  if not task.authors:
    begins, ends = _whole_words(text, offsets)
    all_scores = np.where(begins[all_places[:, 0]] & ends[all_places[:, 1]], all_scores, -np.inf)
  order = np.argsort(-all_scores, kind="stable")
  for i in order[np.isfinite(all_scores[order])]:
    first, last = all_places[i]
    start, end = int(offsets[first, 0]), int(offsets[last, 1])
    answer = text[start:end]
    start += len(answer) - len(answer.lstrip())
    answer = answer.strip()
    if answer and answer not in seen:
      seen.add(answer)
      yield Answer(answer, start, start + len(answer), float(all_scores[i]))


def _whole_words(text: str, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
  """Returns whether a word begins and whether one ends with each token of a passage."""
  begins, ends = (np.ones(len(text) + 1, bool) for _ in range(2))
  for word in TOKEN.finditer(text):
    begins[word.start() + 1 : word.end()] = ends[word.start() + 1 : word.end()] = False
  return begins[offsets[:, 0]], ends[offsets[:, 1]]


def _owners(rows: Sequence[_Scored]) -> np.ndarray:
  """Returns the start of the window with the most context around each token of the passage.

  The context is the smaller of the parts before and after the token; if windows agree in it, the
  longer window counts, then the first.
  """
  tokens = len(rows[0].window.offsets)
  most, owners = np.full(tokens, -1.0), np.full(tokens, -1)
  for window, starts, *_ in rows:
    size = len(starts)
    covered = slice(window.start, window.start + size)
    place = np.arange(size)
    around = np.minimum(place, size - 1 - place) + 0.01 * size
    better = around > most[covered]
    most[covered][better], owners[covered][better] = around[better], window.start
  return owners


def _spans(row: _Scored, owners: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
  """Returns the scores of a row's stretches, and their first and last tokens in the passage."""
  size = len(row.starts)
  (firsts,) = np.nonzero(owners[row.window.start : row.window.start + size] == row.window.start)
  # Of equal sums the one with the higher start comes first, as in the authors' code.
  firsts = firsts[np.argsort(-row.starts[firsts], kind="stable")]
  lasts = firsts[:, None] + np.arange(min(most, size))
  inside = lasts < size
  scores = row.starts[firsts][:, None] + row.ends[np.minimum(lasts, size - 1)]
  pairs = np.stack([np.broadcast_to(firsts[:, None], lasts.shape), lasts], axis=-1)
  return scores[inside], row.window.start + pairs[inside]


def _with_probabilities(
  answers: list[Answer], rows: Sequence[_Scored], task: "QuestionAnswering"
) -> list[Answer]:
  """Returns the answers with "no answer" among them by its score, and probabilities for scores."""
  if task.unanswerable or not answers:
    null = min(row.null for row in rows)
    place = sum(answer.score >= null for answer in answers)
    if place < task.n_best:  # it is one of the best, and otherwise beside them
      del answers[task.n_best - 1 :]
    if task.authors and answers:
      place = 0 if null - answers[0].score > task.null_threshold else max(place, 1)
    answers.insert(place, NO_ANSWER._replace(score=null))
  scores = np.array([answer.score for answer in answers])
  odds = np.exp(scores - scores.max())
  return [
    answer._replace(score=float(share))
    for answer, share in zip(answers, odds / odds.sum(), strict=True)
  ]


@dataclasses.dataclass(frozen=True)
class QuestionAnswering(Unlabelled, TextTask[QuestionExample, list[Answer]]):
  """Finds the stretch of a passage that answers a question (paper §4.5)."""

  # The folder of luke-jax wiki mentions that links texts which come without entities.
  mentions: str = ""
  labels: tuple[str, ...] = ()  # none: tokens are scored
  words: int = 512  # the longest row
  entities: int = 128  # of the question and the passage; more of these take several rows
  mention: int = 30  # positions of an entity
  question_words: int = 64  # pieces of the question that are read; 0: all of it
  stride: int = 128  # pieces from the start of a window to that of the next; fewer in short rows
  answer_words: int = 30  # pieces of the longest answer that is predicted
  n_best: int = 20  # number of answers to predict for a question
  unanswerable: bool = False  # whether questions may have no answer, as in SQuAD 2.0
  # Margin by which the score of "no answer" must exceed the best answer's.
  null_threshold: float = 0.0
  # Language by whose articles and punctuation answers are compared, as in MLQA; "": as in SQuAD.
  language: str = ""
  authors: bool = False  # rows and losses of the authors' code, see docs/differences.md

  name: ClassVar[str] = "qa"
  answer: ClassVar[type | None] = Answer
  spreadsheet: ClassVar[Sequence[str]] = COLUMNS
  fields: ClassVar[Mapping[str, object]] = {"question": "Where does Ana live?"}
  metric: ClassVar[str] = "f1"
  heads: ClassVar[tuple[str, ...]] = ("answer",)
  sizes = property(room_by_fields)
  entity_table: ClassVar[Literal["special", "whole"]] = "whole"

  def __post_init__(self) -> None:
    super().__post_init__()
    check_none(self.labels, "for tokens are scored")
    check_whole(0, question_words=self.question_words)
    check_whole(1, stride=self.stride)
    check_language(self.language, "language")
    check_whole(1, answer_words=self.answer_words, n_best=self.n_best)
    if not math.isfinite(self.null_threshold):
      raise InputError(f"null_threshold: {self.null_threshold!r}; expected a number")

  @property
  def micro_batch(self) -> int | None:
    """Returns the rows of a micro-batch in the authors' runs, whose losses are means of means."""
    return 2 if self.authors else None

  def for_predictions(self) -> Self:
    """Returns the task, which reads questions whole."""
    return dataclasses.replace(self, question_words=0)

  parse = staticmethod(parse)
  evaluate = staticmethod(score.evaluate)

  def reads(self) -> Reads:
    """Returns the manifests of what links texts."""
    linking = manifests(self.mentions) if self.mentions else ()
    return Reads(tuple(linking))

  def weights(self, batch: Batch) -> jax.Array:
    """Returns the weights of starts and ends, which have a mean each."""
    labelled, rows = batch["labels"] != IGNORED, self.micro_batch
    return jnp.stack([target_weights(labelled[:, i], rows) for i in range(2)], axis=-1)

  def loss(
    self, backbone: Backbone, params: Params, batch: Batch, weights: Tree, key: jax.Array | None
  ) -> tuple[jax.Array, dict[str, jax.Array]]:
    """Returns half the sum of the losses of starts and ends."""
    outputs = outputs_of(self, backbone, params, batch, key)
    # A position outside the text is ignored.
    labels = jnp.where(batch["labels"] == IGNORED, self.words, batch["labels"])
    loss = self.network(backbone).loss(outputs, labels[:, 0], labels[:, 1], weights=weights)
    return loss, {"tokens": batch["attention_mask"].sum()}

  def read(self, path: Path, faults: Faults) -> list[QuestionExample]:
    """Reads the examples of a file."""
    return read(path, faults, self.language)

  def check_example(self, example: QuestionExample) -> None:
    """Raises InputError for an example without answers, unless it may have none."""
    if example.answers is None:
      raise InputError(f"{example.place}: answers: missing; expected a list of them")
    if not example.answers and not self.unanswerable:
      raise InputError(f"{example.place}: answers: none; expected one, or task.unanswerable")

  def features(
    self, processor: Processor, examples: Sequence[QuestionExample], faults: Faults | None = None
  ) -> list[Row]:
    """Returns the windows of each example; texts without links are linked by the mentions."""
    with_links = linked(examples, self.mentions) if self.mentions else examples
    limits = features.PassageLimits(
      self.question_words, self.stride, self.answer_words, self.authors
    )
    return features.features(processor, with_links, limits, faults or Faults(skip=self.skip_bad))

  def label_shape(self, sizes: Sizes) -> tuple[int, ...]:
    """Returns the shape of a row's labels: first and last token of the answer."""
    return (2,)

  def decode(
    self, examples: Sequence[QuestionExample], rows: Sequence[Row], outputs: RowLogits
  ) -> list[list[Answer]]:
    """Returns the answers to each question with the highest sums of logits, the best first.

    Every stretch of whole words of at most `answer_words` pieces is a candidate, or as in the
    authors' code those from the `n_best` best starts of a row to its as many best ends. It is
    scored in the window with the most context around its first piece. Scores become probabilities
    among the returned answers.

    The score of "no answer" is less by `null_threshold` than the model's. With `authors` it stays
    as it is, and "no answer" comes first if it is above the best answer's by more than that.
    """
    scored: list[list[_Scored]] = [[] for _ in examples]
    for number, row in enumerate(rows):
      starts, ends = (outputs[name][number] for name in ("start_logits", "end_logits"))
      scored[row.example].append(_scored(row, starts, ends, self))
    return [
      _with_probabilities(
        list(itertools.islice(_ranked(example.text, of_example, self), self.n_best)),
        of_example,
        self,
      )
      if of_example
      else [NO_ANSWER]  # its example has a fault
      for example, of_example in zip(examples, scored, strict=True)
    ]

  def to_prediction(
    self, example: QuestionExample, prediction: Sequence[Answer]
  ) -> dict[str, object]:
    """Returns an example's line in a file of predictions: the best answer, and the others.

    Where a threshold leaves none, the answer is empty.
    """
    best, *others = prediction or [Answer("", 0, 0, 0.0)]
    value: dict[str, object] = {
      "id": example.id,
      "answer": best.text,
      "start": best.start,
      "end": best.end,
    }
    rest = [[*answer[:3], round(answer.score, 4)] for answer in others]
    return value | {"score": round(best.score, 4), "others": rest}


_CACHED = 8  # the paragraphs of an article, and their questions, come one after the other

Links = tuple[EntityReference, ...]


def linked(examples: Sequence[QuestionExample], folder: str) -> list[QuestionExample]:
  """Returns the examples with entities; those without get the ones of the folder's table."""
  linker = _linker(folder)

  def links(entities: Links | None, text: str, title: str | None) -> Links:
    return linker.links(text, title) if entities is None else entities

  return [
    dataclasses.replace(
      x,
      entities=links(x.entities, x.text, x.title),
      question_entities=links(x.question_entities, x.question, x.title),
    )
    for x in examples
  ]


def manifests(folder: str) -> list[str]:
  """Returns the files that have the sizes and the origin of all that links texts."""
  return [str(Path(folder) / stage / MANIFEST) for stage in ("titles", "pages", TABLE)]


class _Linker:
  """Finder of page names in texts; names outside of the vocabulary take their place too."""

  def __init__(self, folder: str):
    self._mentions, self._pages = Mentions(Path(folder)), BuiltPages(Path(folder))
    self._names = functools.lru_cache(_CACHED)(self._names_of)
    self.links = functools.lru_cache(_CACHED)(self._links_in)

  def _links_in(self, text: str, title: str | None) -> Links:
    """Returns the names that the article of the title links, with their meanings there.

    For a text from no page of the build, returns the names that are often links, each with the page
    that it links to most.
    """
    names = None if title is None else self._names(title)
    if names is not None:
      return tuple(EntityReference(*name) for name in annotate_with(text, names))
    return tuple(
      EntityReference(name.start, name.end, name.candidates[0].title)
      for name in annotate(text, self._mentions)
    )

  def _names_of(self, title: str) -> Mapping[str, str] | None:
    page = self._pages.page(title)
    return None if page is None else names_on_page(page, self._mentions)


_linker = cached(2)(_Linker)  # its files are opened once
