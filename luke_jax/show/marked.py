"""Texts with marked spans, each kind in a colour of its own."""

import html
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.text import Text

from luke_jax.tasks.evaluation import Mark

# Hues that are easy to distinguish; names stand beside them for people who are colour-blind.
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


def hues(names: Iterable[str]) -> dict[str, int]:
  """Returns a hue for each name, different while there are enough; equal sets get equal hues."""
  chosen: dict[str, int] = {}
  for name in sorted(set(names)):
    first = _number(name, len(HUES))
    turned = HUES[first:] + HUES[:first]
    chosen[name] = next((hue for hue in turned if hue not in chosen.values()), turned[0])
  return chosen


def joined(spans: Iterable[tuple[int, int, str]]) -> list[Mark]:
  """Returns one mark for each span, with the labels of all predictions on it."""
  names: dict[tuple[int, int], list[str]] = {}
  for start, end, label in spans:
    names.setdefault((start, end), []).append(label)
  return [Mark(*place, ", ".join(dict.fromkeys(labels))) for place, labels in names.items()]


def html_text(
  text: str,
  marks: Sequence[Mark],
  colours: Mapping[str, int] | None = None,
  styles: Sequence[str] = (),
) -> str:
  """Returns the text as HTML, with marks inside marks where they overlap.

  A mark that ends inside another is drawn in two parts, with the name after the last. `styles` adds
  to the style of each mark.
  """
  colours = colours or hues(mark.name for mark in marks)
  parts: list[str] = []
  opened: list[int] = []  # numbers of the marks, from the outermost
  done = 0
  for place in sorted({edge for mark in marks for edge in (mark.start, mark.end)}):
    parts.append(html.escape(text[done:place]))
    done = place
    first_changed = next((i for i, n in enumerate(opened) if marks[n].end == place), len(opened))
    continued = [n for n in opened[first_changed:] if marks[n].end > place]
    parts += [_end(marks[n], n in continued) for n in reversed(opened[first_changed:])]
    starting = [n for n, mark in enumerate(marks) if mark.start == place < mark.end]
    opened = opened[:first_changed] + continued + sorted(starting, key=lambda n: -marks[n].end)
    for depth, n in enumerate(opened[first_changed:], start=first_changed):
      cut = any(marks[outer].end < marks[n].end for outer in opened[:depth])
      kinds = ["span", *["continued"] * (n in continued), *["continues"] * cut]
      hue = f"--hue: {colours[marks[n].name]}{styles[n] if styles else ''}"
      parts.append(f'<mark class="{" ".join(kinds)}" style="{hue}">')
  return "".join([*parts, html.escape(text[done:])])


def _end(mark: Mark, continues: bool) -> str:
  has_name = mark.name and not continues
  return f"<small>&nbsp;{html.escape(mark.name)}</small></mark>" if has_name else "</mark>"


def terminal_text(text: str, marks: Sequence[Mark]) -> Text:
  """Returns the text for the terminal; marks inside others are left out."""
  shown = Text()
  for part, mark in _parts(text, marks):
    if mark is None:
      shown.append(part)
      continue
    colour = TERMINAL[_number(mark.name, len(TERMINAL))]
    # In brackets, for terminals without colours.
    shown.append("[", f"dim {colour}")
    shown.append(part, f"bold {colour}")
    shown.append(f" {mark.name}]" if mark.name else "]", f"dim {colour}")
  return shown


def _parts(text: str, marks: Sequence[Mark]) -> Iterator[tuple[str, Mark | None]]:
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
  """Returns a number below `count` that depends on the name alone."""
  return zlib.crc32(name.encode()) % count
