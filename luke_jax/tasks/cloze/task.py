"""Cloze question answering as the engine trains it."""

import dataclasses
import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import numpy as np

from luke_jax.errors import InputError, check_whole
from luke_jax.formats.files import Faults
from luke_jax.tasks.cloze import score
from luke_jax.tasks.cloze.files import PLACEHOLDER, ClozeExample, parse, read
from luke_jax.tasks.contract import RowLogits, TextTask, Unlabelled, room_by_fields
from luke_jax.tasks.label_checks import check_none
from luke_jax.tasks.predictions import Answer
from luke_jax.text import Processor, Row, RowEntity
from luke_jax.text.parts import (
  Part,
  TextWithEntities,
  as_written,
  begins_after_space,
  even_groups,
  sliding,
  tokenized,
)
from luke_jax.text.rows import Sizes, enclosed
from luke_jax.text.tokenizer import Bounds

HIGHLIGHT_WORD = "[HIGHLIGHT]"
_SIGN = re.compile(r" *@highlight\b")


def highlighted(
  text: str, spans: Sequence[Bounds], *, twice: bool = False
) -> tuple[str, list[Bounds]]:
  """Returns a text with one word for each sign that no span overlaps, and the spans in it.

  Line breaks become spaces. With `twice` a stretch between spans is read as in the authors' code:
  if it has a sign but no space at its start, it is read whole, with the sign as text, and after it
  comes once more what follows the sign.
  """
  text = text.replace("\n", " ")
  edges = sorted({0, len(text), *itertools.chain.from_iterable(spans)})
  moved, parts, length = {}, [], 0
  for start, end in itertools.pairwise([*edges, len(text)]):
    moved[start] = length
    part = text[start:end]
    if not any(first <= start and end <= last for first, last in spans):
      spaced = not start or " " in text[start - 1 : start + 1]
      part = _with_words(part, whole_first=twice and not spaced)
    parts.append(part)
    length += len(part)
  return "".join(parts), [(moved[start], moved[end]) for start, end in spans]


def _with_words(part: str, whole_first: bool) -> str:
  before, *after = _SIGN.split(part)
  if whole_first and after:
    before = part.rstrip()
  return HIGHLIGHT_WORD.join([before, *after])


PLACEHOLDER_WORD, ENTITY_WORD = "[PLACEHOLDER]", "[ENTITY]"
QUERY_PIECES = 90  # of a question, in the authors' code


def _read_as_authors(text: str, start: int, end: int) -> str:
  """Returns a piece without white space after it, and with some before a text's first word."""
  if text.startswith((PLACEHOLDER_WORD, HIGHLIGHT_WORD)):
    return text[start:end].rstrip()
  return begins_after_space(text, start, end).rstrip()


def _texts(example: ClozeExample, mask: int, authors: bool) -> Iterator[TextWithEntities]:
  """Yields the question with its gap as an entity, and the passage with its candidates."""
  before, _, after = example.query.replace("\n", " ").partition(PLACEHOLDER)
  before = before.removesuffix(" ")
  gap = (len(before), len(before) + len(PLACEHOLDER_WORD))
  query = before + PLACEHOLDER_WORD + after
  yield TextWithEntities(query, [RowEntity(mask, (0, 0), gap, 0, -1)], f"{example.place}: query")
  text, spans = highlighted(example.text, example.entities, twice=authors)
  candidates = [RowEntity(mask, (0, 0), span, 1, number) for number, span in enumerate(spans)]
  candidates.sort(key=lambda entity: entity.characters[0])
  yield TextWithEntities(text, candidates, f"{example.place}: entities")


def _windows(
  processor: Processor, query: Part, passage: Part, place: str, stride: int
) -> Iterator[tuple[Part, Part]]:
  """Yields the question with as much of the passage, and as many candidates, as fit a row."""
  most = processor.max_length - processor.tokenizer.special.around(2)
  room = most - len(query.ids)
  longest = max(end - start for start, end in (entity.tokens for entity in passage.entities))
  if longest > room:
    raise InputError(
      f"{place}: {len(query.ids)} tokens of the query and {longest} of an entity; expected at most"
      f" {most} together"
    )
  for window in sliding(passage, room, stride):
    if window.entities:
      for group in even_groups(window.entities, processor.max_entity_length - 1):
        yield query, dataclasses.replace(window, entities=group)


def _targets(example: ClozeExample, candidates: Sequence[int]) -> np.ndarray | None:
  if example.answers is None:
    return None
  return np.array([example.entities[number] in example.answers for number in candidates], np.int32)


@dataclasses.dataclass(frozen=True)
class ClozeAnswering(Unlabelled, TextTask[ClozeExample, list[Answer]]):
  """Finds the entity of a passage that fills the gap of a question (paper §4.4)."""

  labels: tuple[str, ...] = ()  # none: candidates are scored
  words: int = 512  # the longest row
  entities: int = 128  # the gap and candidates; more of these take several rows
  mention: int = 30  # positions of a candidate, its markers included
  stride: int = 128  # pieces from the start of a window to that of the next
  authors: bool = False  # rows and losses of the authors' code, see docs/differences.md

  name: ClassVar[str] = "cloze"
  answer: ClassVar[type | None] = Answer
  fields: ClassVar[Mapping[str, object]] = {
    "query": "@placeholder lives in Paris.",
    "entities": [[0, 3], [13, 18]],
  }
  metric: ClassVar[str] = "exact_match"
  heads: ClassVar[tuple[str, ...]] = ("cloze",)
  sizes = property(room_by_fields)
  # In the order of the authors' models.
  new_words: ClassVar[Mapping[str, str]] = {
    HIGHLIGHT_WORD: "@",
    PLACEHOLDER_WORD: "#",
    ENTITY_WORD: "*",
  }

  def __post_init__(self) -> None:
    super().__post_init__()
    check_none(self.labels, "candidates are scored")
    check_whole(1, stride=self.stride)
    if self.entities < 2:
      raise InputError(f"entities: {self.entities}; expected 2 at least, the gap and a candidate")

  @property
  def micro_batch(self) -> int | None:
    """Returns the rows of a micro-batch in the authors' runs, whose losses are means of means."""
    return 1 if self.authors else None

  read = staticmethod(read)
  parse = staticmethod(parse)
  evaluate = staticmethod(score.evaluate)

  def check_example(self, example: ClozeExample) -> None:
    """Raises InputError for an example without answers."""
    if not example.answers:
      raise InputError(f"{example.place}: answers: none; expected one at least")

  def features(
    self, processor: Processor, examples: Sequence[ClozeExample], faults: Faults | None = None
  ) -> list[Row]:
    """Returns the rows of each example: no row of a window without candidates.

    `source` are the numbers of the candidates that a row has. An example is at fault whose question
    leaves no room for one of its candidates.
    """
    if ENTITY_WORD not in processor.tokenizer.special.ids:
      raise InputError(f"the tokenizer has no word {ENTITY_WORD}; expected that of a cloze model")
    rows, faults = [], faults or Faults(skip=self.skip_bad)
    for number, example in enumerate(examples):
      with faults.caught():
        rows += self._rows(processor, example, number)
    return rows

  def _rows(self, processor: Processor, example: ClozeExample, number: int) -> Iterator[Row]:
    special, mask = processor.tokenizer.special, processor.entity_vocab.mask_id
    texts = list(_texts(example, mask, self.authors))
    read_as = _read_as_authors if self.authors else as_written
    query, passage = tokenized(processor.tokenizer, texts, offsets=False, read_as=read_as)
    if self.authors:
      query = query.cut(0, QUERY_PIECES)
      if not query.entities:
        fault = f"its gap comes after {QUERY_PIECES} pieces"
        expected = f"expected it among the {QUERY_PIECES} that are read"
        raise InputError(f"{example.place}: query: {fault}; {expected}")
    marked = passage.marked([special.ids[ENTITY_WORD]] * len(passage.entities))
    for pair in _windows(processor, query, marked, example.place, self.stride):
      candidates = tuple(entity.number for entity in pair[1].entities)
      yield enclosed(pair, special, number).labelled(_targets(example, candidates), candidates)

  def label_shape(self, sizes: Sizes) -> tuple[int, ...]:
    """Returns the shape of a row's labels: whether each candidate is an answer."""
    return (sizes.entities - 1,)

  def decode(
    self, examples: Sequence[ClozeExample], rows: Sequence[Row], outputs: RowLogits
  ) -> list[list[Answer]]:
    """Returns all candidates of each example by their best score in any window, the best first."""
    scores: list[dict[int, float]] = [{} for _ in examples]
    for i, row in enumerate(rows):
      logits, best = outputs["logits"][i], scores[row.example]
      for number, logit in zip(row.source, logits[: len(row.source)], strict=True):
        best[number] = max(float(logit), best.get(number, -math.inf))
    return [_ranked(example, best) for example, best in zip(examples, scores, strict=True)]

  def to_prediction(self, example: ClozeExample, prediction: Sequence[Answer]) -> dict[str, object]:
    """Returns an example's line in a file of predictions: the best candidate, and all scores."""
    best = prediction[0] if prediction else Answer("", 0, 0, 0.0)
    return {
      "id": example.id,
      "answer": best.text,
      "span": [best.start, best.end],
      "score": round(best.score, 4),
      "scores": [[answer.start, answer.end, round(answer.score, 4)] for answer in prediction],
    }


def _ranked(example: ClozeExample, scores: Mapping[int, float]) -> list[Answer]:
  answers = []
  for number in sorted(scores, key=lambda number: (-scores[number], number)):
    start, end = example.entities[number]
    probability = (1 + math.tanh(scores[number] / 2)) / 2  # the logistic function
    answers.append(Answer(example.text[start:end], start, end, probability))
  return answers
