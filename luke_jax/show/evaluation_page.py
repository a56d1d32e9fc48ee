"""Evaluations as an HTML page."""

import html
import itertools
from collections.abc import Iterable, Mapping

from luke_jax.show.evaluations import NOTHING, excerpt, figure, prediction
from luke_jax.show.marked import html_text, hues
from luke_jax.show.picture import Picture
from luke_jax.show.tables import bar
from luke_jax.tasks.evaluation import Evaluation, Mistake

MOST_LABELS = 40  # of the confusion matrix


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
    + "".join(f"<td class=number>{figure(row[name])}</td>" for name in names)
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
  text, marks = excerpt(mistake)
  lines: Iterable[str] = (
    f"<p class=mistake><b>{html.escape(mistake.id)}</b> {html_text(text, marks, colours)}</p>",
    f"<p class=labels>gold: {html.escape(mistake.gold)}<br>",
    f"predicted: {html.escape(prediction(mistake))}</p>",
  )
  return "".join(lines)
