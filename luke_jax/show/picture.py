"""Picture: HTML that loads nothing from elsewhere; tables, bars and pages of several pictures.

The style affects nothing outside of pictures. Its colours come in pairs, for light and dark: a
notebook's theme decides, else the system does.
"""

import dataclasses
import html
from collections.abc import Sequence
from typing import NamedTuple

from luke_jax.files import Path, write_text
from luke_jax.web_page import FOOT, head


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


STYLE = """
.luke-picture { color-scheme: light dark; background: Canvas; color: CanvasText;
  font: 1rem/1.6 system-ui, sans-serif; text-align: start; overflow-wrap: anywhere;
  container-type: inline-size; --quiet: light-dark(#57606a, #a3adb8);
  --faint: light-dark(#eceef1, #33383d); --bar: light-dark(#94a3b8, #64748b) }
.luke-picture [style*="--hue"] {
  --line: light-dark(hsl(var(--hue) 75% 27%), hsl(var(--hue) 60% 70%)) }
.luke-picture + .luke-picture { margin-top: 1rem }
:is([data-jp-theme-light="true"], [theme="light"], .vscode-light) .luke-picture {
  color-scheme: light }
:is([data-jp-theme-light="false"], [theme="dark"], .vscode-dark) .luke-picture {
  color-scheme: dark }
.luke-picture p { margin: .5rem 0 1rem; white-space: pre-wrap }
.luke-picture p.marked { line-height: 2.1 } .luke-picture > p:last-child { margin-bottom: .2rem }
.luke-picture p.note { color: var(--quiet); font-size: .85rem; margin: .2rem 0 .6rem }
.luke-picture :is(h2, h3) { font-size: 1rem; font-weight: 600; margin: 0 0 .3rem;
  color: inherit; overflow-wrap: break-word }
.luke-picture mark { color: inherit; unicode-bidi: isolate; border-radius: .3em;
  padding: .15em .3em; -webkit-box-decoration-break: clone; box-decoration-break: clone;
  background: light-dark(hsl(var(--hue) 75% 84% / var(--share, 1)),
    hsl(var(--hue) 45% 27% / var(--share, 1))) }
.luke-picture mark mark { box-shadow: 0 0 0 1.5px Canvas }
.luke-picture mark.continues { border-start-end-radius: 0; border-end-end-radius: 0;
  border-inline-end: 2px dotted var(--line) }
.luke-picture mark.continued { border-start-start-radius: 0; border-end-start-radius: 0 }
.luke-picture mark small { font-weight: 600; font-size: .7em; user-select: none;
  margin-inline-start: .3em; border-radius: .3em; padding: .1em 0;
  background: light-dark(hsl(var(--hue) 80% 94%), hsl(var(--hue) 45% 18%));
  color: light-dark(hsl(var(--hue) 80% 20%), hsl(var(--hue) 60% 86%)) }
.luke-picture i[role="img"] { font-style: normal }
.luke-picture mark.wrong { outline: 2px solid light-dark(#c0263a, #ff8a80); outline-offset: -1px }
.luke-picture mark.missed { background: none; outline: 2px dashed var(--line);
  outline-offset: -1px }
.luke-picture .gap { border: 1.5px dashed var(--quiet); border-radius: .3em; padding: 0 1.6em }
.luke-picture .wide { overflow-x: auto; overflow-y: hidden; max-width: 100% }
.luke-picture .side-by-side { display: grid; gap: 1.2rem 2rem; align-items: start;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 20.7rem), 1fr)) }
.luke-picture figure { margin: 0 0 .6rem; max-width: 100%; min-width: 0 }
.luke-picture table { border-collapse: collapse; font-size: inherit; margin: .3rem 0 1rem;
  border: 0; overflow-wrap: normal }
.luke-picture tr { background: none !important }
.luke-picture :is(td, th) { padding: .15rem 1rem .15rem 0; text-align: start; border: 0;
  vertical-align: baseline; max-width: none }
.luke-picture th { font-weight: normal; color: var(--quiet) }
.luke-picture .number { text-align: right; font-variant-numeric: tabular-nums }
.luke-picture td.number { white-space: nowrap }
.luke-picture td.bar { width: 9rem; min-width: 4rem }
.luke-picture td.bar div { background: var(--bar); height: .7rem; border-radius: .15rem }
.luke-picture figure td.bar { width: 6rem }
.luke-picture td.name { overflow-wrap: anywhere; min-width: 5rem }
.luke-picture svg { display: block; font: 16px system-ui, sans-serif }
.luke-picture svg text { fill: currentColor; white-space: pre }
.luke-picture svg .quiet { fill: var(--quiet); font-size: 12px }
.luke-picture svg .mention { fill: var(--faint); stroke: var(--quiet); stroke-opacity: .5 }
.luke-picture svg .arc { fill: none; stroke: var(--line); stroke-width: 1.5 }
.luke-picture svg .arrow { fill: var(--line) }
.luke-picture svg .label { font-size: 12px; fill: var(--line); text-anchor: middle;
  paint-order: stroke; stroke: Canvas; stroke-width: 7px; stroke-linejoin: round }
.luke-picture svg .cell { fill: light-dark(hsl(var(--hue) 75% 36%), hsl(var(--hue) 70% 66%));
  stroke: var(--quiet); stroke-opacity: .2 }
.luke-picture svg .frame { fill: none; stroke: var(--quiet); stroke-opacity: .4 }
.luke-picture svg .curve { fill: none; stroke: var(--line); stroke-width: 1.6;
  stroke-linejoin: round }
.luke-picture svg .curve.below { stroke-opacity: .45 }
.luke-picture svg .dot { fill: var(--line) }
.luke-picture svg .grid { stroke: var(--faint) }
.luke-picture .key { display: inline-block; width: .8em; height: .8em; border-radius: .2em;
  background: var(--line); margin-inline-end: .4em }
.luke-picture .legend span { white-space: nowrap; margin-inline-end: 1.2em }
.luke-picture svg.narrow { display: none }
@container (max-width: 700px) {
  .luke-picture svg.roomy { display: none } .luke-picture svg.narrow { display: block }
  .luke-picture td.bar { width: 5rem } .luke-picture :is(td, th) { padding-right: .6rem } }
@container (min-width: 701px) { .luke-picture .two-columns { display: grid; gap: 1.2rem 2rem;
  grid-template-columns: auto auto; justify-content: start } }
.luke-picture .evaluation h1 { font-size: 1.4rem; line-height: 1.3; margin: 0 0 .6rem }
.luke-picture .evaluation h2 { font-size: 1.1rem }
.luke-picture .evaluation h2 .quiet { font-size: .85rem; font-weight: normal; color: var(--quiet) }
.luke-picture .evaluation ul { list-style: none; margin: 0; padding: 0 }
.luke-picture .evaluation li { border-top: 1px solid var(--faint); padding: .3rem 0 }
.luke-picture .evaluation li p { margin: 0 }
.luke-picture .evaluation section { margin: 0 0 1rem; min-width: 0 }
.luke-picture table.labels { width: 100%; font-size: .9rem }
.luke-picture table.labels :is(td, th) { padding-right: .6rem }
.luke-picture table.labels td.bar { width: 4rem; min-width: 1.5rem; padding: 0 }
.luke-picture summary { cursor: pointer; padding: .3rem 0 }
@container (max-width: 380px) { .luke-picture table.labels td:empty { padding: 0 }
  .luke-picture table.labels td.bar { display: none } }
@container (min-width: 900px) { .luke-picture .beside { display: grid; gap: 1rem 2.5rem;
  grid-template-columns: minmax(0, 1fr) minmax(0, 28rem) } }
.luke-picture table.square td { width: 2.2rem; min-width: 2.2rem; text-align: center;
  padding: .2rem; font-size: .8rem; border: 1px solid var(--faint) }
.luke-picture table.square tr:first-child td { border: 0 }
.luke-picture table.square th { font-size: .8rem; white-space: nowrap }
.luke-picture th.turned { vertical-align: bottom; padding: .2rem 0 }
.luke-picture th.turned span { writing-mode: vertical-rl; transform: rotate(180deg) }
.luke-picture td.right { font-weight: 700; box-shadow: inset 0 0 0 2px var(--quiet);
  background: color-mix(in srgb, #3fa66b calc(.75 * var(--share)), transparent) }
.luke-picture td.wrong {
  background: color-mix(in srgb, #d9643a calc(.75 * var(--share)), transparent) }
.luke-picture pre { font: .85rem/1.5 ui-monospace, monospace; background: var(--faint);
  border-radius: .3em; padding: .6em .8em; margin: .3rem 0 1rem; color: inherit }
.luke-picture a { color: light-dark(#1a56b0, #8ab4f8); text-underline-offset: .15em }
.luke-report > section { margin: 0 0 1.5rem }
.luke-report h2 { font-size: 1.3rem; margin: 1.6rem 0 .4rem }
.luke-report summary { cursor: pointer } .luke-report summary h2 { display: inline-block }
.luke-report h1 { font-size: 1.8rem; line-height: 1.25 }
"""
