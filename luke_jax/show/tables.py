"""Tables and bars as HTML."""

import html
from collections.abc import Sequence

from luke_jax.show.picture import Picture


def table(header: Sequence[str], rows: Sequence[Sequence[str | int | float]]) -> Picture:
  """A table; numbers stand at the right of their column, floats with up to four digits."""
  kinds = [" class=number" if _numeric(column) else "" for column in zip(*rows, strict=True)]
  kinds = kinds or [""] * len(header)
  head = "".join(f"<th{k}>{html.escape(x)}</th>" for k, x in zip(kinds, header, strict=True))
  lines = [
    "".join(f"<td{k}>{html.escape(_figure(x))}</td>" for k, x in zip(kinds, row, strict=True))
    for row in rows
  ]
  body = "".join(f"<tr>{line}</tr>" for line in lines)
  return Picture(f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>', "Table")


def bars(rows: Sequence[tuple[str, float]]) -> str:
  """Names with bars as long as their numbers, from 0 to 1."""
  lines = [
    f'<tr><td class="name">{html.escape(name)}</td><td class="number">{value:.3f}</td>'
    f'<td class="bar">{bar(value)}</td></tr>'
    for name, value in rows
  ]
  return f"<table>{''.join(lines)}</table>" if rows else ""


def bar(share: float) -> str:
  """A bar from 0 to 1."""
  return f'<div style="width: {100 * min(max(share, 0.0), 1.0):.1f}%"></div>'


def _numeric(column: Sequence[str | int | float]) -> bool:
  return not any(isinstance(x, str) for x in column)


def _figure(value: str | int | float) -> str:
  return f"{value:.4g}" if isinstance(value, float) else str(value)
