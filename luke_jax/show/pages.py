"""Several pictures as one page."""

import html
from collections.abc import Sequence
from typing import NamedTuple

from luke_jax.show.picture import Picture


class Section(NamedTuple):
  """Part of a page: pictures, and strings, which become paragraphs."""

  title: str
  parts: Sequence[str | Picture] | Picture
  folded: bool = False  # opened by its title


def report(title: str, sections: Sequence[Section], introduction: str = "") -> Picture:
  """Returns a page of sections, with links to them at the top."""
  links = [f'<a href="#part-{n}">{html.escape(x.title)}</a>' for n, x in enumerate(sections)]
  parts = [_shown(introduction)] if introduction else []
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
  return "".join(map(_shown, [parts] if alone else parts))


def _shown(part: str | Picture) -> str:
  return part.boxed if isinstance(part, Picture) else f"<p>{html.escape(part)}</p>"
