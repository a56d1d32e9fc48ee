"""A text with some of its stretches marked, each kind in a colour of its own."""

import html
import zlib
from collections.abc import Iterator, Sequence

from rich.text import Text

from luke_jax.tasks.evaluation import Mark

# Hues that can be told apart, also by most who are colour-blind when they stand beside their names.
HUES = (210, 30, 130, 330, 265, 55, 180, 0, 95, 290)
TERMINAL = (
  "cyan",
  "yellow",
  "green",
  "magenta",
  "blue",
  "bright_red",
  "bright_cyan",
  "bright_green",
)


def html_text(text: str, marks: Sequence[Mark]) -> str:
  """The text as HTML; marks that lie in others are left out."""
  parts = []
  for piece, mark in _pieces(text, marks):
    inside = html.escape(piece)
    if mark is None:
      parts.append(inside)
      continue
    hue = HUES[_number(mark.name, len(HUES))]
    name = f"<small>{html.escape(mark.name)}</small>" if mark.name else ""
    parts.append(f'<mark class="span" style="--hue: {hue}">{inside} {name}</mark>')
  return "".join(parts)


def terminal_text(text: str, marks: Sequence[Mark]) -> Text:
  """The text for the terminal."""
  shown = Text()
  for piece, mark in _pieces(text, marks):
    if mark is None:
      shown.append(piece)
      continue
    colour = TERMINAL[_number(mark.name, len(TERMINAL))]
    shown.append(piece, f"bold {colour}")
    shown.append(f" {mark.name}" if mark.name else "", f"dim {colour}")
  return shown


def _pieces(text: str, marks: Sequence[Mark]) -> Iterator[tuple[str, Mark | None]]:
  done = 0
  for mark in sorted(marks, key=lambda mark: (mark.start, -mark.end)):
    if mark.start < done:
      continue
    if mark.start > done:
      yield text[done : mark.start], None
    yield text[mark.start : mark.end], mark
    done = mark.end
  if done < len(text):
    yield text[done:], None


def _number(name: str, count: int) -> int:
  """The same for a name everywhere, whatever others there are."""
  return zlib.crc32(name.encode()) % count
