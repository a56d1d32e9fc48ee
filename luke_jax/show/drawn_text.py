"""Text in SVG: estimated widths, and words in rows with mentions as boxes.

Text cannot be measured before a browser shows it, so widths are estimated, and the browser is made
to draw each fragment at its estimated width.
"""

import html
import itertools
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from luke_jax.text.tokenizer import Bounds

NARROW, SLIM, BROAD = frozenset("iljI.,:;'|!"), frozenset('frt()[]{}-"/ '), frozenset("mwMW@%—")
SIZE = 16  # of letters, in CSS pixels, as all lengths here
ROOM = 4  # padding at both sides of a mention's box


class Fragment(NamedTuple):
  """Part of a text, drawn `x` to the right of its row's left edge."""

  text: str
  x: float
  width: float


class Box(NamedTuple):
  """Row and horizontal extent of a mention."""

  row: int
  left: float
  right: float


class Rows(NamedTuple):
  """Text in rows, with the boxes of its mentions."""

  rows: list[list[Fragment]]
  boxes: dict[Bounds, Box]
  width: float
  edge: float  # right edge of rows, except those that could not be broken


def text_width(text: str, size: float = SIZE) -> float:
  """Returns the estimated width of a text in a proportional font."""
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


def drawn(fragment: Fragment, y: float) -> str:
  """Returns a fragment as SVG."""
  text = html.escape("".join(" " if letter.isspace() else letter for letter in fragment.text))
  fitted = f'textLength="{fragment.width:.1f}" lengthAdjust="spacingAndGlyphs"'
  return f'<text x="{fragment.x:.1f}" y="{y:.1f}" {fitted}>{text}</text>'


def in_rows(text: str, mentions: Sequence[Bounds], width: float) -> Rows:
  """Breaks a text into rows of at most `width`; only a word or mention alone may be wider."""
  edges = sorted({edge for mention in mentions for edge in mention})
  rows: list[list[Fragment]] = [[]]
  # By character: the row and x where a fragment starts, and the x where one ends.
  starts: dict[int, tuple[int, float]] = {}
  ends: dict[int, float] = {}
  x, done = 0.0, 0
  for start, end in _words(text, mentions):
    points = sorted({start, end, *(edge for edge in edges if start < edge < end)})
    fragments = list(itertools.pairwise(points))
    room = ROOM * sum((left in edges) + (right in edges) for left, right in fragments)
    x += text_width(text[done:start][-1:]) if rows[-1] else 0.0
    if rows[-1] and ("\n" in text[done:start] or x + text_width(text[start:end]) + room > width):
      rows.append([])
      x = 0.0
    done = end
    for left, right in fragments:
      starts[left] = (len(rows) - 1, x)
      x += ROOM * (left in edges)
      rows[-1].append(Fragment(text[left:right], x, text_width(text[left:right])))
      x += rows[-1][-1].width + ROOM * (right in edges)
      ends[right] = x
  boxes = {(start, end): Box(*starts[start], ends[end]) for start, end in mentions}
  widest = max((row[-1].x + row[-1].width + ROOM for row in rows if row), default=0.0)
  return Rows(rows, boxes, widest, min(width, widest))


def _words(text: str, mentions: Sequence[Bounds]) -> Iterator[Bounds]:
  """Yields the spans between white space; white space inside a mention does not separate."""
  inside = {place for start, end in mentions for place in range(start, end)}
  start = None
  for place, letter in enumerate(text):
    separates = letter.isspace() and place not in inside
    if separates and start is not None:
      yield start, place
      start = None
    elif not separates and start is None:
      start = place
  if start is not None:
    yield start, len(text)
