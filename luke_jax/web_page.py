"""Shared head and style of the HTML pages, which load nothing from elsewhere.

The style fits wide and narrow screens, and light and dark themes.
"""

import html
from collections.abc import Iterable

from luke_jax.files import packaged

_STYLE = "\n" + packaged("web_page.css")
FOOT = "</body>\n</html>\n"


def head(title: str, language: str = "en") -> str:
  """Returns the HTML before the body's content; `FOOT` is what follows it."""
  return (
    f'<!doctype html>\n<html lang="{html.escape(language)}">\n<head>\n<meta charset="utf-8">\n'
    '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    f"<title>{html.escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
  )


def marked(text: str, marks: Iterable[tuple[int, int, str]]) -> str:
  """Returns a text as HTML with some stretches marked; of those that overlap, only the first.

  A mark is its start, its end and the attributes that its tag has.
  """
  parts, done = [], 0
  for start, end, attributes in marks:
    if start >= done:
      parts.append(html.escape(text[done:start]))
      parts.append(f"<mark {attributes}>{html.escape(text[start:end])}</mark>")
      done = end
  return "".join([*parts, html.escape(text[done:])])
