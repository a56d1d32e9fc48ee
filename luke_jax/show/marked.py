"""A text with some of its stretches marked, each kind in a colour of its own."""

import html
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

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


def hues(names: Iterable[str]) -> dict[str, int]:
  """A hue for each name, different ones while there are enough; the same for the same names."""
  found: dict[str, int] = {}
  for name in sorted(set(names)):
    first = _number(name, len(HUES))
    turned = HUES[first:] + HUES[:first]
    found[name] = next((hue for hue in turned if hue not in found.values()), turned[0])
  return found


def joined(spans: Iterable[tuple[int, int, str]]) -> list[Mark]:
  """A mark for each place, with the labels of all spans that lie there."""
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
  """The text as HTML, marks inside marks where they overlap.

  A mark that ends inside another is drawn in two parts, the name behind the last. `styles` has for
  each mark more of its style.
  """
  colours = colours or hues(mark.name for mark in marks)
  parts: list[str] = []
  opened: list[int] = []  # numbers of the marks, from the outermost
  done = 0
  for place in sorted({edge for mark in marks for edge in (mark.start, mark.end)}):
    parts.append(html.escape(text[done:place]))
    done = place
    kept = next((i for i, n in enumerate(opened) if marks[n].end == place), len(opened))
    going_on = [n for n in opened[kept:] if marks[n].end > place]
    parts += [_end(marks[n], n in going_on) for n in reversed(opened[kept:])]
    starting = [n for n, mark in enumerate(marks) if mark.start == place < mark.end]
    opened = opened[:kept] + going_on + sorted(starting, key=lambda n: -marks[n].end)
    for depth, n in enumerate(opened[kept:], start=kept):
      cut = any(marks[outer].end < marks[n].end for outer in opened[:depth])
      kinds = ["span", *["came"] * (n in going_on), *["goes-on"] * cut]
      hue = f"--hue: {colours[marks[n].name]}{styles[n] if styles else ''}"
      parts.append(f'<mark class="{" ".join(kinds)}" style="{hue}">')
  return "".join([*parts, html.escape(text[done:])])


def _end(mark: Mark, goes_on: bool) -> str:
  named = mark.name and not goes_on
  return f"<small>&nbsp;{html.escape(mark.name)}</small></mark>" if named else "</mark>"


def terminal_text(text: str, marks: Sequence[Mark]) -> Text:
  """The text for the terminal; marks that lie in others are left out."""
  shown = Text()
  for piece, mark in _pieces(text, marks):
    if mark is None:
      shown.append(piece)
      continue
    colour = TERMINAL[_number(mark.name, len(TERMINAL))]
    # In brackets, for where no colours are.
    shown.append("[", f"dim {colour}")
    shown.append(piece, f"bold {colour}")
    shown.append(f" {mark.name}]" if mark.name else "]", f"dim {colour}")
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
