"""Documents as rows: the spans of their sentences that may be entities, with words around them."""

import itertools
import math
import warnings
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.nn.losses import IGNORED
from luke_jax.tasks.ner.documents import NamesExample, edges_of, in_one_sentence, to_words
from luke_jax.tasks.predictions import Labelled, Missed
from luke_jax.text import Processor, Row
from luke_jax.text.tokenizer import Bounds

SPECIAL = 2  # tokens of a row
WINDOW = 128  # word pieces of a document that are read together where its words are read once
WORD_STARTS = "word_starts"  # of a row's `extra`, 1 at the first piece of each word
SHARED_PIECES = 16  # of neighbouring windows, at least, if half a window has so many


class CandidateLimits(NamedTuple):
  """Settings of rows: the longest candidate, whether text around a sentence is read, the window.

  `marked` words are read without a space before them, and rows have marks of where they start;
  `prompt` are word pieces before every text.
  """

  words: int
  pieces: int | None
  context: bool
  window: int = WINDOW
  marked: bool = False
  prompt: tuple[int, ...] = ()


class TokenizedDocument(NamedTuple):
  """A document in word pieces: word i has those from first[i] to before first[i + 1].

  Sentence i has the words from edges[i] to before edges[i + 1]; those between two of `stretches`
  are read together. Candidates are spans of words in order; the longest one that begins at word i
  ends before word reach[i].
  """

  ids: np.ndarray
  first: np.ndarray
  edges: np.ndarray
  stretches: np.ndarray
  starts: np.ndarray
  ends: np.ndarray
  reach: np.ndarray
  limits: CandidateLimits
  number: int = 0  # of the example
  targets: np.ndarray | None = None  # of candidates, if known


def features(
  processor: Processor,
  examples: Sequence[NamesExample],
  limits: CandidateLimits,
  *,
  labels: Sequence[str],
  faults: Faults,
  given: Sequence[Sequence[Bounds] | None] | None = None,
) -> list[Row]:
  """Returns rows with all candidates of the documents, or those given; `source` are their words.

  Where a row's states depend on its entities, that of a sentence has as much of the document around
  it as there is room for (paper §4.3); a sentence of many candidates or of more words than that has
  several rows. Other systems read a document once, in windows, each with the candidates in its
  middle.
  """
  rows: list[Row] = []
  rows_of = _rows_of_windows if processor.reads_words_once else _rows
  missed, total = 0, 0
  for number, (example, ids) in enumerate(
    tokenized(processor, examples, limits.context, limits.marked)
  ):
    with faults.caught():
      document = _document(example, ids, limits, processor)
      spans = given[number] if given else None
      if spans is not None:
        starts, ends = np.array(spans, np.int64).reshape(-1, 2).T
        document = document._replace(starts=starts, ends=ends)
      targets = None if example.spans is None else _targets(example, document, labels)
      document = document._replace(number=number, targets=targets)
      of_document = list(rows_of(processor, document))
      if spans is not None:
        _check_whole(of_document, example, 1 + len(limits.prompt))
      rows += of_document
      if targets is not None and example.spans:
        missed += len(example.spans) - np.count_nonzero(targets)
        total += len(example.spans)
  if missed:
    pieces = f" or {limits.pieces} word pieces" if limits.pieces else ""
    warnings.warn(
      f"{missed} of {total} entities cannot be found: longer than {limits.words} words{pieces}, or"
      " not whole words of a sentence; luke-jax data check shows the first",
      stacklevel=3,
    )
  return rows


def tokenized(
  processor: Processor, examples: Sequence[NamesExample], context: bool, alone: bool = False
) -> Iterator[tuple[NamesExample, list[list[int]]]]:
  """Yields every document with the pieces of each word; no word is tokenized twice.

  Words that are read `alone` have no space before them.
  """
  written = [_written(example, context) for example in examples]
  if alone:
    written = [[word.removeprefix(" ") for word in document] for document in written]
  words = list(dict.fromkeys(word for document in written for word in document))
  tokens = processor.tokenizer.encode(words)
  ids = {word: pieces.ids for word, pieces in zip(words, tokens, strict=True)}
  for example, document in zip(examples, written, strict=True):
    yield example, [ids[word] for word in document]


def _written(example: NamesExample, context: bool) -> list[str]:
  """Returns the words, each with a space before it if the text has white space there.

  A document, or where there is no context a sentence, begins without one if it is given as text.
  """
  text, written = example.text, []
  for sentence in example.sentences:
    for i, (start, end) in enumerate(sentence):
      begins = not i and not example.as_words and not (context and written)
      spaced = not begins and text[start - 1 : start].isspace()
      written.append(f" {text[start:end]}" if spaced else text[start:end])
  return written


def _document(
  example: NamesExample, ids: list[list[int]], limits: CandidateLimits, processor: Processor
) -> TokenizedDocument:
  room = room_of(processor, limits)
  lengths = lengths_of(example, ids, math.inf if processor.reads_words_once else room)
  first, words = np.concatenate([[0], lengths.cumsum()]), np.arange(len(ids))
  edges = edges_of(example)
  stretches = edges[[0, -1]] if limits.context else edges
  if processor.reads_words_once and np.diff(first[stretches]).max(initial=0) > room:
    room = _common(room)  # a longer candidate may be whole in no window
  sentence_ends = np.repeat(edges[1:], np.diff(edges))
  enough = np.searchsorted(first, first[:-1] + min(room, limits.pieces or room), "right") - 1
  reach = np.minimum.reduce([words + limits.words, sentence_ends, enough])
  counts = reach - words
  starts = np.repeat(words, counts)
  ends = starts + 1 + np.arange(len(starts)) - np.repeat(counts.cumsum() - counts, counts)
  # A word without pieces, as some accents are alone, neither begins nor ends a candidate.
  visible = (lengths[starts] > 0) & (lengths[ends - 1] > 0)
  flat = np.array([id for pieces in ids for id in pieces], np.int32)
  return TokenizedDocument(
    flat, first, edges, stretches, starts[visible], ends[visible], reach, limits
  )


def _check_whole(rows: Sequence[Row], example: NamesExample, begin: int) -> None:
  """Raises InputError for a candidate that its row has not whole, from place `begin` on."""
  for row in rows:
    first, last = row.entity_tokens.T
    cut = np.flatnonzero((first < begin) | (last >= len(row.input_ids)))
    if len(cut):
      start, end = row.source[cut[0]]
      text = example.text[example.words[start][0] : example.words[end - 1][1]]
      expected = "expected what is read at once, of one sentence where entities are tokens"
      raise InputError(f"{example.place}: {text[:40]!r}…: {end - start} words; {expected}")


def lengths_of(example: NamesExample, ids: list[list[int]], room: float) -> np.ndarray:
  """Returns the number of pieces of each word; raises InputError for a word without room."""
  lengths = np.array([len(pieces) for pieces in ids], np.int64)
  if lengths.max(initial=0) > room:
    word = int(lengths.argmax())
    start, end = example.words[word]
    raise InputError(
      f"{example.place_of(start)}: {example.text[start:end][:20]!r}…: {lengths[word]} word pieces;"
      f" expected words of at most {room}, the room of a row"
    )
  return lengths


def _targets(
  example: NamesExample, document: TokenizedDocument, labels: Sequence[str]
) -> np.ndarray:
  """Returns the numbers of the labels of candidates, 0 for those that are no entity."""
  numbers = {label: number for number, label in enumerate(labels)}
  targets = np.zeros(len(document.starts), np.int32)
  for span in to_words(example, example.spans or ()):
    if span is not None:
      first, last = np.searchsorted(document.starts, (span.start, span.start + 1))
      place = first + np.searchsorted(document.ends[first:last], span.end)
      if place < last and document.ends[place] == span.end:
        targets[place] = numbers.get(span.label, IGNORED)
  return targets


def _rows(processor: Processor, document: TokenizedDocument) -> Iterator[Row]:
  """Yields the rows of each sentence, which share its candidates evenly."""
  room, context = processor.max_length - SPECIAL, document.limits.context
  for begin, end, target in _parts(document, room):
    bounds = window(target, len(document.ids), room) if context else target
    first, last = np.searchsorted(document.starts, (begin, end)).tolist()
    for share in shares(first, last, processor.max_entity_length):
      yield _row(processor, document, bounds, share)


def _rows_of_windows(processor: Processor, document: TokenizedDocument) -> Iterator[Row]:
  """Yields a row for each window, with the candidates that are nearer its middle than another's."""
  room, first = room_of(processor, document.limits), document.first
  twice = first[document.starts] + first[document.ends]  # the middles of candidates, doubled
  for begin, end in itertools.pairwise(document.stretches.tolist()):
    lefts, width = windows(int(first[end] - first[begin]), room)
    lefts = lefts + first[begin]
    inside = slice(*np.searchsorted(document.starts, (begin, end)).tolist())
    of_window = np.searchsorted(lefts[:-1] + lefts[1:] + width, twice[inside])
    order = np.argsort(of_window, kind="stable")
    cuts = np.searchsorted(of_window[order], np.arange(1, len(lefts)))
    for left, chosen in zip(lefts.tolist(), np.split(inside.start + order, cuts), strict=True):
      most = len(chosen) if processor.entity_reading == "none" else processor.max_entity_length
      for share in shares(0, len(chosen), most):
        yield _row(processor, document, (left, left + width), chosen[share])


def _row(
  processor: Processor, document: TokenizedDocument, bounds: Bounds, share: slice | np.ndarray
) -> Row:
  special, (left, right), limits = processor.tokenizer.special, bounds, document.limits
  start = [special.start, *limits.prompt]
  ids = np.concatenate([start, document.ids[left:right], [special.end]])
  words = np.stack([document.starts[share], document.ends[share]], axis=1, dtype=np.int32)
  masks = np.full(len(words), processor.entity_vocab.mask_id, np.int32)
  before = 1 + len(limits.prompt) - left
  tokens = (document.first[words] + before).astype(np.int32)
  labels = None if document.targets is None else document.targets[share]
  extra = None
  if limits.marked:
    first = document.first[:-1][np.diff(document.first) > 0]
    extra = {WORD_STARTS: np.zeros(len(ids), np.int32)}
    extra[WORD_STARTS][first[(first >= left) & (first < right)] + before] = 1
  return Row(document.number, ids.astype(np.int32), masks, tokens, labels, words, extra=extra)


def room_of(processor: Processor, limits: CandidateLimits) -> int:
  """Returns the word pieces of a document that a row has at most."""
  most = processor.max_length - len(limits.prompt)
  return (min(most, limits.window) if processor.reads_words_once else most) - SPECIAL


def _common(room: int) -> int:
  """Returns the word pieces that neighbouring windows share at least."""
  return min(room // 2, max(room // 4, SHARED_PIECES))


def windows(length: int, room: int) -> tuple[np.ndarray, int]:
  """Returns the starts of windows over a text, and their length, which is one and at most `room`.

  They are as few as can share as much as they have to, each with the next, and then as short.
  """
  common = _common(room)
  count = max(1, -(-(length - common) // (room - common)))
  width = -(-(length + (count - 1) * common) // count)
  return np.arange(count) * (length - width) // max(count - 1, 1), width


def _parts(document: TokenizedDocument, room: int) -> Iterator[tuple[int, int, Bounds]]:
  """Runs of words whose candidates share rows, with the pieces that such a row must have.

  They are sentences, or of one that is too long as many words at a time as there is room for.
  """
  first = document.first
  for begin, end in itertools.pairwise(document.edges):
    if first[end] - first[begin] <= room:
      yield begin, end, (first[begin], first[end])
      continue
    reach = np.maximum(document.reach[:end], np.arange(end) + 1)
    while begin < end:
      last = begin + np.searchsorted(first[reach[begin:]], first[begin] + room, "right")
      yield begin, last, (first[begin], first[reach[last - 1]])
      begin = last


def window(target: Bounds, length: int, room: int) -> Bounds:
  """Returns the part of a text of which the target is the middle, as far as the text goes.

  What one side cannot fill is the other's (paper §4.3).
  """
  start, end = target
  half, spare = (room - end + start) // 2, room - end + start
  before, after = start, length - end
  if before < after:
    before = min(before, half)
    after = min(after, spare - before)
  else:
    after = min(after, half)
    before = min(before, spare - after)
  return start - before, end + after


def shares(first: int, last: int, room: int) -> Iterator[slice]:
  """Splits `first` to `last` into as few slices as have room for it, of nearly one size."""
  count = last - first
  if count:
    size = -(-count // -(-count // room))
    for start in range(first, last, size):
      yield slice(start, min(start + size, last))


def missed_entities(
  example: NamesExample, span_words: int, rows: Sequence[Row] | None = None
) -> list[Missed]:
  """Returns the entities of a document that no model can find.

  With the document's `rows` also those that their tokenizer has no candidate for.
  """
  entities = []
  for span, words in zip(example.spans or (), to_words(example, example.spans or ()), strict=True):
    why = _why(example, span, words, span_words)
    if not why and rows is not None and words is not None and not _is_candidate(words, rows):
      why = "no candidate with this model's word pieces"
    if why:
      entities.append(
        Missed(example.place_of(span.start), example.text[span.start : span.end], why)
      )
  return entities


def _why(example: NamesExample, span: Labelled, words: Labelled | None, most: int) -> str:
  text = example.text[span.start : span.end]
  if not text.strip():
    return "white space"
  if text != text.strip():
    return "white space at its edge"
  if words is None:
    return "begins or ends inside a word"
  if words.end - words.start > most:
    return f"{words.end - words.start} words; candidates have at most {most}"
  return "" if in_one_sentence(words, edges_of(example)) else "in more than one sentence"


def _is_candidate(words: Labelled, rows: Sequence[Row]) -> bool:
  wanted = (words.start, words.end)
  return any(bool(np.any(np.all(row.source == wanted, axis=-1))) for row in rows)


def marks(row: Row, labels: Sequence[str]) -> Iterator[Labelled]:
  """Yields the entities of a row, as places in its word pieces."""
  if row.labels is not None:
    for number in np.flatnonzero(row.labels > 0).tolist():
      start, end = row.entity_tokens[number].tolist()
      yield Labelled(start, end, labels[row.labels[number]])


def check_learnable(path: str, examples: Sequence[NamesExample], rows: Sequence[Row]) -> None:
  """Raises InputError for a training file of which no entity can be found."""
  total = sum(len(example.spans or ()) for example in examples)
  if not total:
    raise InputError(f"{path}: no entities; expected one at least, to learn from")
  if not any(np.any(row.labels) for row in rows if row.labels is not None):
    raise InputError(
      f"{path}: none of its {total} entities can be found; expected whole words of a sentence:"
      f" luke-jax data check {path} --task ner says what is wrong"
    )
