"""Text in drawings: how wide it is, and its words in rows with mentions as boxes.

Nothing measures text before a browser shows it, so widths are estimated, and the browser is told to
draw each piece as wide as was estimated.
"""

import html
import itertools
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from luke_jax.text.special_tokens import Span

NARROW, SLIM, BROAD = frozenset("iljI.,:;'|!"), frozenset('frt()[]{}-"/ '), frozenset("mwMW@%—")
SIZE = 16  # of letters
ROOM = 4  # beside a mention, in its box


class Piece(NamedTuple):
  """Some of a text, and how far from its row's left edge it begins."""

  text: str
  x: float
  width: float


class Box(NamedTuple):
  """Where a mention lies."""

  row: int
  left: float
  right: float


class Rows(NamedTuple):
  """A text in rows, and the boxes of its mentions."""

  rows: list[list[Piece]]
  boxes: dict[Span, Box]
  width: float
  edge: float  # where rows end, but for those that are wider


def text_width(text: str, size: float = SIZE) -> float:
  """About how wide a text is in a proportional font."""
  return size * sum(map(_em, text))


def _em(letter: str) -> float:
  if letter in NARROW:
    return 0.28
  if letter in SLIM:
    return 0.36
  if letter in BROAD:
    return 0.88
  if unicodedata.combining(letter) or unicodedata.category(letter) in ("Cf", "Mn"):
    return 0.0
  if unicodedata.east_asian_width(letter) in "WF":
    return 1.05
  return 0.7 if letter.isupper() else 0.58


def drawn(piece: Piece, y: float) -> str:
  """A piece as SVG."""
  text = html.escape("".join(" " if letter.isspace() else letter for letter in piece.text))
  fitted = f'textLength="{piece.width:.1f}" lengthAdjust="spacingAndGlyphs"'
  return f'<text x="{piece.x:.1f}" y="{y:.1f}" {fitted}>{text}</text>'


def in_rows(text: str, mentions: Sequence[Span], width: float) -> Rows:
  """The text in rows of that width; only what has no place to break is wider."""
  edges = sorted({edge for mention in mentions for edge in mention})
  rows: list[list[Piece]] = [[]]
  starts: dict[int, tuple[int, float]] = {}  # row and place of what begins and ends at an edge
  ends: dict[int, float] = {}
  x, done = 0.0, 0
  for start, end in _words(text, mentions):
    points = sorted({start, end, *(edge for edge in edges if start < edge < end)})
    pieces = list(itertools.pairwise(points))
    room = ROOM * sum((left in edges) + (right in edges) for left, right in pieces)
    x += text_width(text[done:start][-1:]) if rows[-1] else 0.0
    if rows[-1] and ("\n" in text[done:start] or x + text_width(text[start:end]) + room > width):
      rows.append([])
      x = 0.0
    done = end
    for left, right in pieces:
      starts[left] = (len(rows) - 1, x)
      x += ROOM * (left in edges)
      rows[-1].append(Piece(text[left:right], x, text_width(text[left:right])))
      x += rows[-1][-1].width + ROOM * (right in edges)
      ends[right] = x
  boxes = {(start, end): Box(*starts[start], ends[end]) for start, end in mentions}
  widest = max((row[-1].x + row[-1].width + ROOM for row in rows if row), default=0.0)
  return Rows(rows, boxes, widest, min(width, widest))


def _words(text: str, mentions: Sequence[Span]) -> Iterator[Span]:
  """What stands between white space; a mention's own white space divides nothing."""
  inside = {place for start, end in mentions for place in range(start, end)}
  start = None
  for place, letter in enumerate(text):
    divides = letter.isspace() and place not in inside
    if divides and start is not None:
      yield start, place
      start = None
    elif not divides and start is None:
      start = place
  if start is not None:
    yield start, len(text)
