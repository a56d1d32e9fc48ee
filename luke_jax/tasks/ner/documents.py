"""Documents: sentences of words, with the entities in them, and those of other tools' files.

Files of other tools are read as ours, or refused by the tool's name."""

import dataclasses
import functools
import itertools
import re
import string
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats import datasets
from luke_jax.formats.files import Faults, lines, listed
from luke_jax.tasks.ner.columns import Document, Line, SentenceLines
from luke_jax.tasks.ner.tags import REPAIR, Scheme, check_tag, chunks, illegal, scheme_of, tagged
from luke_jax.tasks.predictions import Labelled, Span
from luke_jax.text import JoinedWords, join_words
from luke_jax.text.sentences import split_sentences
from luke_jax.text.tokenizer import Bounds

LONGEST = 64  # characters of a word in a text; as word pieces they fit any window of use
TAG_FIELDS = ("ner_tags", "tags")
SPAN_FIELDS = ("label", "labels", "entities", "ents")


class Reading(NamedTuple):
  """Choices for reading files: how to split texts, join words and understand columns and tags."""

  language: str = "en"  # its rules split a text into sentences
  # Puts a space before every word of a list; otherwise, as in the paper's code, before all but
  # single punctuation characters and words that begin with an apostrophe.
  every_word_spaced: bool = False
  columns: tuple[str, ...] = ()  # word, tag or _ (not read) for each column
  repair_tags: bool = False  # read tags that are not legal where they stand as conlleval does
  tag_names: tuple[str, ...] = ()  # of tags that are numbers, from 0
  hyphenated: bool = False  # hyphens join words, and a text is one sentence


PAPER = Reading()


def joined(words: Sequence[str], reading: Reading) -> JoinedWords:
  """Returns words as a text, whose spaces show how each word is read, the first one too."""
  return join_words(words, spaces=[reading.every_word_spaced or not _attached(x) for x in words])


def _attached(word: str) -> bool:
  one = len(word) == 1 and (word in string.punctuation or unicodedata.category(word)[0] == "P")
  return one or word.startswith("'")


def sentences_of(text: str, language: str) -> Iterator[Bounds]:
  """Yields the edges of the sentences of a text, which together are the text."""
  end = 0
  for sentence in split_sentences(text, language):
    start, end = end, end + len(sentence)
    yield start, end


def words_of(text: str, start: int, end: int, *, hyphenated: bool = False) -> tuple[Bounds, ...]:
  """Returns the words of a stretch of a text.

  They are runs of letters and digits, of one punctuation character, and English clitics as 's; or
  `hyphenated` those of GLiNER, runs of letters that hyphens and underscores may join, and single
  characters.
  """
  matches = (_HYPHENATED if hyphenated else _pattern()).finditer(text, start, end)
  return tuple(match.span() for match in matches)


_HYPHENATED = re.compile(r"\w+(?:[-_]\w+)*|\S")


@functools.lru_cache
def _pattern() -> re.Pattern[str]:
  # `re` excludes marks that follow letters, such as vowels of Hindi, from words.
  points = map(chr, range(0x300, 0x20000))
  marks = "".join(mark for mark in points if unicodedata.category(mark)[0] == "M")
  most = LONGEST - 1
  return re.compile(rf"'(?:s|t|re|ve|m|ll|d)\b|[\w{marks}]{{1,{LONGEST}}}|([^\w\s])\1{{0,{most}}}")


Sentences = tuple[tuple[Bounds, ...], ...]


@dataclasses.dataclass(frozen=True)
class NamesExample:
  """A document: the words of its sentences and, if known, its entities."""

  id: str
  place: str  # file and line
  text: str
  sentences: Sentences  # their words, as characters of the text
  spans: tuple[Labelled, ...] | None = None  # characters
  as_words: bool = False  # files have words instead of a text, and spans of words
  lines: tuple[int, ...] = ()  # in a file of columns: the first line of each sentence

  @property
  def words(self) -> list[Bounds]:
    """Returns the words of all sentences."""
    return [word for sentence in self.sentences for word in sentence]

  def place_of(self, character: int) -> str:
    """Returns the line of a character's word in a file of columns, or else the document's."""
    for first, sentence in zip(self.lines, self.sentences, strict=False):
      for line, (_, end) in enumerate(sentence, start=first):
        if character < end:
          return f"{self.place.rpartition(': line ')[0]}: line {line}"
    return self.place


def of_words(
  id: str, place: str, sentences: Sequence[Sequence[str]], reading: Reading = PAPER
) -> NamesExample:
  """Returns a document whose text is made from its words."""
  text, words, _ = joined([word for sentence in sentences for word in sentence], reading)
  remaining = iter(words)
  split = tuple(tuple(next(remaining) for _ in sentence) for sentence in sentences)
  return NamesExample(id, place, text, tuple(filter(None, split)), as_words=True)


def by_characters(example: NamesExample) -> NamesExample:
  """Returns the document with every character of its words as a word.

  A mark that combines with the character before it, such as an accent, belongs to that one.
  """

  def characters(start: int, end: int) -> Iterator[Bounds]:
    inside = range(start + 1, end)
    firsts = [i for i in inside if not unicodedata.category(example.text[i]).startswith("M")]
    return itertools.pairwise([start, *firsts, end])

  sentences = tuple(
    tuple(place for word in words for place in characters(*word)) for words in example.sentences
  )
  return dataclasses.replace(example, sentences=sentences, lines=())


def labelled(spans: Iterable[Span]) -> list[Labelled]:
  """Returns predicted spans without their texts and scores."""
  return [Labelled(span.start, span.end, span.label) for span in spans]


def to_characters(example: NamesExample, spans: Iterable[Labelled]) -> tuple[Labelled, ...]:
  """Returns spans of words as spans of characters."""
  words = example.words
  return tuple(Labelled(words[first][0], words[last - 1][1], label) for first, last, label in spans)


def to_words(example: NamesExample, spans: Iterable[Labelled]) -> list[Labelled | None]:
  """Returns spans of characters as spans of words; None for one with an edge inside a word."""
  words = example.words
  first = {start: word for word, (start, _) in enumerate(words)}
  last = {end: word for word, (_, end) in enumerate(words, start=1)}
  return [
    Labelled(first[start], last[end], label) if start in first and end in last else None
    for start, end, label in spans
  ]


def edges_of(example: NamesExample) -> np.ndarray:
  """Returns the numbers of the words between which sentences lie."""
  return np.cumsum([0, *map(len, example.sentences)])


def in_one_sentence(span: Labelled, edges: np.ndarray) -> bool:
  """Returns whether a span of words lies within a sentence."""
  return np.searchsorted(edges, span.start, "right") == np.searchsorted(edges, span.end, "left")


def tags_of(example: NamesExample, spans: Sequence[Labelled], scheme: Scheme) -> list[str]:
  """Returns the tag of every word of a document, by entities that lie apart in its sentences."""
  tags: list[str] = []
  for first, last in itertools.pairwise(edges_of(example)):
    inside = [
      Labelled(start - first, end - first, label)
      for start, end, label in spans
      if first <= start < last
    ]
    tags += tagged(inside, int(last - first), scheme, example.place)
  return tags


def as_ours(
  value: Mapping[str, object], place: str, reading: Reading, repaired: list[str]
) -> Mapping[str, Any]:
  """Returns the object with our `spans`, of one that Hugging Face, doccano or spaCy wrote.

  Tags that were read in spite of their places are added to `repaired`.
  """
  if "spans" in value:
    return value
  if datasets.is_export(value):
    return datasets.as_ours(value, place)
  ours = {name: value[name] for name in ("sentences",) if name in value}
  if "tokens" in value:
    for name in TAG_FIELDS:
      if name in value:
        tags = _tags(value, name, place, reading)
        _check_tags(tags, f"{place}: {name}", reading.repair_tags, repaired)
        return ours | {"tokens": value["tokens"], "spans": list(map(list, chunks(tags)))}
  if "text" in value:
    for name in SPAN_FIELDS:
      if name in value:
        spans = [_span(span, f"{place}: {name}") for span in listed(value, name, place)]
        return ours | _sentences(value, place) | {"text": value["text"], "spans": spans}
  return value


def _tags(value: Mapping[str, object], name: str, place: str, reading: Reading) -> list[str]:
  tokens, tags = listed(value, "tokens", place), listed(value, name, place)
  if len(tags) != len(tokens):
    raise InputError(f"{place}: {name}: {len(tags)}; expected {len(tokens)}, one for each token")
  return [_tag(tag, reading.tag_names, f"{place}: {name}") for tag in tags]


def _tag(tag: Any, names: Sequence[str], place: str) -> str:
  if type(tag) is not int:
    check_tag(tag if isinstance(tag, str) else repr(tag), place)
    return tag
  if not names:
    raise InputError(
      f"{place}: {tag}, a number; expected tags such as B-PER, or the numbers' names in order:"
      " --tag-names O,B-PER,I-PER (in training --set task.tag_names=O,B-PER,I-PER)"
    )
  if not 0 <= tag < len(names):
    raise InputError(f"{place}: {tag}; expected a number from 0 to {len(names) - 1}, as tag names")
  return names[tag]


def _check_tags(tags: Sequence[str], place: str, repair: bool, repaired: list[str]) -> None:
  for word, fault in illegal(tags, scheme_of([tags])):
    message = f"{place}: token {word}: {fault}"
    if not repair:
      raise InputError(f"{message}; {REPAIR}")
    repaired.append(message)


def _span(span: object, place: str) -> list[Any]:
  if isinstance(span, dict):
    edges = (span.get(name, span.get(f"{name}_offset")) for name in ("start", "end"))
    return [*edges, span.get("label")]
  if isinstance(span, list) and len(span) == 3:
    return span
  raise InputError(f"{place}: {span!r}; expected [start, end, label]")


def _sentences(value: Mapping[str, object], place: str) -> dict[str, object]:
  """Returns the sentences that spaCy has in `sents`."""
  if "sents" not in value:
    return {}
  spans = (x if isinstance(x, dict) else {} for x in listed(value, "sents", place))
  return {"sentences": [[span.get("start"), span.get("end")] for span in spans]}


BEGIN, END = "#begin document", "#end document"
_WORD, _NAME = 3, 10  # columns, from 0
# A name begins as (GPE, ends with ), and a word of it is *; those of one word are (GPE).
_PART = re.compile(r"(?:\((?P<label>[^()*\s]+))?\*?(?P<end>\))?")


def read_conll_2012(path: Path, faults: Faults) -> list[Document]:
  """Returns the sentences of each document, with the tags that its brackets are as IOB2."""
  documents: list[Document] = []
  sentence, label = SentenceLines(), ""
  for number, line in lines(path):
    place = f"{path}: line {number}"
    if line.startswith("#") or not line.strip():
      if label and sentence.sound:
        sentence.sound = False
        with faults.caught():
          raise InputError(f"{place}: the name of {label!r} has no end; expected ) before")
      sentence, label = SentenceLines(), ""
      if line.startswith(BEGIN):
        documents.append([])
      continue
    if not sentence.lines:
      documents[-1].append(sentence)
    with faults.caught():
      word, tag, label = _read_name(line.split(), label, place)
      sentence.lines.append(Line(number, word, tag))
      continue
    sentence.lines.append(Line(number, "_", "O"))
    sentence.sound, label = False, ""
  return [document for document in documents if document]


def _read_name(columns: list[str], inside: str, place: str) -> tuple[str, str, str]:
  """Returns the word of a line, its tag, and the label of the name that goes on after it."""
  if len(columns) <= _NAME:
    raise InputError(f"{place}: {len(columns)} columns; expected {_NAME + 1} or more")
  match = _PART.fullmatch(columns[_NAME])
  begins, ends = (match["label"], match["end"]) if match and columns[_NAME] else (None, None)
  if not match or (inside and begins) or (ends and not (inside or begins)):
    raise InputError(f"{place}: name {columns[_NAME]!r}; expected such as *, (GPE), (GPE* or *)")
  label = begins or inside
  tag = f"B-{begins}" if begins else f"I-{inside}" if inside else "O"
  return columns[_WORD], tag, "" if ends else label
