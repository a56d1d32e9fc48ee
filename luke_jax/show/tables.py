"""Tables and bars as HTML."""

import html
from collections.abc import Sequence

from luke_jax.show.picture import Picture


def table(header: Sequence[str], rows: Sequence[Sequence[str | int | float]]) -> Picture:
  """Draws a table; numbers are aligned at the right, floats have up to four digits.

  The floats of a column have as many decimals as the one that needs most.
  """
  kinds = [" class=number" if _numeric(column) else "" for column in zip(*rows, strict=True)]
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


def _numeric(column: Sequence[str | int | float]) -> bool:
  return not any(isinstance(x, str) for x in column)


def _figures(column: Sequence[str | int | float]) -> list[str]:
  short = [f"{x:.4g}" if isinstance(x, float) else str(x) for x in column]
  if not all(isinstance(x, float) for x in column) or any("e" in x for x in short):
    return short
  decimals = max(len(x.partition(".")[2]) for x in short)
  return [f"{x:.{decimals}f}" for x in column]
