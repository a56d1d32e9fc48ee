"""Texts with marked spans, each label in its colour.

A label has the same colour on every page, in notebooks and in the terminal. Right and wrong are
green and red, so no label has such a hue. A label's name always stands beside its colour, for
people who cannot distinguish it.
"""

import html
import itertools
import zlib
from collections.abc import Callable, Iterable, Sequence

from rich.text import Text

from luke_jax.tasks.evaluation import Mark, Outcome
from luke_jax.tasks.predictions import Labelled
from luke_jax.terminal import visible
from luke_jax.text import Tokenizer
from luke_jax.text.tokenizer import Bounds

# Labels of one kind have neighbouring hues, other kinds distant ones.
_USUAL = {22: "building", 28: "city", 35: "location", 41: "country", 47: "river", 50: "tail"}
_USUAL |= {54: "book", 56: "work", 58: "film", 60: "song", 181: "award", 184: "event"}
_USUAL |= {187: "election", 191: "head", 196: "scientist", 202: "researcher", 208: "politician"}
_USUAL |= {215: "person", 222: "writer", 228: "musician", 234: "artist", 240: "athlete"}
_USUAL |= {250: "answer", 260: "political party", 266: "university", 272: "company"}
_USUAL |= {280: "organization", 287: "team", 293: "band", 304: "language", 310: "product"}
_USUAL |= {322: "miscellaneous", 332: "species"}
_SYNONYMS = {"per": "person", "people": "person", "human": "person", "loc": "location"}
_SYNONYMS |= {"place": "location", "gpe": "country", "fac": "building", "facility": "building"}
_SYNONYMS |= {"org": "organization", "organisation": "organization", "corporation": "company"}
_SYNONYMS |= {"group": "team", "misc": "miscellaneous", "other": "miscellaneous"}
_SYNONYMS |= {"work of art": "work", "creative work": "work", "creative-work": "work"}
_HUES = {name: hue for hue, name in _USUAL.items()}
# Neither green nor red, nor that of a usual label.
_FREE = [hue for hue in (*range(20, 61), *range(180, 341)) if hue not in _USUAL]
_TERMINAL = {35: "yellow", 56: "bright_yellow", 184: "cyan", 215: "blue", 250: "bright_blue"}
_TERMINAL |= {280: "magenta", 322: "bright_magenta"}


def hue(label: str) -> int:
  """Returns the hue of a label in degrees, which depends on nothing else."""
  name = label.casefold().replace("_", " ")
  name = _SYNONYMS.get(name, name)
  return _HUES[name] if name in _HUES else _FREE[zlib.crc32(name.encode()) % len(_FREE)]


def terminal_colour(label: str) -> str:
  """Returns the terminal's colour that is nearest to a label's hue."""
  degrees = hue(label)
  return _TERMINAL[min(_TERMINAL, key=lambda other: abs(other - degrees))]


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
  text, places = visible(text), _places(marks)
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
    names.append("," * (number > 0) + (f" {sign}{visible(mark.name)}" if mark.name else ""), colour)
  return names.append("]", f"dim {terminal_colour(marks[0].name)}")


MOST_PIECES, PIECES_BEFORE = 30, 8  # of a line, and before its first mark where it is cut
INSIDE, CUT = "·", "…"  # between two pieces that no space parts, and where pieces are left out


def pieces_of(tokenizer: Tokenizer, ids: Sequence[int]) -> list[str]:
  """Returns the text of each piece, with the space that is before it."""
  # The first pieces of a character are no text; the last one of them has all of it.
  texts = [tokenizer.decode(ids[:count]).rstrip("\ufffd") for count in range(len(ids))]
  texts.append(tokenizer.decode(ids))
  return [text[len(before) :] for before, text in itertools.pairwise(texts)]


def _stretch(length: int, marks: Sequence[Labelled]) -> tuple[int, int]:
  """Returns the range of pieces that make a line, with the first mark among them."""
  first = min((mark.start for mark in marks), default=0)
  start = 0 if first < MOST_PIECES - PIECES_BEFORE else first - PIECES_BEFORE
  return start, min(start + MOST_PIECES, length)


def marked_line(pieces: Sequence[str], marks: Sequence[Labelled]) -> str:
  """Returns a line of pieces with marks as in `[Los An·geles](LOC) is`; of long ones a part."""
  first, last = _stretch(len(pieces), marks)
  line = f"{CUT} " * (first > 0)
  for place in range(first, last):
    opened = "[" * sum(mark.start == place for mark in marks)
    ending = sorted((mark for mark in marks if mark.end == place + 1), reverse=True)
    closed = "".join(f"]({mark.label})" if mark.label else "]" for mark in ending)
    between = " " if pieces[place][:1].isspace() else INSIDE
    line += f"{between if place > first else ''}{opened}{pieces[place].strip()}{closed}"
  return line + f" {CUT}" * (last < len(pieces))
