"""Texts with marked spans, each label in its colour."""

import html
from collections.abc import Callable, Iterable, Sequence

from rich.text import Text

from luke_jax.show.colours import hue, terminal_colour
from luke_jax.tasks.evaluation import Mark, Outcome
from luke_jax.text.special_tokens import Bounds

# Signs of what was predicted, so that colours need not be seen.
SIGNS: dict[Outcome, str] = {"": "", "right": "✓", "wrong": "✗", "missed": "missing"}
MEANINGS: dict[Outcome, str] = {
  "right": "predicted, and right",
  "wrong": "predicted, but wrong",
  "missed": "not predicted, but gold",
}

Places = dict[Bounds, list[Mark]]  # marks by the stretch that they are on


def _colour(mark: Mark) -> str:
  return f"--hue: {hue(mark.name)}"


def html_text(text: str, marks: Sequence[Mark], style: Callable[[Mark], str] = _colour) -> str:
  """Returns the text as HTML, with marks inside marks where they overlap.

  Marks of one place are drawn as one, in the style of the first and with the names of all. A mark
  that ends inside another is drawn in two parts, with the names after the last.
  """
  places = _places(marks)
  parts: list[str] = []
  opened: list[Bounds] = []  # from the outermost
  done = 0
  for edge in sorted({edge for place in places for edge in place}):
    parts.append(html.escape(text[done:edge]))
    done = edge
    first_changed = next((i for i, (_, end) in enumerate(opened) if end == edge), len(opened))
    continued = [place for place in opened[first_changed:] if place[1] > edge]
    closed = reversed(opened[first_changed:])
    parts += [_end([] if place in continued else places[place]) for place in closed]
    starting = [place for place in places if place[0] == edge]
    opened = opened[:first_changed] + continued + sorted(starting, key=lambda place: -place[1])
    for depth, place in enumerate(opened[first_changed:], start=first_changed):
      cut = any(end < place[1] for _, end in opened[:depth])
      kinds = ["continued"] * (place in continued) + ["continues"] * cut
      parts.append(_start(places[place], kinds, style(places[place][0])))
  return "".join([*parts, html.escape(text[done:])])


def _places(marks: Iterable[Mark]) -> Places:
  """Returns the marks of each place, those that are drawn alike once."""
  places: Places = {}
  for mark in dict.fromkeys(marks):
    if mark.start < mark.end:
      places.setdefault((mark.start, mark.end), []).append(mark)
  return places


def _start(marks: Sequence[Mark], kinds: Sequence[str], style: str) -> str:
  outcomes = {mark.outcome for mark in marks}
  shown = [outcome for outcome in ("wrong", "right", "missed") if outcome in outcomes][:1]
  return f'<mark class="{" ".join(["span", *kinds, *shown])}" style="{style}">'


def _end(marks: Sequence[Mark]) -> str:
  """Returns the names as HTML, each with its sign; the first has the colour of the mark."""
  tags = []
  for number, mark in enumerate(marks):
    style = f' style="{_colour(mark)}"' if number else ""
    sign = f"{html_sign(mark.outcome)}&nbsp;" if mark.outcome else ""
    tags.append(f"<small{style}>&nbsp;{sign}{html.escape(mark.name)}&nbsp;</small>")
  return "<wbr>".join(tags) + "</mark>"


def html_sign(outcome: Outcome) -> str:
  """Returns the sign of an outcome as HTML that is read out as a word."""
  sign = SIGNS[outcome]
  return sign if sign.isalpha() else f'<i role="img" aria-label="{outcome}">{sign}</i>'


def terminal_text(text: str, marks: Sequence[Mark]) -> Text:
  """Returns the text for the terminal, with brackets around marks and their names at the end."""
  places = _places(marks)
  shown = Text()
  opened: list[Bounds] = []  # from the outermost
  done = 0
  for edge in sorted({edge for place in places for edge in place}):
    shown.append(text[done:edge], _bold(places, opened))
    done = edge
    for place in reversed([place for place in opened if place[1] == edge]):
      shown.append_text(_names(places[place]))
    opened = [place for place in opened if place[1] > edge]
    for place in sorted((p for p in places if p[0] == edge), key=lambda place: -place[1]):
      shown.append("[", f"dim {terminal_colour(places[place][0].name)}")
      opened.append(place)
  return shown.append(text[done:])


def _bold(places: Places, opened: Sequence[Bounds]) -> str:
  return f"bold {terminal_colour(places[opened[-1]][0].name)}" if opened else ""


def _names(marks: Sequence[Mark]) -> Text:
  """Returns the names of a place's marks, with signs of their outcomes, and a bracket."""
  names = Text()
  for number, mark in enumerate(marks):
    colour = f"dim {terminal_colour(mark.name)}"
    sign = f"{SIGNS[mark.outcome]} " if mark.outcome else ""
    names.append("," * (number > 0) + (f" {sign}{mark.name}" if mark.name else ""), colour)
  return names.append("]", f"dim {terminal_colour(marks[0].name)}")
