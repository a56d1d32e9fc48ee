"""Files of columns: a word and its tag on each line, empty lines between sentences.

Which columns hold the words and the tags is said by the user, or guessed.
"""

import dataclasses
import itertools
import re
import warnings
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats.files import Faults, lines, rows_of
from luke_jax.tasks.ner.tags import REPAIR, check_tag, illegal, is_tag, scheme_of

WORD, TAG, IGNORED = "word", "tag", "_"
COMMENT = "#"
# Names of columns in a header: the word, its tag, and the number of its sentence.
HEADERS = (
  ("word", "token"),
  ("tag", "ner_tag", "label"),
  ("sentence #", "sentence_id", "sentence", "sentence_number"),
)
_NUMBER = re.compile(r"[-+]?\d[\d.,-]*")


class FileLine(NamedTuple):
  """A non-empty line, in columns."""

  number: int
  columns: list[str]


class Block(NamedTuple):
  """Lines without an empty one between them, or the line that begins a document.

  Such a line is among the rows only if a number of the line precedes it.
  """

  rows: list[FileLine]
  boundary: bool = False


class Columns(NamedTuple):
  """Width of the lines and the columns that are read, from 0; `tag` is None for words alone."""

  width: int
  word: int
  tag: int | None
  source: str  # the origin of the width, for messages
  indexed: bool = False  # columns before the words number the lines


def check_names(names: Sequence[str]) -> None:
  """Raises InputError for names of columns that do not say which holds the words."""
  are_names = set(names) <= {WORD, TAG, IGNORED}
  if names and not (are_names and names.count(WORD) == 1 and names.count(TAG) <= 1):
    raise InputError(
      f"columns: {','.join(names)!r}; expected word once, tag at most once and _ for columns that"
      " are not read, such as _,word,_,tag"
    )


def layout_of(path: Path, blocks: Sequence[Block], names: Sequence[str]) -> Columns:
  """Returns the layout that `names` give or, without any, the one that the lines show.

  The last column holds the tags and the first the words, after columns that number the lines. Warns
  if the words are in another column than the first, or are nothing but numbers.
  """
  if names:
    tag = names.index(TAG) if TAG in names else None
    return Columns(len(names), names.index(WORD), tag, f"columns {','.join(names)}")
  if any(row.columns[0] != COMMENT for row in _rows(blocks)):
    blocks = [
      Block([row for row in block.rows if row.columns[0] != COMMENT], block.boundary)
      for block in blocks
    ]
  rows = _rows(blocks)
  if not rows:
    return Columns(1, 0, None, "the first line")
  layout = _guess(blocks, len(rows[0].columns))
  rows = [row for row in rows if len(row.columns) == layout.width]
  _check_tag_column(path, rows, layout)
  _warn(path, rows, layout)
  return layout


def is_comment(row: FileLine, layout: Columns) -> bool:
  """Returns whether a line before a sentence is a comment, as CoNLL-U has them, and no word."""
  if row.columns[0] != COMMENT:
    return False
  if layout.indexed or len(row.columns) != layout.width:
    return True
  return layout.tag is not None and not is_tag(row.columns[layout.tag])


def _rows(blocks: Sequence[Block]) -> list[FileLine]:
  return [row for block in blocks if not block.boundary for row in block.rows]


def _guess(blocks: Sequence[Block], width: int) -> Columns:
  def counts(column: int) -> bool:
    in_sentences = (place for block in blocks for place in enumerate(block.rows))
    in_file = enumerate(itertools.chain.from_iterable(block.rows for block in blocks))
    return any(_count(places, column, width) for places in (in_sentences, in_file))

  source = "the first line"
  last = (row.columns[-1] for block in blocks for row in block.rows if len(row.columns) == width)
  if width == 2 and counts(0) and not any(map(is_tag, last)):
    return Columns(width, 1, None, source, indexed=True)
  tag = width - 1 if width > 1 else None
  word = next((column for column in range(width - 1) if not counts(column)), max(width - 2, 0))
  return Columns(width, word, tag, source, indexed=word > 0)


def _count(places: Iterable[tuple[int, FileLine]], column: int, width: int) -> bool:
  """Returns whether a column has the places of all lines, from 0 or from 1.

  Lines of another width, which are faults, only take a place. One place alone proves nothing.
  """
  base, last = None, 0
  for place, row in places:
    if len(row.columns) != width:
      continue
    if base is None:
      base = 1 if row.columns[column] == str(place + 1) else 0
    if row.columns[column] != str(place + base):
      return False
    last = max(last, place)
  return last > 0


def _warn(path: Path, rows: Sequence[FileLine], layout: Columns) -> None:
  option = "--columns chooses another"
  message = f"column {layout.word + 1} is read as words"
  if layout.indexed:
    before = "column 1 numbers" if layout.word == 1 else f"columns 1 to {layout.word} number"
    warnings.warn(f"{path}: {message}, since {before} the lines; {option}", stacklevel=4)
  elif len(rows) > 1 and all(_NUMBER.fullmatch(row.columns[0]) for row in rows):
    remedy = f"; {option}" if layout.width > 2 else ""
    warnings.warn(f"{path}: {message}, and holds numbers only{remedy}", stacklevel=4)


def _check_tag_column(path: Path, rows: Sequence[FileLine], layout: Columns) -> None:
  """Raises InputError if the last column has no tag at all, and exactly one other nothing else."""
  if layout.tag is None or any(is_tag(row.columns[layout.tag]) for row in rows):
    return
  tag_columns = [
    column for column in range(layout.width) if all(is_tag(row.columns[column]) for row in rows)
  ]
  if len(tag_columns) == 1:
    names = [IGNORED] * layout.width
    names[tag_columns[0]] = TAG
    names[layout.word if layout.word != tag_columns[0] else names.index(IGNORED)] = WORD
    chosen = ",".join(names)
    remedy = f"--columns {chosen} reads column"
    hint = f"; {remedy} {tag_columns[0] + 1} as tags"
    check_tag(rows[0].columns[layout.tag], f"{path}: line {rows[0].number}", hint)


JOINTS = ("\x02", "^B")  # between characters, and between tags
_HEADER = {"text_a", "label"}


def joined_blocks(path: Path) -> list[Block]:
  """Returns the rows of a table with the columns text_a and label; none for another file."""
  names: list[str] = []
  blocks: list[Block] = []
  for number, line in lines(path):
    fields = line.split("\t")
    if not names:
      if not set(fields) >= _HEADER:
        return []
      names = fields
    elif line.strip():
      blocks.append(_joined_block(f"{path}: line {number}", number, names, fields))
  return blocks


def _joined_block(place: str, number: int, names: list[str], fields: list[str]) -> Block:
  if len(fields) != len(names):
    raise InputError(f"{place}: {len(fields)} columns; expected {len(names)}: {', '.join(names)}")
  row = dict(zip(names, fields, strict=True))
  joint = next((x for x in JOINTS if x in row["label"]), JOINTS[0])
  words, tags = row["text_a"].split(joint), row["label"].split(joint)
  if len(words) != len(tags):
    raise InputError(
      f"{place}: {len(words)} characters and {len(tags)} tags; expected as many, joined by the"
      " control character 2"
    )
  return Block([FileLine(number, list(pair)) for pair in zip(words, tags, strict=True)])


BOUNDARY = "-DOCSTART-"  # begins the line before a document
_COMMA_AND_TAG = re.compile(r'[,;]"?(O|[BIES]-[^\s,;]+)"?')
# Other white space may be part of a word, and so may a space where lines have tabs.
_SEPARATOR, _TABS = re.compile(r"[ \t]+"), re.compile(r" *\t[ \t]*")


class Line(NamedTuple):
  """A word and its tag, which is "" in a file of words alone."""

  number: int
  word: str
  tag: str


@dataclasses.dataclass
class SentenceLines:
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


Document = list[SentenceLines]


def read_columns(path: Path, faults: Faults, names: Sequence[str] = ()) -> list[Document]:
  """Returns the sentences of a file; without document boundaries each is a document.

  `names` are those of the columns: word, tag or _ for one that is not read; guessed by default.
  """
  if table := _table(path):
    blocks, layout = table
  else:
    blocks = joined_blocks(path) or _blocks(path)
    _check_separator(path, [row.columns for block in blocks for row in block.rows])
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


def _table(path: Path) -> tuple[list[Block], Columns] | None:
  """Returns the words and tags of comma-separated values by their header; None if it has none.

  A sentence ends where its column has another number, or name.
  """
  if path.suffix != ".csv":
    return None
  rows = rows_of(path)
  _, header = next(rows, (0, []))
  names = [name.strip().strip("\ufeff").lower() for name in header]
  word, tag, sentence = (
    next((names.index(name) for name in headers if name in names), None) for headers in HEADERS
  )
  if word is None or tag is None or sentence is None:
    return None
  blocks: list[Block] = []
  last = ""
  for number, row in rows:
    if len(row) != len(header):
      fields = f"{len(row)} fields; expected {len(header)}, as in the header"
      raise InputError(f"{path}: line {number}: {fields}")
    key = row[sentence] or last  # some write it at the first word only
    if not blocks or key != last:
      blocks.append(Block([]))
    last = key
    blocks[-1].rows.append(FileLine(number, [row[word], row[tag].strip()]))
  return blocks, Columns(2, 0, 1, "the header")


def _check_separator(path: Path, rows: Sequence[Sequence[str]]) -> None:
  """Raises InputError if lines that were split at spaces and tabs are comma-separated values."""
  if path.suffix == ".csv":
    comma_separated = rows and re.search("[,;]", " ".join(rows[0])) and not is_tag(rows[0][-1])
  else:
    # The first line may name the columns.
    ends = (len(row) == 1 and _COMMA_AND_TAG.search(row[0]) for row in rows[1:])
    comma_separated = len(rows) > 2 and all(ends)
  if comma_separated:
    header = " ".join(rows[0]).lower()
    whole_texts = " (texts with a label each are of classification)" if "text" in header else ""
    raise InputError(
      f"{path}: comma-separated values{whole_texts}; expected a header with sentence_id, word and"
      " tag; or tabs or spaces between a word and its tag, and an empty line after each sentence;"
      " or JSON lines with tokens and ner_tags"
    )


def _blocks(path: Path) -> list[Block]:
  blocks: list[Block] = []
  follows = False
  numbered = list(lines(path))
  alike = len({len(_columns(line, True)) for _, line in numbered if line.strip()}) == 1
  for number, line in numbered:
    columns = _columns(line, alike)
    begins = bool(columns) and columns[0].startswith(BOUNDARY)
    counted = len(columns) > 1 and columns[0].isdigit() and columns[1].startswith(BOUNDARY)
    if counted or begins:
      blocks.append(Block([FileLine(number, columns)] if counted else [], boundary=True))
      follows = False
    elif not columns:
      follows = False
    elif follows:
      blocks[-1].rows.append(FileLine(number, columns))
    else:
      blocks.append(Block([FileLine(number, columns)]))
      follows = True
  return blocks


def _columns(line: str, at_all: bool) -> list[str]:
  """Returns the columns of a line, none of an empty one, split at all separators or at tabs alone.

  Before a first tab there may be no word, which is a fault.
  """
  stripped = line.strip(" \t") if at_all else line.strip(" ").rstrip(" \t")
  if not line.strip():
    return []
  return (_SEPARATOR if at_all or "\t" not in stripped else _TABS).split(stripped)


def _sentence(
  rows: Sequence[FileLine], layout: Columns, path: Path, faults: Faults
) -> SentenceLines | None:
  sentence = SentenceLines()
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
    if not columns[layout.word]:
      raise InputError(f"{place}: no word; expected one before the tag")
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
