"""Which label was taken for which, as HTML tables."""

import html
import itertools
from collections.abc import Mapping, Sequence

from luke_jax.show.evaluations import NOTHING, confused

FEW_LABELS = 8  # of a matrix that fits a phone
MOST_LABELS = 40
MOST_PAIRS = 12

Confusion = Mapping[tuple[str, str], int]


def confusion_tables(confusion: Confusion) -> str:
  """Returns a matrix of few labels; of more, the most frequent confusions, and it folded."""
  labels, omitted = _most_frequent(confusion)
  matrix = _matrix(confusion, labels)
  if omitted:
    matrix += f'<p class="note">The {omitted} rarer labels are not shown.</p>'
  if len(labels) > FEW_LABELS:
    shown = f"<details><summary>All counts as a matrix</summary>{matrix}</details>"
    pairs = confused(confusion)[:MOST_PAIRS]
    matrix = (_pairs(pairs) if pairs else "<p>No label was taken for another.</p>") + shown
  return f"<section><h2>Gold and predicted labels</h2>{matrix}</section>"


def _most_frequent(confusion: Confusion) -> tuple[list[str], int]:
  """Returns the labels of a matrix, and the number of those that are too many."""
  counts: dict[str, int] = {}
  for pair, count in confusion.items():
    for label in set(pair):
      counts[label] = counts.get(label, 0) + count
  labels = sorted(sorted(counts, key=lambda label: -counts[label])[:MOST_LABELS])
  return labels, len(counts) - len(labels)


def _pairs(pairs: Sequence[tuple[str, str, int]]) -> str:
  rows = [
    f"<tr><td>{html.escape(gold or NOTHING)}</td><td>{html.escape(predicted or NOTHING)}</td>"
    f'<td class="number">{count}</td></tr>'
    for gold, predicted, count in pairs
  ]
  names = '<th scope="col">gold</th><th scope="col">predicted</th>'
  return f'<table><tr>{names}<th scope="col" class="number">times</th></tr>{"".join(rows)}</table>'


def _matrix(confusion: Confusion, labels: Sequence[str]) -> str:
  """Returns the counts of labels as a table, darker where higher."""
  most = max((confusion.get(pair, 0) for pair in itertools.product(labels, labels)), default=1) or 1
  names = [html.escape(label or NOTHING) for label in labels]
  columns = "".join(f'<th scope="col" class="turned"><span>{name}</span></th>' for name in names)
  rows = [f"<tr><td></td>{columns}</tr>"]
  for gold, name in zip(labels, names, strict=True):
    cells = (
      _cell(confusion.get((gold, predicted), 0), most, gold == predicted) for predicted in labels
    )
    rows.append(f'<tr><th scope="row">{name}</th>{"".join(cells)}</tr>')
  note = '<p class="note">Rows: gold. Columns: predicted. <b>Right ones</b> have a frame.</p>'
  return f'{note}<div class="wide"><table class="square">{"".join(rows)}</table></div>'


def _cell(count: int, most: int, right: bool) -> str:
  share = (count / most) ** 0.5
  kind = "right" if right else "wrong"
  return f'<td class="{kind}" style="--share: {100 * share:.0f}%">{count or ""}</td>'
