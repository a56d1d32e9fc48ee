"""Cloze questions as rows: the question, the passage, and an entity for the gap and each candidate.

Every candidate stands between markers. What is too long for a row is read in windows, each with the
whole question.
"""

import dataclasses
import re
from collections.abc import Iterator, Sequence

import numpy as np

from luke_jax.errors import InputError
from luke_jax.tasks.cloze.files import PLACEHOLDER, Example
from luke_jax.tasks.files import Faults
from luke_jax.text import Entity, Processor, Row
from luke_jax.text.parts import Mentions, Part, tokenized
from luke_jax.text.rows import enclosed
from luke_jax.text.special_tokens import Bounds
from luke_jax.text.windows import even_groups, sliding

HIGHLIGHT_WORD, PLACEHOLDER_WORD, ENTITY_WORD = "[HIGHLIGHT]", "[PLACEHOLDER]", "[ENTITY]"
HIGHLIGHT = re.compile(r" ?@highlight\b")  # ReCoRD's sign before each summary line of a passage
STRIDE = 128


def features(processor: Processor, examples: Sequence[Example], faults: Faults) -> list[Row]:
  """The rows of each example: none for a window without candidates, several for one with many.

  `source` are the numbers of the candidates that a row has. An example is at fault whose question
  leaves no room for one of its candidates.
  """
  if ENTITY_WORD not in processor.tokenizer.special.ids:
    raise InputError(f"the tokenizer has no word {ENTITY_WORD}; expected that of a cloze model")
  rows = []
  for number, example in enumerate(examples):
    with faults.caught():
      rows += _rows(processor, example, number)
  return rows


def _rows(processor: Processor, example: Example, number: int) -> Iterator[Row]:
  special, mask = processor.tokenizer.special, processor.entity_vocab.mask_id
  query, passage = tokenized(processor.tokenizer, list(_texts(example, mask)), offsets=False)
  marked = passage.marked([special.ids[ENTITY_WORD]] * len(passage.entities))
  for pair in _windows(processor, query, marked, example.place):
    candidates = tuple(entity.number for entity in pair[1].entities)
    yield enclosed(pair, special, number).labelled(_targets(example, candidates), candidates)


def _texts(example: Example, mask: int) -> Iterator[Mentions]:
  """The question with its gap as an entity, and the passage with its candidates."""
  before, _, after = example.query.partition(PLACEHOLDER)
  before = before.removesuffix(" ")
  gap = (len(before), len(before) + len(PLACEHOLDER_WORD))
  query = before + PLACEHOLDER_WORD + after
  yield Mentions(query, [Entity(mask, (0, 0), gap, 0, -1)], f"{example.place}: query")
  text, spans = _highlighted(example.text, example.entities)
  candidates = [Entity(mask, (0, 0), span, 1, number) for number, span in enumerate(spans)]
  yield Mentions(text, candidates, f"{example.place}: entities")


def _highlighted(text: str, spans: Sequence[Bounds]) -> tuple[str, list[Bounds]]:
  """The text with one word for each sign that no candidate overlaps, and the candidates in it."""
  signs = [
    sign.span()
    for sign in HIGHLIGHT.finditer(text)
    if not any(sign.start() < end and start < sign.end() for start, end in spans)
  ]

  def moved(place: int) -> int:
    return place + sum(len(HIGHLIGHT_WORD) - (end - start) for start, end in signs if end <= place)

  for start, end in reversed(signs):
    text = text[:start] + HIGHLIGHT_WORD + text[end:]
  return text, [(moved(start), moved(end)) for start, end in spans]


def _windows(
  processor: Processor, query: Part, passage: Part, place: str
) -> Iterator[tuple[Part, Part]]:
  """The question with as much of the passage, and as many candidates, as a row has room for."""
  most = processor.max_length - processor.tokenizer.special.around(2)
  room = most - len(query.ids)
  longest = max(end - start for start, end in (entity.tokens for entity in passage.entities))
  if longest > room:
    raise InputError(
      f"{place}: {len(query.ids)} tokens of the query and {longest} of an entity; expected at most"
      f" {most} together"
    )
  for window in sliding(passage, room, STRIDE):
    if window.entities:
      for group in even_groups(window.entities, processor.max_entity_length - 1):
        yield query, dataclasses.replace(window, entities=group)


def _targets(example: Example, candidates: Sequence[int]) -> np.ndarray | None:
  if example.answers is None:
    return None
  return np.array([example.entities[number] in example.answers for number in candidates], np.int32)
