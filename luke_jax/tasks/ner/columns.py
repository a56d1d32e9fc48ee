"""Files of columns: a word and its tag on each line, empty lines between sentences."""

import dataclasses
import re
import warnings
from collections.abc import Sequence
from typing import NamedTuple

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.tasks.files import Faults, lines
from luke_jax.tasks.ner.joined import joined_blocks
from luke_jax.tasks.ner.layout import Block, Columns, FileLine, is_comment, layout_of
from luke_jax.tasks.ner.other_tools import check_separator
from luke_jax.tasks.ner.tags import REPAIR, check_tag, illegal, scheme_of

BOUNDARY = "-DOCSTART-"  # begins the line before a document
_SEPARATOR = re.compile(r"[ \t]+")  # other white space may be part of a word


class Line(NamedTuple):
  """A word and its tag, which is "" in a file of words alone."""

  number: int
  word: str
  tag: str


@dataclasses.dataclass
class Sentence:
  """Lines without an empty one between them; `sound` if they have no fault."""

  lines: list[Line] = dataclasses.field(default_factory=list)
  sound: bool = True

  @property
  def words(self) -> list[str]:
    """Returns the word of each line."""
    return [line.word for line in self.lines]

  @property
  def tags(self) -> list[str]:
    """Returns the tag of each line."""
    return [line.tag for line in self.lines]


Document = list[Sentence]


def read_columns(path: Path, faults: Faults, names: Sequence[str] = ()) -> list[Document]:
  """Returns the sentences of a file; without document boundaries each is a document.

  `names` are those of the columns: word, tag or _ for one that is not read; guessed by default.
  """
  blocks = joined_blocks(path) or _blocks(path)
  check_separator(path, [row.columns for block in blocks for row in block.rows])
  layout = layout_of(path, blocks, names)
  documents: list[Document] = [[]]
  for block in blocks:
    if block.boundary:
      documents.append([])
    elif sentence := _sentence(block.rows, layout, path, faults):
      documents[-1].append(sentence)
  if not any(block.boundary for block in blocks):
    documents = [[sentence] for sentence in documents[0]]
  return [document for document in documents if document]


def _blocks(path: Path) -> list[Block]:
  blocks: list[Block] = []
  follows = False
  for number, line in lines(path):
    columns = _SEPARATOR.split(line.strip(" \t")) if line.strip() else [""]
    counted = len(columns) > 1 and columns[0].isdigit() and columns[1].startswith(BOUNDARY)
    if counted or columns[0].startswith(BOUNDARY):
      blocks.append(Block([FileLine(number, columns)] if counted else [], boundary=True))
      follows = False
    elif not columns[0]:
      follows = False
    elif follows:
      blocks[-1].rows.append(FileLine(number, columns))
    else:
      blocks.append(Block([FileLine(number, columns)]))
      follows = True
  return blocks


def _sentence(
  rows: Sequence[FileLine], layout: Columns, path: Path, faults: Faults
) -> Sentence | None:
  sentence = Sentence()
  for row in rows:
    if not sentence.lines and is_comment(row, layout):
      continue
    # A line that is too short is a fault, so that its parts do not matter.
    word = row.columns[min(layout.word, len(row.columns) - 1)]
    tag = "" if layout.tag is None else row.columns[min(layout.tag, len(row.columns) - 1)]
    sentence.lines.append(Line(row.number, word, tag))
    sentence.sound &= _sound(row, layout, path, faults)
  return sentence if sentence.lines else None


def _sound(row: FileLine, layout: Columns, path: Path, faults: Faults) -> bool:
  place, columns = f"{path}: line {row.number}", row.columns
  with faults.caught():
    if len(columns) != layout.width:
      raise InputError(
        f"{place}: {len(columns)} columns; expected {layout.width}, as in {layout.source}"
      )
    if layout.tag is not None:
      check_tag(columns[layout.tag], place)
    return True
  return False


def has_tags(documents: Sequence[Document]) -> bool:
  """Returns whether the file of the documents has tags beside the words."""
  return any(sentence.lines[0].tag for document in documents for sentence in document)


def check_tags(
  path: Path, documents: Sequence[Document], faults: Faults, repair: bool = False
) -> None:
  """Reports the tags that are not legal in the file's scheme, which is that of most tags.

  With `repair` they are counted in a warning and stay, to be read as conlleval reads them.
  """
  sound = [sentence for document in documents for sentence in document if sentence.sound]
  scheme = scheme_of([sentence.tags for sentence in sound])
  repaired: list[str] = []
  for sentence in sound:
    for word, fault in illegal(sentence.tags, scheme):
      message = f"{path}: line {sentence.lines[word].number}: {fault}"
      if repair:
        repaired.append(message)
        continue
      sentence.sound = False
      with faults.caught():
        raise InputError(f"{message}; {REPAIR}")
  warn_repaired(path, repaired)


def warn_repaired(path: Path, repaired: Sequence[str]) -> None:
  """Warns of the number of tags that were read as conlleval reads them; names the first."""
  if repaired:
    first = repaired[0].removeprefix(f"{path}: ")
    warnings.warn(
      f"{path}: tags read as conlleval reads them: {len(repaired)}, the first in {first}",
      stacklevel=4,
    )
