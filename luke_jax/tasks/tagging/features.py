"""Documents as rows: the words of a sentence with their tags or vectors, in a window around it."""

import dataclasses
import itertools
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import jax
import numpy as np

from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.models.system import Backbone
from luke_jax.nn.losses import IGNORED
from luke_jax.pipeline.reads import Reads, cached
from luke_jax.tasks.contract import ExtraInputs
from luke_jax.tasks.ner.documents import NamesExample, edges_of, in_one_sentence, tags_of, to_words
from luke_jax.tasks.ner.features import SPECIAL, lengths_of, tokenized, window
from luke_jax.tasks.ner.tags import Scheme, chunks, legal_chunks
from luke_jax.tasks.predictions import Labelled, Span
from luke_jax.text import Processor, Row, whole_words
from luke_jax.text.rows import Room
from luke_jax.text.tokenizer import Bounds, Tokenizer

ROWS = "vector_rows"  # of a row's `extra`: the numbers of its words in the file


@cached(4)
def open_vectors(folder: str) -> whole_words.SentenceVectors:
  """Returns the vectors of a folder, opened once in a process."""
  return whole_words.read_sentence_vectors(folder)


def rows_of(folder: str, sentences: Sequence[Sequence[str]], place: str) -> np.ndarray:
  """Returns the numbers of the words of a document's sentences in the file of a folder."""
  vectors = open_vectors(folder)
  return np.concatenate([vectors.rows(words, place) for words in sentences if words])


@dataclasses.dataclass(frozen=True)
class WordVectors(ExtraInputs):
  """Vectors of the words of a task's files, from a folder; an empty name is none."""

  folder: str

  def reads(self) -> Reads:
    """Returns the files of the vectors."""
    if not self.folder:
      return Reads()
    return Reads(
      (f"{self.folder}/{whole_words.SENTENCES}",), (f"{self.folder}/{whole_words.ARRAY}",)
    )

  def check(self, backbone: Backbone) -> None:
    """Raises InputError for vectors that the model does not read, and where it lacks its own."""
    shapes = self.shapes(backbone, 1)
    wanted = shapes[whole_words.VECTORS].shape[1:] if shapes else None
    if wanted is None and self.folder:
      raise InputError(
        f"task.word_vectors: {self.folder}; expected none, for the model reads no vectors"
      )
    if wanted and not self.folder:
      raise InputError("task.word_vectors: empty; expected a folder, for the model reads vectors")
    if wanted and open_vectors(self.folder).shape != wanted:
      there = " x ".join(map(str, open_vectors(self.folder).shape))
      expected = " x ".join(map(str, wanted))
      raise InputError(f"{self.folder}: vectors of {there}; expected {expected}, layers and width")

  def rooms(self, backbone: Backbone, words: int) -> dict[str, Room]:
    """Returns the room for the numbers of a row's words in the file."""
    return {ROWS: Room((words,), whole_words.NONE)} if self.shapes(backbone, words) else {}

  def shapes(self, backbone: Backbone, words: int) -> dict[str, jax.ShapeDtypeStruct]:
    """Returns the shape of a row's vectors, if the model reads them."""
    room = backbone.config.beside(words).get(whole_words.VECTORS)
    return {whole_words.VECTORS: jax.ShapeDtypeStruct(room.shape, room.dtype)} if room else {}

  def batch(self, backbone: Backbone, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Returns a batch with vectors in the place of their numbers, zero where there is none."""
    numbers = arrays.pop(ROWS, None)
    if numbers is None:
      return arrays
    return arrays | {whole_words.VECTORS: open_vectors(self.folder)[numbers]}


class Tagged(NamedTuple):
  """The words that a row tags: their numbers in the document, and the first piece of each."""

  words: np.ndarray  # (words,)
  pieces: np.ndarray  # (words,), places in the row


class TaggedPieces(NamedTuple):
  """A document in word pieces: word i has those from first[i] to before first[i + 1]."""

  ids: np.ndarray
  first: np.ndarray
  beside: "Beside | None" = None


class Beside(NamedTuple):
  """Arrays beside the pieces of a document, which are whole words."""

  tokenizer: Tokenizer
  words: list[str]
  vectors: np.ndarray | None  # (pieces,), their numbers in a file

  def of_row(self, left: int, right: int) -> dict[str, np.ndarray]:
    """Returns the arrays of a row that has the pieces from `left` to before `right`."""
    arrays = self.tokenizer.beside(self.words[left:right])
    if self.vectors is not None:
      arrays[ROWS] = np.pad(self.vectors[left:right], 1, constant_values=whole_words.NONE)
    return arrays


def features(
  processor: Processor,
  examples: Sequence[NamesExample],
  scheme: Scheme,
  *,
  numbers: Mapping[str, int],
  context: bool,
  vectors: str = "",
  faults: Faults,
) -> list[Row]:
  """Returns a row for every sentence, with the document around it as far as there is room.

  `vectors` is the folder of those of words, if the model reads any.

  A sentence that is longer than a row has several, each of which begins in the middle of the one
  before. The first piece of a word has its tag, other pieces none; `source` is `Tagged`.
  """
  rows: list[Row] = []
  lost = total = 0
  for number, (example, ids) in enumerate(tokenized(processor, examples, context)):
    with faults.caught():
      lengths = lengths_of(example, ids, processor.max_length - SPECIAL)
      flat = np.array([id for pieces in ids for id in pieces], np.int32)
      edges = np.concatenate([[0], lengths.cumsum()])
      pieces = TaggedPieces(flat, edges, _beside(processor, example, lengths, vectors))
      targets = None
      if example.spans is not None:
        apart = spans_apart(example)
        targets = tags_of(example, apart, scheme)
        lost, total = lost + len(example.spans) - len(apart), total + len(example.spans)
      for row in _rows(processor, pieces, edges_of(example), context):
        labels = None
        if targets is not None:
          labels = np.full(len(row.input_ids), IGNORED, np.int32)
          of_words = [numbers.get(targets[word], IGNORED) for word in row.source.words]
          labels[row.source.pieces] = of_words
        rows.append(dataclasses.replace(row, example=number, labels=labels))
  if lost:
    warnings.warn(
      f"{lost} of {total} entities cannot be tagged: not whole words of a sentence, or in others;"
      " luke-jax data check shows the first",
      stacklevel=3,
    )
  return rows


def _beside(
  processor: Processor, example: NamesExample, lengths: np.ndarray, folder: str
) -> Beside | None:
  """Returns the inputs beside the words of a document; None for a vocabulary of word pieces."""
  tokenizer = processor.tokenizer
  if not tokenizer.whole_words:
    return None
  sentences = [[example.text[start:end] for start, end in words] for words in example.sentences]
  flat: list[str] = []
  for word, count in zip(itertools.chain.from_iterable(sentences), lengths.tolist(), strict=True):
    flat += word.split() if count == 1 else tokenizer.units(word)
  if not folder:
    return Beside(tokenizer, flat, None)
  rows = rows_of(folder, sentences, example.place)
  return Beside(tokenizer, flat, np.repeat(rows, lengths))


def spans_apart(example: NamesExample) -> list[Labelled]:
  """Returns the entities that tags can say, as spans of words; of nested ones the outer."""
  edges, taken = edges_of(example), bytearray(len(example.words))
  apart = []
  spans = filter(None, to_words(example, example.spans or ()))
  for span in sorted(spans, key=lambda span: (span.start, -span.end)):
    if in_one_sentence(span, edges) and not any(taken[span.start : span.end]):
      taken[span.start : span.end] = bytes([1]) * (span.end - span.start)
      apart.append(span)
  return apart


def _rows(
  processor: Processor, document: TaggedPieces, edges: np.ndarray, context: bool
) -> Iterator[Row]:
  special, room, first = (
    processor.tokenizer.special,
    processor.max_length - SPECIAL,
    document.first,
  )
  none = np.zeros(0, np.int32)
  for begin, end in itertools.pairwise(edges.tolist()):
    for start, stop in _parts(first, begin, end, room):
      target = int(first[start]), int(first[stop])
      left, right = window(target, len(document.ids), room) if context else target
      ids = np.concatenate([[special.start], document.ids[left:right], [special.end]])
      extra = document.beside.of_row(left, right) if document.beside else None
      words = np.arange(start, stop)[np.diff(first[start : stop + 1]) > 0]
      source = Tagged(words, first[words] - left + 1)
      yield Row(0, ids.astype(np.int32), none, none.reshape(0, 2), source=source, extra=extra)


def _parts(first: np.ndarray, begin: int, end: int, room: int) -> Iterator[Bounds]:
  """Yields runs of a sentence's words that fit a row; each begins in the middle of the last."""
  while begin < end:
    stop = min(end, int(np.searchsorted(first, first[begin] + room, "right")) - 1)
    yield begin, stop
    if stop == end:
      return
    middle = int(np.searchsorted(first, (first[begin] + first[stop]) // 2, "right")) - 1
    begin = max(begin + 1, middle)


def spans_of(
  example: NamesExample, tags: Sequence[str], scores: Sequence[float], scheme: Scheme | None
) -> list[Span]:
  """Returns the entities that tags make, each with the probability of its least probable tag."""
  words, spans = example.words, []
  for first, last in itertools.pairwise(edges_of(example).tolist()):
    inside = tags[first:last]
    for start, end, label in legal_chunks(inside, scheme) if scheme else chunks(inside):
      begin, stop = words[first + start][0], words[first + end - 1][1]
      score = min(scores[first + start : first + end])
      spans.append(Span(example.text[begin:stop], begin, stop, label, float(score)))
  return spans
