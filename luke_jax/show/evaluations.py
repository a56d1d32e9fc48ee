"""Evaluations as tables for the terminal, as JSON, and as an HTML page."""

import html
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from luke_jax.show.marked import html_text, hues, terminal_text
from luke_jax.show.picture import Picture
from luke_jax.show.tables import bar
from luke_jax.tasks.evaluation import Evaluation, Mistake

MOST_CONFUSED = 15  # pairs in the terminal
MOST_LABELS = 40  # of the confusion matrix on the page
NOTHING = "(none)"
SURROUNDINGS = 200  # characters of a text before and after its marks


def as_json(evaluation: Evaluation) -> dict[str, Any]:
  """Returns the whole evaluation as JSON values."""
  return {
    "scores": dict(evaluation.scores),
    "labels": {name: dict(row) for name, row in evaluation.labels.items()},
    "confusion": [
      {"gold": gold, "predicted": predicted, "count": count}
      for (gold, predicted), count in evaluation.confusion.items()
    ],
    "mistakes": [
      mistake._asdict() | {"marks": [mark._asdict() for mark in mistake.marks]}
      for mistake in evaluation.mistakes
    ],
  }


def tables(evaluation: Evaluation, mistakes: int) -> RenderableType:
  """Returns scores, labels, confused pairs and the worst mistakes, for the terminal."""
  parts: list[RenderableType] = [_scores(evaluation.scores)]
  if evaluation.labels:
    parts.append(_labels(evaluation.labels))
  confused = _confused(evaluation.confusion)
  if confused:
    parts.append(_pairs(confused[:MOST_CONFUSED]))
  parts += [_mistake(mistake) for mistake in evaluation.mistakes[:mistakes]]
  return Group(*parts)


def _scores(scores: Mapping[str, float]) -> Table:
  table = Table(show_header=False)
  table.add_column()
  table.add_column(justify="right")
  for name, value in scores.items():
    table.add_row(name.replace("_", " "), f"{value:.4g}" if value > 1 else f"{value:.4f}")
  return table


def _labels(labels: Mapping[str, Mapping[str, float]]) -> Table:
  names = list(next(iter(labels.values())))
  table = Table()
  table.add_column("label")
  for name in names:
    table.add_column(name, justify="right")
  for label, row in labels.items():
    table.add_row(Text(label), *(_figure(row[name]) for name in names))
  return table


def _figure(value: float) -> str:
  return str(value) if isinstance(value, int) else f"{value:.3f}"


def _confused(confusion: Mapping[tuple[str, str], int]) -> list[tuple[str, str, int]]:
  wrong = [(gold, label, n) for (gold, label), n in confusion.items() if gold != label and n]
  return sorted(wrong, key=lambda row: -row[2])


def _pairs(rows: Sequence[tuple[str, str, int]]) -> Table:
  table = Table("gold", "predicted", "times")
  for gold, predicted, count in rows:
    table.add_row(Text(gold or NOTHING), Text(predicted or NOTHING), str(count))
  return table


def _mistake(mistake: Mistake) -> Text:
  text, marks = _cut(mistake)
  return Text.assemble(
    (f"\n{mistake.id}  ", "bold"),
    terminal_text(text, marks),
    f"\n  gold: {mistake.gold}\n  predicted: {_predicted(mistake)}",
  )


def _predicted(mistake: Mistake) -> str:
  """Returns the prediction, with its score if it has one."""
  score = f" ({mistake.score:.2f})" if mistake.score else ""
  return f"{mistake.predicted}{score}"


def _cut(mistake: Mistake) -> tuple[str, list[Any]]:
  """Returns the text around the marks, and the marks moved accordingly."""
  if not mistake.marks:
    return mistake.text[: 2 * SURROUNDINGS], []
  first = max(0, min(mark.start for mark in mistake.marks) - SURROUNDINGS)
  last = max(mark.end for mark in mistake.marks) + SURROUNDINGS
  moved = [m._replace(start=m.start - first, end=m.end - first) for m in mistake.marks]
  return mistake.text[first:last], moved


def page(evaluation: Evaluation, title: str, mistakes: int) -> str:
  """Returns the evaluation as an HTML page that loads nothing from elsewhere."""
  parts = [f"<h1>{html.escape(title)}</h1>", _html_scores(evaluation.scores)]
  if evaluation.labels:
    parts += ["<h2>Labels</h2>", _html_labels(evaluation.labels)]
  if evaluation.confusion:
    parts += [
      "<h2>Gold (rows) and predicted (columns)</h2>",
      _confusion_matrix(evaluation.confusion),
    ]
  if evaluation.mistakes:
    parts.append("<h2>The worst mistakes</h2>")
    shown = evaluation.mistakes[:mistakes]
    colours = hues(mark.name for mistake in shown for mark in mistake.marks)
    parts += [_html_mistake(mistake, colours) for mistake in shown]
  return Picture("\n".join(parts), title).page


def _html_scores(scores: Mapping[str, float]) -> str:
  rows = [
    f"<tr><td>{html.escape(name.replace('_', ' '))}</td><td class=number>{value:.4f}</td>"
    f"<td class=bar>{bar(value)}</td></tr>"
    for name, value in scores.items()
  ]
  return f"<table>{''.join(rows)}</table>"


def _html_labels(labels: Mapping[str, Mapping[str, float]]) -> str:
  names = list(next(iter(labels.values())))
  header = "".join(f"<th class=number>{html.escape(name)}</th>" for name in names)
  rows = [
    f"<tr><td>{html.escape(label)}</td>"
    + "".join(f"<td class=number>{_figure(row[name])}</td>" for name in names)
    + f"<td class=bar>{bar(row.get('f1', 0.0))}</td></tr>"
    for label, row in labels.items()
  ]
  body = "".join(rows)
  return f"<div class=wide><table><tr><th></th>{header}<th></th></tr>{body}</table></div>"


def _confusion_matrix(confusion: Mapping[tuple[str, str], int]) -> str:
  """Returns the counts of the most frequent labels as a table, darker where higher."""
  counts: dict[str, int] = {}
  for (gold, predicted), count in confusion.items():
    for label in {gold, predicted}:
      counts[label] = counts.get(label, 0) + count
  labels = sorted(sorted(counts, key=lambda label: -counts[label])[:MOST_LABELS])
  most = max((confusion.get(pair, 0) for pair in itertools.product(labels, labels)), default=1) or 1
  names = [html.escape(label or NOTHING) for label in labels]
  rows = ["<tr><th></th>" + "".join(f"<th class=turned><span>{n}</span></th>" for n in names)]
  for gold, name in zip(labels, names, strict=True):
    cells = (
      _cell(confusion.get((gold, predicted), 0), most, gold == predicted) for predicted in labels
    )
    rows.append(f"<tr><th>{name}</th>{''.join(cells)}")
  omitted = len(counts) - len(labels)
  note = f"<p>The {omitted} rarer labels are not shown.</p>" if omitted else ""
  return f"<div class=wide><table class=square>{''.join(rows)}</table></div>{note}"


def _cell(count: int, most: int, right: bool) -> str:
  share = (count / most) ** 0.5
  kind = "right" if right else "wrong"
  return f'<td class={kind} style="--share: {100 * share:.0f}%">{count or ""}</td>'


def _html_mistake(mistake: Mistake, colours: Mapping[str, int]) -> str:
  text, marks = _cut(mistake)
  lines: Iterable[str] = (
    f"<p class=mistake><b>{html.escape(mistake.id)}</b> {html_text(text, marks, colours)}</p>",
    f"<p class=labels>gold: {html.escape(mistake.gold)}<br>",
    f"predicted: {html.escape(_predicted(mistake))}</p>",
  )
  return "".join(lines)
