"""Files of columns: a word a line, its tag last, sentences between empty lines."""

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from luke_jax.errors import InputError
from luke_jax.tasks.files import Faults, lines
from luke_jax.tasks.ner.tags import check_tag, illegal, scheme_of

BOUNDARY = "-DOCSTART-"  # begins the line before a document
_SEPARATOR = re.compile(r"[ \t]+")  # other white space may be part of a word


class Line(NamedTuple):
  """A word and its tag, which is "" in a file of words alone."""

  number: int
  word: str
  tag: str


@dataclasses.dataclass
class Sentence:
  """Lines without an empty one between them; `sound` unless something is wrong with them."""

  lines: list[Line] = dataclasses.field(default_factory=list)
  sound: bool = True

  @property
  def words(self) -> list[str]:
    """The word of each line."""
    return [line.word for line in self.lines]

  @property
  def tags(self) -> list[str]:
    """The tag of each line."""
    return [line.tag for line in self.lines]


Document = list[Sentence]


def read_columns(path: Path, faults: Faults) -> list[Document]:
  """The sentences of a file. Where it has no document boundaries, each is a document."""
  documents, sentence, width, bounded = [[]], Sentence(), 0, False
  for number, line in lines(path):
    columns = _SEPARATOR.split(line.strip(" \t")) if line.strip() else [""]
    if columns[0].startswith(BOUNDARY):
      documents.append([])
      bounded = True
    if columns[0].startswith(BOUNDARY) or not columns[0]:
      sentence = Sentence()
      continue
    width = width or len(columns)
    if not sentence.lines:
      documents[-1].append(sentence)
    sentence.lines.append(Line(number, columns[0], columns[-1] if width > 1 else ""))
    sentence.sound &= _sound(columns, width, f"{path}: line {number}", faults)
  if not bounded:
    documents = [[sentence] for sentence in documents[0]]
  return [document for document in documents if document]


def _sound(columns: Sequence[str], width: int, place: str, faults: Faults) -> bool:
  with faults.caught():
    if len(columns) != width:
      raise InputError(f"{place}: {len(columns)} columns; expected {width}, as in the first line")
    if width > 1:
      check_tag(columns[-1], place)
    return True
  return False


def has_tags(documents: Sequence[Document]) -> bool:
  """Whether the file that they are of has more columns than that of the words."""
  return any(sentence.lines[0].tag for document in documents for sentence in document)


def check_tags(path: Path, documents: Sequence[Document], faults: Faults) -> None:
  """Finds the tags that are not legal in the scheme of the file, which is that of the most."""
  sound = [sentence for document in documents for sentence in document if sentence.sound]
  scheme = scheme_of([sentence.tags for sentence in sound])
  for sentence in sound:
    for word, fault in illegal(sentence.tags, scheme):
      sentence.sound = False
      with faults.caught():
        raise InputError(f"{path}: line {sentence.lines[word].number}: {fault}")
