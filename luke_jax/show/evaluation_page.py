"""Evaluations as an HTML page: mistakes in their texts first, then figures."""

import html
from collections.abc import Mapping, Sequence

from luke_jax.show.confusion import confusion_tables
from luke_jax.show.evaluations import figure, outcomes_of, prediction, score_figure
from luke_jax.show.marked import MEANINGS, html_sign, html_text
from luke_jax.show.mistakes import Case, cases
from luke_jax.show.picture import Picture
from luke_jax.show.tables import bar
from luke_jax.tasks.cloze.files import PLACEHOLDER
from luke_jax.tasks.evaluation import Evaluation, Mistake, Outcome

OPEN_CASES = 8  # texts with mistakes; the others are folded
OPEN_LABELS = 12  # of the table of labels
WIDE = "<style>body { max-width: 76rem }</style>"
GAP = '<span class="gap" title="the gap to fill">&nbsp;</span>'


def page(evaluation: Evaluation, title: str, mistakes: int) -> str:
  """Returns the evaluation as an HTML page that loads nothing from elsewhere."""
  figures = f"<section><h2>Scores</h2>{_scores(evaluation.scores)}</section>"
  if evaluation.labels:
    figures += f"<section><h2>Labels</h2>{_labels(evaluation.labels)}</section>"
  if evaluation.confusion:
    figures += confusion_tables(evaluation.confusion)
  shown = _mistakes(evaluation.mistakes, mistakes) + f"<div>{figures}</div>"
  heading = f"<h1>{html.escape(title)}</h1>"
  body = f'{WIDE}<div class="evaluation">{heading}<div class="beside">{shown}</div></div>'
  return Picture(body, title).page


def _mistakes(mistakes: Sequence[Mistake], count: int) -> str:
  shown = cases(mistakes[:count])
  if not shown:
    said = "No mistakes." if not mistakes else f"None of {len(mistakes)} shown."
    return f"<section><h2>Mistakes</h2><p>{said}</p></section>"
  rows = [_case(case) for case in shown]
  folded = rows[OPEN_CASES:]
  more = _folded(f"More texts: {len(folded)}", f"<ul>{''.join(folded)}</ul>") if folded else ""
  many = f"the worst {min(count, len(mistakes))} of {len(mistakes)}"
  heading = f'<h2>Mistakes <span class="quiet">{many}</span></h2>{_legend(outcomes_of(shown))}'
  return f"<section>{heading}<ul>{''.join(rows[:OPEN_CASES])}</ul>{more}</section>"


def _legend(outcomes: Sequence[Outcome]) -> str:
  entries = [
    f'<span><mark class="{x}" style="--hue: 215"><small>&nbsp;{html_sign(x)}&nbsp;</small></mark>'
    f" {MEANINGS[x]}</span>"
    for x in outcomes
  ]
  return f'<p class="legend note">{" ".join(entries)}</p>' if entries else ""


def _case(case: Case) -> str:
  first = case.mistakes[0]
  question = html.escape(first.question).replace(PLACEHOLDER, GAP)
  asked = f'<p dir="auto"><b>{question}</b></p>' if question else ""
  lines = [
    f"predicted: {html.escape(prediction(mistake))}; gold: {html.escape(mistake.gold)}"
    for mistake in case.mistakes
  ]
  return (
    f'<li>{asked}<p class="marked" dir="auto">{html_text(case.text, case.marks)}</p>'
    f'<p class="note">{html.escape(first.id)} · {"<br>".join(lines)}</p></li>'
  )


def _scores(scores: Mapping[str, float]) -> str:
  rows = [
    f'<tr><th scope="row">{html.escape(name.replace("_", " "))}</th>'
    f'<td class="number">{score_figure(value)}</td><td class="bar">{bar(value)}</td></tr>'
    for name, value in scores.items()
  ]
  return f"<table>{''.join(rows)}</table>"


def _labels(labels: Mapping[str, Mapping[str, float]]) -> str:
  """Returns a table of all labels; of many, one of the most frequent and one of the others."""
  if len(labels) <= OPEN_LABELS:
    return _label_table(labels)
  ordered = sorted(labels, key=lambda label: -labels[label].get("count", 0))
  often, rarely = ordered[:OPEN_LABELS], sorted(ordered[OPEN_LABELS:])
  rest = _label_table({label: labels[label] for label in rarely})
  table = _label_table({label: labels[label] for label in often})
  return table + _folded(f"Rarer labels: {len(rarely)}", rest)


def _label_table(labels: Mapping[str, Mapping[str, float]]) -> str:
  names = list(next(iter(labels.values())))
  header = "".join(f'<th scope="col" class="number">{html.escape(name)}</th>' for name in names)
  rows = [
    f'<tr><th scope="row">{html.escape(label)}</th>'
    + "".join(f'<td class="number">{figure(row[name])}</td>' for name in names)
    + f'<td class="bar">{bar(row.get("f1", 0.0))}</td></tr>'
    for label, row in labels.items()
  ]
  body = "".join(rows)
  table = f'<table class="labels"><tr><td></td>{header}<td></td></tr>{body}</table>'
  return f'<div class="wide">{table}</div>'


def _folded(title: str, content: str) -> str:
  return f"<details><summary>{html.escape(title)}</summary>{content}</details>"
