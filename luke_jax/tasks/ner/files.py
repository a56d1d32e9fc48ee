"""Documents with named entities in files."""

import dataclasses
import functools
import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats.datasets import is_table
from luke_jax.formats.files import Faults, Text, check_fields, lines, listed, read_text
from luke_jax.formats.records import DOC_BIN, read_records
from luke_jax.tasks.label_checks import check_label
from luke_jax.tasks.ner.columns import (
  BOUNDARY,
  Document,
  check_tags,
  has_tags,
  read_columns,
  warn_repaired,
)
from luke_jax.tasks.ner.documents import (
  BEGIN,
  PAPER,
  NamesExample,
  Reading,
  as_ours,
  edges_of,
  in_one_sentence,
  labelled,
  of_words,
  read_conll_2012,
  sentences_of,
  tags_of,
  to_characters,
  to_words,
  words_of,
)
from luke_jax.tasks.ner.tags import Scheme, chunks
from luke_jax.tasks.predictions import Labelled, Span
from luke_jax.text.tokenizer import Bounds

FIELDS = ("sentences", "spans")


def read(path: Path, faults: Faults, reading: Reading = PAPER) -> list[NamesExample]:
  """Reads JSON lines or lists (.jsonl, .json), columns of words and tags, or words alone.

  In columns a line of `-DOCSTART-` begins a document; without any, every sentence is one. Files of
  CoNLL-2012, whose documents begin with `#begin document`, have names in brackets.
  """
  if is_json_lines(path):
    return _of_json_lines(path, faults, reading)
  if next((line.startswith(BEGIN) for _, line in lines(path) if line.strip()), False):
    documents = read_conll_2012(path, faults)
  else:
    documents = read_columns(path, faults, reading.columns)
  if has_tags(documents):
    check_tags(path, documents, faults, reading.repair_tags)
  return [
    _of_columns(path, str(number), document, reading)
    for number, document in enumerate(documents, start=1)
    if all(sentence.sound for sentence in document)
  ]


def _of_json_lines(path: Path, faults: Faults, reading: Reading) -> list[NamesExample]:
  repaired: list[str] = []
  one = functools.partial(parse, reading=reading, repaired=repaired)
  examples = read_records(path, one, faults)
  warn_repaired(path, repaired)
  return examples


def is_json_lines(path: Path) -> bool:
  """Returns whether the file is one of objects, by its name; others are columns."""
  return path.suffix in (".jsonl", ".json", DOC_BIN) or is_table(path)


def _of_columns(path: Path, id: str, document: Document, reading: Reading) -> NamesExample:
  place = f"{path}: line {document[0].lines[0].number}"
  example = of_words(id, place, [sentence.words for sentence in document], reading)
  example = dataclasses.replace(
    example, lines=tuple(sentence.lines[0].number for sentence in document)
  )
  if not has_tags([document]):
    return example
  return dataclasses.replace(example, spans=to_characters(example, tagged_spans(document)))


def tagged_spans(document: Document) -> Iterator[Labelled]:
  """Yields the spans of words that the tags of a document make."""
  before = 0
  for sentence in document:
    for start, end, label in chunks(sentence.tags):
      yield Labelled(before + start, before + end, label)
    before += len(sentence.lines)


def parse(
  value: Mapping[str, object],
  id: str,
  place: str,
  reading: Reading = PAPER,
  *,
  repaired: list[str] | None = None,
) -> NamesExample:
  """Returns the document in an object of JSON lines, in our form or in that of another tool.

  The tags that were repaired are added to `repaired`.
  """
  value = as_ours(value, place, reading, [] if repaired is None else repaired)
  check_fields(value, FIELDS, place)
  text_or_words = read_text(value, place)
  edges = _edges(value, text_or_words, place)
  value = _placed(value, text_or_words)
  spans = _gold(value, text_or_words, place) if "spans" in value else None
  if "tokens" not in value:
    text = text_or_words.text
    if edges is None and reading.hyphenated:
      edges = [(0, len(text))]
    edges = list(sentences_of(text, reading.language)) if edges is None else edges
    _check_edges(edges, text, place)
    split = (words_of(text, *x, hyphenated=reading.hyphenated) for x in edges)
    return NamesExample(id, place, text, tuple(filter(None, split)), spans)
  words = value["tokens"]
  edges = [(0, len(words))] if edges is None else edges
  _check_edges(edges, "w" * len(words), place)
  example = of_words(id, place, [words[start:end] for start, end in edges], reading)
  return dataclasses.replace(example, spans=spans and to_characters(example, spans))


def _placed(value: Mapping[str, Any], text: Text) -> Mapping[str, Any]:
  """Returns an object whose spans with the words of a name, as ["Ana", "person"], have places."""
  spans = value.get("spans")
  if text.tokens is not None or not isinstance(spans, list):
    return value
  by_words = [isinstance(x, list | tuple) and [*map(type, x)] == [str, str] for x in spans]
  placed = [
    [*text.span(x[0], "spans"), x[1]] if y else x for x, y in zip(spans, by_words, strict=True)
  ]
  return {**value, "spans": placed}


def _edges(value: Mapping[str, object], text: Text, place: str) -> list[Bounds] | None:
  if "sentences" not in value:
    return None
  spans = listed(value, "sentences", place)
  for span in spans:
    text.span(span, "sentences")
  return [(start, end) for start, end in spans]


def _check_edges(edges: Sequence[Bounds], text: str, place: str) -> None:
  """Raises InputError unless sentences are in order, with only white space between them."""
  last = 0
  for start, end in [*edges, (len(text), len(text))]:
    if start < last or text[last:start].strip():
      raise InputError(
        f"{place}: sentences: {sorted([last, start])} is in {'two' if start < last else 'none'};"
        " expected them in order, with every word in one"
      )
    last = end


def _gold(value: Mapping[str, object], text: Text, place: str) -> tuple[Labelled, ...]:
  spans = spans_in(value, place)
  seen = set()
  for start, end, _ in spans:
    text.span([start, end], "spans")
    if (start, end) in seen:
      raise InputError(f"{place}: spans: [{start}, {end}] twice; expected one label for a span")
    seen.add((start, end))
  return spans


def spans_in(value: Mapping[str, object], place: str) -> tuple[Labelled, ...]:
  """Returns the spans of an object with their labels, without a check against its text.

  A span may be an object too, as predictions are, and as columns of one type need it.
  """
  spans = []
  for given in listed(value, "spans", place):
    span = map(given.get, ("start", "end", "label")) if isinstance(given, dict) else given
    span = list(span) if isinstance(span, list | map) else []
    is_span = list(map(type, span)) == [int, int, str] and span[2].strip()
    if not (is_span and 0 <= span[0] < span[1]):
      raise InputError(f"{place}: spans: {given!r}; expected [start, end, label], the start first")
    spans.append(Labelled(*span))
  return tuple(spans)


def to_json(example: NamesExample) -> dict[str, object]:
  """Returns the object that `parse` reads as the example."""
  value: dict[str, object] = {"id": example.id}
  if example.as_words:
    value["tokens"] = [example.text[start:end] for start, end in example.words]
    edges = itertools.accumulate(map(len, example.sentences), initial=0)
    value["sentences"] = list(map(list, itertools.pairwise(edges)))
  else:
    value["text"] = example.text
    value["sentences"] = [[sentence[0][0], sentence[-1][1]] for sentence in example.sentences]
  if example.spans is None:
    return value
  return value | {"spans": [list(span) for span in as_in_files(example, example.spans)]}


def as_in_files(example: NamesExample, spans: Sequence[Labelled]) -> list[Labelled]:
  """Returns spans in the unit of the example's file; of words only those that are whole words."""
  return list(filter(None, to_words(example, spans))) if example.as_words else list(spans)


def to_columns(
  examples: Sequence[NamesExample], predictions: Sequence[Sequence[Span]], scheme: Scheme = "IOB2"
) -> Iterator[str]:
  """Yields lines of words, their gold tags if known, and the predicted tags last."""
  between = "\t" if any(" " in x for example in examples for x in _words(example)) else " "
  bounded = any(len(example.sentences) > 1 for example in examples)
  for example, predicted in zip(examples, predictions, strict=True):
    tags = [_tags(example, labelled(predicted), scheme)]
    if example.spans is not None:
      tags.insert(0, _tags(example, example.spans, scheme))
    if bounded:
      yield from (between.join([BOUNDARY, *("O" for _ in tags)]), "")
    rows = zip(_words(example), *tags, strict=True)
    for sentence in example.sentences:
      yield from (_line(example, row, between) for row in itertools.islice(rows, len(sentence)))
      yield ""


def _tags(example: NamesExample, spans: Sequence[Labelled], scheme: Scheme) -> list[str]:
  edges = edges_of(example)
  words = [x for x in to_words(example, spans) if x and in_one_sentence(x, edges)]
  if len(words) < len(spans):
    raise InputError(
      f"{example.place}: spans that are not whole words of a sentence: {len(spans) - len(words)};"
      " expected none, for tags"
    )
  return tags_of(example, words, scheme)


def _words(example: NamesExample) -> Iterator[str]:
  return (example.text[start:end] for start, end in example.words)


def _line(example: NamesExample, row: Sequence[str], between: str) -> str:
  for part in row:
    if part.strip(" ") != part or re.search(r"[\t\n\r]", part) or (" " in part and part != row[0]):
      raise InputError(f"{example.place}: {part!r}; expected no white space, for columns")
  return between.join(row)


@dataclasses.dataclass(frozen=True)
class NamesOfFiles:
  """Settings of a task that finds names: how their files are read, and what is around them."""

  context: bool = True  # rows have text around their sentences
  language: str = "en"  # its rules split a text into sentences if the file does not
  every_word_spaced: bool = False  # words of a file, punctuation too, are read with a space before
  columns: tuple[str, ...] = ()  # of a file: word, tag or _ (not read) for each; else a guess
  repair_tags: bool = False  # read tags of a file that are not legal as conlleval does
  tag_names: tuple[str, ...] = ()  # of tags that are numbers, from 0

  @property
  def _reading(self) -> Reading:
    columns = self.columns, self.repair_tags, self.tag_names
    return Reading(self.language, self.every_word_spaced, *columns)

  def read(self, path: Path, faults: Faults) -> list[NamesExample]:
    """Reads the documents of a file."""
    return read(path, faults, self._reading)

  def parse(self, value: Mapping[str, object], id: str, place: str) -> NamesExample:
    """Returns the document in an object of JSON lines."""
    return parse(value, id, place, self._reading)

  def spread_by(self, example: NamesExample) -> tuple[object, Collection[str]]:
    """Returns the text of an example and its labels."""
    return example.text, [span.label for span in example.spans or ()]

  to_json = staticmethod(to_json)


def check_spans(example: NamesExample, labels: Sequence[str]) -> None:
  """Raises InputError for a document without spans, or with a label that is not among `labels`."""
  if example.spans is None:
    raise InputError(f"{example.place}: no spans; expected those of the entities, or tags")
  for span in example.spans:
    if span.label not in labels:
      check_label(span.label, labels, example.place_of(span.start))


def to_prediction(example: NamesExample, prediction: Sequence[Span]) -> dict[str, object]:
  """Returns a document's line in a file of predictions."""
  return {
    "id": example.id,
    "spans": [list(span) for span in as_in_files(example, labelled(prediction))],
    "texts": [span.text for span in prediction],
    "scores": [round(span.score, 4) for span in prediction],
  }
