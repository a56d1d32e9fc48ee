"""A picture of the record: a curve for each figure and machine, over the commits."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from benchmarks.record import RECORD, ROOT, Line, read_lines
from luke_jax.errors import InputError
from luke_jax.files import check_place, write_text

WIDTH, HEIGHT, COLUMNS = 280, 130, 3  # of a figure's place, and places in a row
LEFT, TOP, RIGHT, BOTTOM = 12, 34, 12, 20  # around the curves in it
COLOURS = ("#3465a4", "#cc7000", "#4e9a06", "#a40000", "#75507b", "#555753")


def picture(lines: Sequence[Line]) -> str:
  """Returns the record as SVG: curves from the lowest value to the highest."""
  names = list(dict.fromkeys(name for line in lines for name in line.figures))
  machines = list(dict.fromkeys(line.machine for line in lines))
  rows = -(-len(names) // COLUMNS)
  height = rows * HEIGHT + 18 * len(machines) + 10
  parts = []
  for place, name in enumerate(names):
    x, y = place % COLUMNS * WIDTH, place // COLUMNS * HEIGHT
    parts.append(f'<g transform="translate({x} {y})">{_curves(name, lines, machines)}</g>')
  for number, machine in enumerate(machines):
    y = rows * HEIGHT + 18 * (number + 1)
    parts.append(text(LEFT, y, machine, COLOURS[number % len(COLOURS)]))
  return sheet(WIDTH * COLUMNS, height, parts)


def sheet(width: int, height: int, parts: Sequence[str]) -> str:
  """Returns a picture of parts, as SVG on white."""
  box = f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11"'
  white = '<rect width="100%" height="100%" fill="#fff"/>'
  return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {box}>', white, *parts, "</svg>\n"])


def _curves(name: str, lines: Sequence[Line], machines: Sequence[str]) -> str:
  points = [(i, line) for i, line in enumerate(lines) if name in line.figures]
  values = [line.figures[name] for _, line in points]
  low, high = min(values), max(values)
  width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
  parts = [text(LEFT, 14, name), text(LEFT, 27, f"{low:g} to {high:g}", "#666")]
  for number, machine in enumerate(machines):
    colour, places = COLOURS[number % len(COLOURS)], []
    for i, line in points:
      if line.machine == machine:
        across = i / (len(lines) - 1) if len(lines) > 1 else 0.5
        up = (line.figures[name] - low) / (high - low) if high > low else 0.5
        x, y = LEFT + across * width, TOP + (1 - up) * height
        places.append(f"{x:.1f},{y:.1f}")
        about = escape(f"{line.commit}, {line.date}: {line.figures[name]:g}")
        circle = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}">'
        parts.append(f"{circle}<title>{about}</title></circle>")
    parts.append(f'<polyline points="{" ".join(places)}" fill="none" stroke="{colour}"/>')
  dates = dict.fromkeys((lines[0].date, lines[-1].date))
  return "".join([*parts, text(LEFT, HEIGHT - 6, " to ".join(dates), "#666")])


def text(x: float, y: float, words: str, fill: str = "#000", anchor: str = "start") -> str:
  """Returns words at a place of a picture, that start or end there."""
  return f'<text x="{x}" y="{y}" fill="{fill}" text-anchor="{anchor}">{escape(words)}</text>'


def main(*, record: Path = RECORD, output: Path = ROOT / "docs/record.svg") -> None:
  """Draws the record: a curve for each figure and machine.

      python -m benchmarks curves

  Args:
    record: File that python -m benchmarks record has written.
    output: File for the picture, SVG.
  """
  check_place(output)
  if not (lines := read_lines(record)):
    raise InputError(f"{record}: no lines; expected some of python -m benchmarks record")
  write_text(output, picture(lines))
  print(f"{output}: {len(lines)} lines")
