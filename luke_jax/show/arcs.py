"""Relations as arcs above their text."""

import html
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from luke_jax.errors import InputError
from luke_jax.show.drawn_text import ROOM, SIZE, Box, Rows, drawn, in_rows, text_width
from luke_jax.show.marked import hue
from luke_jax.show.picture import Picture
from luke_jax.tasks.predictions import Relation
from luke_jax.text.parts import checked_spans
from luke_jax.text.tokenizer import Bounds

# All lengths are in CSS pixels.
WIDTHS = {"roomy": 690.0, "narrow": 330.0}  # of rows, for screens and for phones
LANE, LABEL, CURVE, ARROW = 24.0, 12.0, 8.0, 6.0
LINE = 34.0  # height of a row: text, box and the space below


class Arc(NamedTuple):
  """Relation of two mentions, head and tail."""

  mentions: tuple[Bounds, Bounds]
  label: str
  caption: str  # the label, with its score if it has one


class Segment(NamedTuple):
  """Part of an arc above one row; an end in another row is drawn at the edge of this one."""

  arc: int
  head: float
  tail: float
  starts: bool  # whether the head is in this row
  arrives: bool  # whether the tail is
  caption: str = ""

  def reach(self, width: float) -> tuple[float, float, float]:
    """Returns the left and right end of line and caption together, and the caption's middle."""
    caption = text_width(self.caption, LABEL)
    middle = (self.head + self.tail) / 2
    middle = min(max(middle, caption / 2), max(width - caption / 2, caption / 2))
    ends = (self.head, self.tail, middle - caption / 2, middle + caption / 2)
    return min(ends), max(ends), middle


def relations(text: str, relations: Relation | Sequence[object]) -> Picture:
  """Draws a text with its relations, each an arc from head to tail.

  `relations` are what `model.predict` returns, or ((start, end), (start, end), label). Wide and
  narrow screens get rows of different lengths.
  """
  sequence = [relations] if isinstance(relations, Relation) else relations
  arcs = [_arc(relation, text, f"relation {n}") for n, relation in enumerate(sequence)]
  mentions = list(dict.fromkeys(mention for arc in arcs for mention in arc.mentions))
  drawings = {name: in_rows(text, mentions, width) for name, width in WIDTHS.items()}
  if drawings["roomy"].width <= WIDTHS["narrow"] and len(drawings["roomy"].rows) == 1:
    drawings = {"": drawings["roomy"]}
  parts = [_drawing(rows, arcs, name) for name, rows in drawings.items()]
  return Picture(f'<div class="wide">{"".join(parts)}</div>', text[:60])


def _arc(relation: object, text: str, where: str) -> Arc:
  score = ""
  if isinstance(relation, Relation):
    head, tail = relation.head, relation.tail
    score = f" {relation.score:.2f}"
    relation = ((head.start, head.end), (tail.start, tail.end), relation.label)
  if not isinstance(relation, tuple | list) or len(relation) != 3:
    raise InputError(f"{where}: {relation!r}; expected (head, tail, label)")
  head, tail = checked_spans(relation[:2], len(text), where)
  label = str(relation[2])
  return Arc((head, tail), label, label + score)


def _drawing(rows: Rows, arcs: Sequence[Arc], name: str) -> str:
  above = [_lanes(segments, rows.width) for segments in _segments(rows, arcs)]
  parts, y = [], 0.0
  for number, (pieces, segments) in enumerate(zip(rows.rows, above, strict=True)):
    lanes = 1 + max((lane for lane, _ in segments), default=-1)
    base = y + lanes * LANE + (LABEL if lanes else 0)
    boxes = [box for box in rows.boxes.values() if box.row == number]
    parts += [_box(box, base) for box in sorted(boxes, key=lambda box: box.left - box.right)]
    parts += [drawn(piece, base + SIZE + ROOM) for piece in pieces]
    for lane, segment in reversed(segments):
      arc, height = arcs[segment.arc], base - (lane + 1) * LANE
      parts.append(_line(segment, (base, height, rows.width), hue(arc.label)))
    y = base + LINE
  width, height = rows.width + 2, y
  size = f'width="{width:.0f}" height="{height:.0f}" viewBox="-1 0 {width:.0f} {height:.0f}"'
  return f'<svg class="{name}" {size}>{"".join(parts)}</svg>'


def _box(box: Box, base: float) -> str:
  size = f'x="{box.left:.1f}" y="{base:.1f}" width="{box.right - box.left:.1f}" height="26"'
  return f'<rect class="mention" {size} rx="5"/>'


def _segments(rows: Rows, arcs: Sequence[Arc]) -> list[list[Segment]]:
  """Returns for each row the segments above it."""
  ends = _ends(rows, arcs)
  segments: list[list[Segment]] = [[] for _ in rows.rows]
  for number, arc in enumerate(arcs):
    parts = []
    first, last = (rows.boxes[mention].row for mention in arc.mentions)
    forward = first <= last
    for row in range(min(first, last), max(first, last) + 1):
      starts, arrives = row == first, row == last
      head = ends[number, 0] if starts else (0.0 if forward else rows.edge)
      tail = ends[number, 1] if arrives else (rows.edge if forward else 0.0)
      parts.append((row, Segment(number, head, tail, starts, arrives)))
    for row, segment in _captioned(parts, arc.caption):
      segments[row].append(segment)
  return segments


def _captioned(parts: Sequence[tuple[int, Segment]], caption: str) -> Iterator[tuple[int, Segment]]:
  """Yields the segments, with the caption on those that have room for it and on the longest."""
  lengths = [abs(segment.head - segment.tail) for _, segment in parts]
  least = min(max(lengths), text_width(caption, LABEL) + 3 * CURVE)
  for (row, segment), length in zip(parts, lengths, strict=True):
    yield row, segment._replace(caption=caption if length >= least else "")


def _ends(rows: Rows, arcs: Sequence[Arc]) -> dict[tuple[int, int], float]:
  """Returns the ends of arcs at their mentions, side by side in an order that avoids crossings."""
  meeting: dict[Bounds, list[tuple[bool, float, int, int]]] = {}
  for number, arc in enumerate(arcs):
    for side in (0, 1):
      box, other = (rows.boxes[arc.mentions[x]] for x in (side, 1 - side))
      distance = (other.row - box.row) * 1e6 + other.left - box.left
      rightward = distance > 0 or (distance == 0 and side == 0)
      meeting.setdefault(arc.mentions[side], []).append((rightward, -distance, number, side))
  ends = {}
  for mention, arcs_here in meeting.items():
    box = rows.boxes[mention]
    step = min(14.0, (box.right - box.left) / (len(arcs_here) + 1))
    for place, (_, _, number, side) in enumerate(sorted(arcs_here)):
      middle = (box.left + box.right) / 2
      ends[number, side] = middle + step * (place - (len(arcs_here) - 1) / 2)
  return ends


def _lanes(segments: Sequence[Segment], width: float) -> list[tuple[int, Segment]]:
  """Returns each segment with its lane above the row; shorter ones lie lower, and none overlap."""
  lanes: list[list[tuple[float, float]]] = []
  placed = []
  for segment in sorted(segments, key=lambda s: abs(s.head - s.tail)):
    left, right, _ = segment.reach(width)
    free = (
      n for n, lane in enumerate(lanes) if all(right + ROOM < a or b + ROOM < left for a, b in lane)
    )
    lane = next(free, len(lanes))
    lanes += [[]] * (lane == len(lanes))
    lanes[lane] = [*lanes[lane], (left, right)]
    placed.append((lane, segment))
  return placed


def _line(segment: Segment, at: tuple[float, float, float], colour: int) -> str:
  """Returns SVG for a line up from the head, across, and down to the tail, with its caption."""
  base, height, width = at
  _, head, tail, starts, arrives, _ = segment
  turn = min(CURVE, abs(tail - head) / 2) * (1 if tail >= head else -1)
  path = f"M{head:.1f} {height:.1f}"
  if starts:
    path = f"M{head:.1f} {base:.1f}V{height + CURVE:.1f}Q{head:.1f} {height:.1f}"
    path += f" {head + turn:.1f} {height:.1f}"
  path += f"H{tail - turn if arrives else tail:.1f}"
  arrow = ""
  if arrives:
    path += f"Q{tail:.1f} {height:.1f} {tail:.1f} {height + CURVE:.1f}V{base - ARROW:.1f}"
    corners = f"M{tail - ARROW / 1.5:.1f} {base - ARROW - 1:.1f}h{ARROW / 0.75:.1f}L{tail:.1f}"
    arrow = f'<path class="arrow" d="{corners} {base:.1f}Z"/>'
  caption = ""
  if segment.caption:
    place = f'x="{segment.reach(width)[2]:.1f}" y="{height + 4:.1f}"'
    caption = f'<text class="label" {place}>{html.escape(segment.caption)}</text>'
  return f'<g style="--hue: {colour}"><path class="arc" d="{path}"/>{arrow}{caption}</g>'
