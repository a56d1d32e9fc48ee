"""Picture: HTML that loads nothing from elsewhere; tables, bars and pages of several pictures.

The style affects nothing outside of pictures. Its colours come in pairs, for light and dark: a
notebook's theme decides, else the system does.
"""

import dataclasses
import html
from collections.abc import Sequence
from typing import NamedTuple

from luke_jax.files import Path, packaged, write_text
from luke_jax.web_page import FOOT, head

STYLE = "\n" + packaged("show/picture.css")


@dataclasses.dataclass(frozen=True)
class Picture:
  """HTML picture, shown as the last value of a notebook's cell; `save` writes a page."""

  body: str  # without the shared style
  title: str = "luke_jax"  # of the page

  @property
  def html(self) -> str:
    """Returns the picture with its style, to be placed anywhere in a page."""
    return f"<style>{STYLE}</style>\n{self.boxed}"

  @property
  def boxed(self) -> str:
    """Returns the picture without its style, for a page that already has it."""
    return f'<div class="luke-picture">{self.body}</div>'

  @property
  def page(self) -> str:
    """Returns the picture as a page of its own."""
    return f"{head(self.title)}{self.html}\n{FOOT}"

  def _repr_html_(self) -> str:
    return self.html

  def save(self, path: str | Path) -> None:
    """Writes the picture as an HTML page."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, self.page)


def table(header: Sequence[str], rows: Sequence[Sequence[str | int | float]]) -> Picture:
  """Draws a table; numbers are aligned at the right, floats have up to four digits.

  The floats of a column have as many decimals as the one that needs most.
  """
  kinds = [
    "" if any(isinstance(x, str) for x in column) else " class=number"
    for column in zip(*rows, strict=True)
  ]
  kinds = kinds or [""] * len(header)
  head = "".join(f"<th{k}>{html.escape(x)}</th>" for k, x in zip(kinds, header, strict=True))
  columns = [_figures(column) for column in zip(*rows, strict=True)]
  lines = [
    "".join(f"<td{k}>{html.escape(x)}</td>" for k, x in zip(kinds, row, strict=True))
    for row in zip(*columns, strict=True)
  ]
  body = "".join(f"<tr>{line}</tr>" for line in lines)
  return Picture(f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>', "Table")


def code(text: str) -> Picture:
  """Shows commands or code as they are typed."""
  return Picture(f'<pre class="wide">{html.escape(text)}</pre>', "Code")


def bars(rows: Sequence[tuple[str, float]]) -> str:
  """Returns a table of names with bars as long as their numbers, from 0 to 1."""
  lines = [
    f'<tr><td class="name">{html.escape(name)}</td><td class="number">{value:.3f}</td>'
    f'<td class="bar">{bar(value)}</td></tr>'
    for name, value in rows
  ]
  return f"<table>{''.join(lines)}</table>" if rows else ""


def bar(share: float) -> str:
  """Returns a bar as long as a number from 0 to 1."""
  return f'<div style="width: {100 * min(max(share, 0.0), 1.0):.1f}%"></div>'


def _figures(column: Sequence[str | int | float]) -> list[str]:
  short = [f"{x:.4g}" if isinstance(x, float) else str(x) for x in column]
  if not all(isinstance(x, float) for x in column) or any("e" in x for x in short):
    return short
  decimals = max(len(x.partition(".")[2]) for x in short)
  return [f"{x:.{decimals}f}" for x in column]


class Section(NamedTuple):
  """Part of a page: pictures, and strings, which become paragraphs."""

  title: str
  parts: Sequence[str | Picture] | Picture
  folded: bool = False  # opened by its title


def report(title: str, sections: Sequence[Section], introduction: str = "") -> Picture:
  """Returns a page of sections, with links to them at the top."""
  links = [f'<a href="#part-{n}">{html.escape(x.title)}</a>' for n, x in enumerate(sections)]
  parts = [_as_html(introduction)] if introduction else []
  parts += [f"<p>{' · '.join(links)}</p>"] if len(links) > 1 else []
  parts += [_section(section, n) for n, section in enumerate(sections)]
  body = f'<div class="luke-report"><h1>{html.escape(title)}</h1>{"".join(parts)}</div>'
  return Picture(body, title)


def _section(section: Section, number: int) -> str:
  title, content = f"<h2>{html.escape(section.title)}</h2>", _parts(section.parts)
  if section.folded:
    return f'<details id="part-{number}"><summary>{title}</summary>{content}</details>'
  return f'<section id="part-{number}">{title}{content}</section>'


def _parts(parts: Sequence[str | Picture] | Picture) -> str:
  alone = isinstance(parts, str | Picture)
  return "".join(map(_as_html, [parts] if alone else parts))


def _as_html(part: str | Picture) -> str:
  return part.boxed if isinstance(part, Picture) else f"<p>{html.escape(part)}</p>"
