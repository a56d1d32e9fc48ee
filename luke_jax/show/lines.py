"""Losses and scores of runs over their steps, as line charts."""

import html
import json
import math
from collections.abc import Iterable, Mapping, Sequence

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.show.picture import Picture
from luke_jax.training.metrics import METRICS, read_lines

DEV = "dev/"
HUES = (210, 30, 130, 330, 265, 55, 180, 0, 95, 290)  # of runs in order, easy to distinguish
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 330, 190, 46, 12, 8, 24
MOST_POINTS = 300  # of a line; if there are more, neighbours are averaged

Point = tuple[float, float]
Series = Mapping[str, list[Point]]  # of one run: points by metric
Folders = str | Path | Sequence[str | Path] | Mapping[str, str | Path]


def curves(runs: Folders, *, metrics: Sequence[str] | None = None) -> Picture:
  """Draws losses and scores of runs: a panel for each metric, a colour for each run.

  `runs` are the folders of runs, or names with folders. Lines are of training, faint where there
  are dots, which are of evaluations. Without `metrics`, the loss and all evaluated metrics are
  shown. Of very long runs, the means of neighbouring points are drawn.
  """
  series = {name: read_run(Path(folder)) for name, folder in _named(runs).items()}
  colours = dict(zip(series, HUES * (1 + len(series) // len(HUES)), strict=False))
  legend = "".join(
    f'<span style="--hue: {colours[name]}"><i class="key"></i>{html.escape(name)}</span>'
    for name in series
  )
  shown = _metrics(series, metrics)
  panels = [_panel(metric, series, colours) for metric in shown]
  key = f'<p class="legend">{legend}</p>' if len(series) > 1 else ""
  evaluated = any(DEV + metric in run for metric in shown for run in series.values())
  note = f'<p class="note">by step; lines: training{", dots: evaluation" * evaluated}</p>'
  body = f'{key}{note}<div class="side-by-side">{"".join(panels)}</div>'
  return Picture(body, ", ".join(series)[:60])


def read_run(folder: Path) -> dict[str, list[Point]]:
  """Returns the finite points (step, value) of each metric that a run has recorded."""
  path = folder / METRICS
  lines = read_lines(folder)
  if lines is None:
    raise InputError(f"{folder}: no {METRICS}; expected the folder of a run")
  points: dict[str, list[Point]] = {}
  for number, line in enumerate(lines, start=1):
    try:
      values = json.loads(line)
      step = float(values.pop("step"))
    except (ValueError, TypeError, KeyError, AttributeError):
      if number == len(lines):  # incomplete, since the run is still writing it
        break
      raise InputError(f"{path}: line {number} has no step; expected metrics") from None
    for name, value in values.items():
      if isinstance(value, int | float) and math.isfinite(value):
        points.setdefault(name, []).append((step, value))
  return points


def _named(runs: Folders) -> dict[str, str | Path]:
  if isinstance(runs, Mapping):
    return dict(runs)
  folders = [runs] if isinstance(runs, str | Path) else runs
  names = {Path(folder).name for folder in folders}
  short = len(names) == len(folders)
  return {Path(folder).name if short else str(folder): folder for folder in folders}


def _metrics(runs: Mapping[str, Series], requested: Sequence[str] | None) -> list[str]:
  """Returns the names of panels; training and evaluation of a metric share one."""
  recorded = list(dict.fromkeys(name for run in runs.values() for name in run))
  plain = {name.removeprefix(DEV) for name in recorded}
  for name in requested or ():
    if name.removeprefix(DEV) not in plain:
      listed = ", ".join(sorted(plain)) or "none"
      raise InputError(f"metric {name!r}: in no run; expected some of {listed}")
  if requested is not None:
    return list(dict.fromkeys(name.removeprefix(DEV) for name in requested))
  loss = ["loss"] if "loss" in plain else []
  evaluated = [name.removeprefix(DEV) for name in recorded if name.startswith(DEV)]
  return list(dict.fromkeys([*loss, *evaluated]))


def _panel(metric: str, runs: Mapping[str, Series], colours: Mapping[str, int]) -> str:
  lines = {name: _thinned(run.get(metric, [])) for name, run in runs.items()}
  dots = {name: run.get(DEV + metric, []) for name, run in runs.items()}
  points = [point for group in (*lines.values(), *dots.values()) for point in group]
  x_ticks = ticks(0.0, max((x for x, _ in points), default=1.0))
  y_ticks = ticks(
    min((y for _, y in points), default=0.0), max((y for _, y in points), default=1.0)
  )
  frame = _Frame((x_ticks[0], x_ticks[-1]), (y_ticks[0], y_ticks[-1]))
  parts = [frame.grid(x_ticks, y_ticks)]
  for name in runs:
    below = " below" if dots[name] else ""
    drawn = _line(frame, lines[name], f"curve{below}") + _line(frame, dots[name], "curve")
    parts.append(f'<g style="--hue: {colours[name]}">{drawn}{_dots(frame, dots[name])}</g>')
  size = f'width="{WIDTH}" height="{HEIGHT}"'
  title = html.escape(metric.replace("_", " "))
  svg = f"<svg {size}>{''.join(parts)}</svg>"
  return f'<figure><h3>{title}</h3><div class="wide">{svg}</div></figure>'


class _Frame:
  """Mapping from a panel's values to positions in its drawing."""

  def __init__(self, x: Point, y: Point) -> None:
    self._x, self._y = x, y

  def at(self, point: Point) -> Point:
    """Returns the position of a point in the drawing."""
    (left, right), (low, high) = self._x, self._y
    across = (point[0] - left) / (right - left)
    up = (point[1] - low) / (high - low)
    width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    return LEFT + across * width, TOP + (1 - up) * height

  def grid(self, x_ticks: Sequence[float], y_ticks: Sequence[float]) -> str:
    """Returns the lines and numbers of the axes."""
    parts = []
    for x in x_ticks:
      place, _ = self.at((x, self._y[0]))
      anchor = f'text-anchor="{"end" if x == x_ticks[-1] else "middle"}"'
      at = f'x="{place:.1f}" y="{HEIGHT - 6}"'
      parts.append(f'<text class="quiet" {at} {anchor}>{_number(x)}</text>')
    for y in y_ticks:
      _, place = self.at((self._x[0], y))
      ends = f'x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{place:.1f}" y2="{place:.1f}"'
      at = f'x="{LEFT - 6}" y="{place + 4:.1f}" text-anchor="end"'
      parts.append(f'<line class="grid" {ends}/><text class="quiet" {at}>{_number(y)}</text>')
    return "".join(parts)


def ticks(low: float, high: float, count: int = 4) -> list[float]:
  """Returns about `count` round numbers that enclose `low` and `high`."""
  if low == high:
    low, high = min(low, 0.0), max(high, 0.0) or low + 1.0
  rough = (high - low) / count
  unit = 10.0 ** math.floor(math.log10(rough))
  step = next(unit * nice for nice in (1, 2, 2.5, 5, 10) if unit * nice >= rough * 0.999)
  first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
  return [step * number for number in range(first, max(last, first + 1) + 1)]


def _number(value: float) -> str:
  return f"{value:,.0f}" if abs(value) >= 1000 else f"{value + 0.0:.3g}"


def _thinned(points: Sequence[Point]) -> list[Point]:
  size = math.ceil(len(points) / MOST_POINTS) or 1
  groups = (points[start : start + size] for start in range(0, len(points), size))
  return [_mean(group) for group in groups]


def _mean(points: Sequence[Point]) -> Point:
  xs, ys = zip(*points, strict=True)
  return sum(xs) / len(xs), sum(ys) / len(ys)


def _line(frame: _Frame, points: Iterable[Point], kind: str) -> str:
  path = "L".join("{:.1f} {:.1f}".format(*frame.at(point)) for point in points)
  return f'<path class="{kind}" d="M{path}"/>' if path else ""


def _dots(frame: _Frame, points: Iterable[Point]) -> str:
  parts = []
  for point in points:
    x, y = frame.at(point)
    tooltip = f"<title>step {point[0]:g}: {point[1]:.4g}</title>"
    parts.append(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="2.6">{tooltip}</circle>')
  return "".join(parts)
