"""Columns of a file that hold the words and the tags, from the user's names or by a guess."""

import itertools
import re
import warnings
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.tasks.ner.tags import check_tag, is_tag

WORD, TAG, IGNORED = "word", "tag", "_"
COMMENT = "#"
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
  known = set(names) <= {WORD, TAG, IGNORED}
  if names and not (known and names.count(WORD) == 1 and names.count(TAG) <= 1):
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
  option = "--columns (in training --set task.columns) chooses another"
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
    remedy = f"--columns {chosen} (in training --set task.columns={chosen}) reads column"
    hint = f"; {remedy} {tag_columns[0] + 1} as tags"
    check_tag(rows[0].columns[layout.tag], f"{path}: line {rows[0].number}", hint)
