"""Questions with their passages as rows: `<s> question </s></s> window of the passage </s>`."""

import dataclasses
import itertools
import re
import warnings
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from luke_jax.errors import InputError, at
from luke_jax.formats.files import Faults
from luke_jax.tasks.qa.files import EntityReference, QuestionExample
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
from luke_jax.text.rows import enclosed
from luke_jax.text.tokenizer import Bounds

WHOLE = 0  # in the place of the longest question: as long as half a row
NOWHERE = (0, 0)  # `<s>`, which stands for no answer
_TOGETHER = 512  # examples that are tokenized at once


class PassageLimits(NamedTuple):
  """Settings of rows: the longest question, the distance of windows, the longest answer."""

  question_words: int
  stride: int
  answer_words: int
  authors: bool = False  # texts are read as in the authors' code


class Window(NamedTuple):
  """Which tokens of its passage a row has."""

  start: int  # the first one, counted in the passage
  place: int  # where that one stands in the row
  offsets: np.ndarray  # (tokens, 2), characters of the whole passage; one array for all its rows


class _Asked(NamedTuple):
  example: QuestionExample
  question: Part
  passage: Part  # its offsets count its tokens, for windows to know where they start
  offsets: np.ndarray


def features(
  processor: Processor, examples: Sequence[QuestionExample], limits: PassageLimits, faults: Faults
) -> list[Row]:
  """Returns as many rows for each example as its passage needs, those of one after the other.

  Entities whose titles the vocabulary lacks are left out. Of a question longer than
  `question_words`, or than half a row, the beginning is read, as in the paper's code. A warning
  says how many such there are, and another how many answers cannot be found. Where whole questions
  are read, one longer than half a row is a fault.
  """
  rows: list[Row] = []
  around = processor.tokenizer.special.around(2)
  half = (processor.max_length - around) // 2
  whole, most = limits.question_words == WHOLE, min(limits.question_words or half, half)
  limits = limits._replace(question_words=most)
  cut = missed = 0
  for number, asked in enumerate(_tokenized(processor, examples, limits.authors)):
    too_long = len(asked.question.ids) > most
    cut += too_long
    windows: list[Row] = []
    with faults.caught():
      if too_long and whole:
        raise InputError(
          f"{asked.example.place}: question: {len(asked.question.ids)} word pieces; expected at"
          f" most {most}"
        )
      windows += _windows(processor, asked, limits)
    places = [NOWHERE] * len(windows)
    if windows and asked.example.answers:
      tokens = _tokens(asked.offsets, asked.example.answers[0])
      places = [_place(row, tokens) for row in windows]
      missed += not any(start and end - start < limits.answer_words for start, end in places)
    for row, place in zip(windows, places, strict=True):
      labels = None if asked.example.answers is None else np.array(place, np.int32)
      rows.append(dataclasses.replace(row, example=number, labels=labels))
  if cut and not whole:
    _warn(f"{cut} questions are cut: longer than {most} pieces, task.question_words or half a row")
  if missed:
    _warn(
      f"{missed} answers cannot be found: longer than task.answer_words, {limits.answer_words}"
      " pieces, or in no window"
    )
  return rows


def _warn(message: str) -> None:
  warnings.warn(message, stacklevel=3)


def _tokenized(
  processor: Processor, examples: Sequence[QuestionExample], authors: bool
) -> Iterator[_Asked]:
  """Yields every example as tokens. A passage of several questions is tokenized once."""
  for first in range(0, len(examples), _TOGETHER):
    chunk = examples[first : first + _TOGETHER]
    asked = [_mentions(processor, x.question, x.question_entities, x.place) for x in chunk]
    about = {(x.text, x.entities): x.place for x in chunk}
    read = [_mentions(processor, *passage, place) for passage, place in about.items()]
    places: Sequence[np.ndarray | None] = [None] * len(read)
    if authors:
      read, places = zip(*map(spaced_words, read), strict=True)
    read_as = begins_after_space if authors else as_written
    parts = tokenized(processor.tokenizer, [*asked, *read], offsets=True, read_as=read_as)
    numbered = map(_numbered, parts[len(asked) :], places)
    passages = dict(zip(about, numbered, strict=True))
    for example, question in zip(chunk, parts[: len(asked)], strict=True):
      yield _Asked(example, question, *passages[example.text, example.entities])


def _mentions(
  processor: Processor, text: str, links: Sequence[EntityReference] | None, where: str
) -> TextWithEntities:
  vocab = processor.entity_vocab
  with at(where):
    keys = [(link, processor.entity_key(link.title)) for link in links or ()]
  known = [(link, key) for link, key in keys if vocab.contains(*key)]
  entities = [
    RowEntity(vocab.id(*key), (0, 0), (start, end), text=0, number=number)
    for number, ((start, end, _), key) in enumerate(known)
  ]
  return TextWithEntities(text, entities, where)


def _numbered(part: Part, places: np.ndarray | None) -> tuple[Part, np.ndarray]:
  """Returns the part with numbers of tokens for offsets, and the offsets, in the passage itself."""
  counts = list(itertools.pairwise(range(len(part.ids) + 1)))
  offsets = np.array(part.offsets, np.int32).reshape(-1, 2)
  offsets = offsets if places is None else original(offsets, places)
  return dataclasses.replace(part, offsets=counts), offsets


def _windows(processor: Processor, asked: _Asked, limits: PassageLimits) -> Iterator[Row]:
  question = asked.question.cut(0, limits.question_words)
  special = processor.tokenizer.special
  room = processor.max_length - special.around(2) - len(question.ids)
  entity_room = processor.max_entity_length - len(question.entities)
  if entity_room < 1:
    most = f"expected fewer than task.entities, {processor.max_entity_length}"
    raise InputError(f"{asked.example.place}: {len(question.entities)} question_entities; {most}")
  # So near each other that an answer always lies whole in one of them, as far as that can be.
  stride = min(limits.stride, max(room // 2, room - limits.answer_words + 1))
  for window in sliding(asked.passage, room, stride):
    start = window.offsets[0][0] if window.ids else 0
    for group in even_groups(window.entities, entity_room):
      parts = [question, dataclasses.replace(window, entities=group)]
      row = enclosed(parts, special)
      yield row.labelled(None, Window(start, row.text_starts[1], asked.offsets))


def _tokens(offsets: np.ndarray, span: Bounds) -> Bounds:
  """Returns the first and last token with characters of the span; (-1, -1) if there are none."""
  (inside,) = np.nonzero(np.maximum(offsets[:, 0], span[0]) < np.minimum(offsets[:, 1], span[1]))
  return (int(inside[0]), int(inside[-1])) if len(inside) else (-1, -1)


def _place(row: Row, tokens: Bounds) -> Bounds:
  """Returns the positions in a row of tokens of the passage."""
  start, place, _ = row.source
  moved = place - start
  first, last = tokens[0] + moved, tokens[1] + moved
  return (first, last) if place <= first and last < len(row.input_ids) - 1 else NOWHERE


_WORD = re.compile("[^ \t\r\n\u202f]+")


def spaced_words(passage: TextWithEntities) -> tuple[TextWithEntities, np.ndarray]:
  """Returns a passage with one space before each word and no other white space.

  The array has the character of the passage for each of the new text's, a space for its word's.
  """
  words = [match.span() for match in _WORD.finditer(passage.text)]
  text = "".join(f" {passage.text[start:end]}" for start, end in words)
  starts = [range(start, end) for start, end in words]
  places = np.array([place for chars in starts for place in (chars[0], *chars)], np.int32)
  # Of characters of the passage, in the new text; white space goes with the word before it.
  moved = np.searchsorted(places, np.arange(len(passage.text)), "right") - 1
  entities = [
    entity._replace(characters=(int(moved[start]), int(moved[end - 1]) + 1))
    for entity in passage.entities
    for start, end in (entity.characters,)
  ]
  return passage._replace(text=text, entities=entities), places


def original(offsets: np.ndarray, places: np.ndarray) -> np.ndarray:
  """Returns offsets of tokens (T, 2) in the passage, from those in the text of spaced words."""
  if not len(offsets):
    return offsets
  return np.stack([places[offsets[:, 0]], places[offsets[:, 1] - 1] + 1], axis=1, dtype=np.int32)
