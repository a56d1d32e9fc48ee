"""Evaluations in the terminal and as a page: mistakes in their texts first, or figures."""

import html
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from luke_jax.show.marked import MEANINGS, SIGNS, html_sign, html_text, terminal_text
from luke_jax.show.picture import Picture, bar, bars
from luke_jax.tasks.calibration import Answered, Kept, bins_of, calibration_error, coverage_of
from luke_jax.tasks.cloze.files import PLACEHOLDER
from luke_jax.tasks.evaluation import Evaluation, Mark, Mistake, Outcome
from luke_jax.text.tokenizer import Bounds

SURROUNDINGS = 100  # characters of a text before and after its marks
LEFT_OUT = "…"
FIRST = "The surest mistakes: look at these first, as some are mistakes of the labels"


class Case(NamedTuple):
  """A text, as far as it is near its marks, and the mistakes in it."""

  text: str
  marks: Sequence[Mark]
  mistakes: Sequence[Mistake]  # the worst first


def cases(mistakes: Iterable[Mistake]) -> list[Case]:
  """Returns the mistakes, those of the same text together, in the order of the worst of each."""
  together: dict[tuple[str, str, str], list[Mistake]] = {}
  for mistake in mistakes:
    together.setdefault((mistake.id, mistake.question, mistake.text), []).append(mistake)
  marks = ([mark for mistake in same for mark in mistake.marks] for same in together.values())
  return [
    Case(*excerpt(text, list(dict.fromkeys(of_text))), same)
    for ((_, _, text), same), of_text in zip(together.items(), marks, strict=True)
  ]


def excerpt(text: str, marks: Sequence[Mark]) -> tuple[str, list[Mark]]:
  """Returns the parts of a text around its marks, and the marks moved accordingly."""
  shown, moved, end = "", [], 0
  for start, end in _stretches(text, marks):
    if start:
      shown += f" {LEFT_OUT} " if shown else f"{LEFT_OUT} "
    shift = len(shown) - start
    inside = (mark for mark in marks if start <= mark.start and mark.end <= end)
    moved += [m._replace(start=m.start + shift, end=m.end + shift) for m in inside]
    shown += text[start:end]
  return shown + (f" {LEFT_OUT}" if end < len(text) else ""), moved


def _stretches(text: str, marks: Iterable[Mark]) -> list[Bounds]:
  """Returns the stretches of a text that are at marks or near them; without marks its beginning."""
  stretches: list[Bounds] = []
  for start, end in sorted((mark.start, mark.end) for mark in marks):
    start, end = _before(text, start), _after(text, end)
    if stretches and start <= stretches[-1][1]:
      start, end = stretches[-1][0], max(end, stretches.pop()[1])
    stretches.append((start, end))
  return stretches or [(0, _after(text, 3 * SURROUNDINGS))]


def _before(text: str, mark: int) -> int:
  """Returns the start of the text shown before a mark, at a word if there is any."""
  first = max(0, mark - SURROUNDINGS)
  return text.find(" ", first, mark) + 1 or first if first else 0


def _after(text: str, mark: int) -> int:
  """Returns the end of the text shown after a mark, at a word if there is any."""
  last = mark + SURROUNDINGS
  if last >= len(text):
    return len(text)
  space = text.rfind(" ", mark, last)
  return last if space < 0 else space


MOST_CONFUSED = 15  # pairs in the terminal
NOTHING = "(none)"


def tables(evaluation: Evaluation, mistakes: int) -> RenderableType:
  """Returns scores, labels, confused pairs and the worst mistakes, for the terminal."""
  table = Table(show_header=False)
  table.add_column()
  table.add_column(justify="right")
  for name, value in evaluation.scores.items():
    table.add_row(name.replace("_", " "), score_figure(value))
  parts: list[RenderableType] = [table]
  if evaluation.labels:
    parts.append(_label_figures(evaluation.labels))
  pairs = confused(evaluation.confusion)
  if pairs:
    parts.append(_confused_pairs(pairs[:MOST_CONFUSED]))
  if evaluation.answers:
    parts.append(_surest(coverage_of(evaluation.answers)))
  shown = cases(evaluation.mistakes[:mistakes])
  legend = [f"{SIGNS[x]}: {MEANINGS[x]}" for x in outcomes_of(shown)]
  parts += [Text(f"\n{FIRST}", "bold")] if shown else []
  parts += [Text("; ".join(legend), "dim")] if legend else []
  parts += [_case_text(case) for case in shown]
  return Group(*parts)


def outcomes_of(shown: Iterable[Case]) -> list[Outcome]:
  """Returns the outcomes that some marks have."""
  present = {mark.outcome for case in shown for mark in case.marks}
  return [outcome for outcome in MEANINGS if outcome in present]


def score_figure(value: float) -> str:
  """Returns a score with four digits."""
  return f"{value:.4g}" if value > 1 else f"{value:.4f}"


def _label_figures(labels: Mapping[str, Mapping[str, float]]) -> Table:
  names = list(next(iter(labels.values())))
  table = Table()
  table.add_column("label")
  for name in names:
    table.add_column(name, justify="right")
  for label, row in labels.items():
    table.add_row(Text(label), *(figure(row[name]) for name in names))
  return table


def figure(value: float) -> str:
  """Returns a count as it is, and a share with three digits."""
  return str(value) if isinstance(value, int) else f"{value:.3f}"


def confused(confusion: Mapping[tuple[str, str], int]) -> list[tuple[str, str, int]]:
  """Returns the pairs of different labels with their counts, the most frequent first."""
  wrong = [(gold, label, n) for (gold, label), n in confusion.items() if gold != label and n]
  return sorted(wrong, key=lambda row: -row[2])


def _confused_pairs(rows: Sequence[tuple[str, str, int]]) -> Table:
  table = Table("gold", "predicted", "times")
  for gold, predicted, count in rows:
    table.add_row(Text(gold or NOTHING), Text(predicted or NOTHING), str(count))
  return table


def _surest(rows: Sequence[Kept]) -> Table:
  table = Table("surest answers", "score from", "right")
  for row in rows:
    table.add_row(f"{row.coverage:.0%}", f"{row.threshold:.3f}", f"{row.precision:.3f}")
  return table


def _case_text(case: Case) -> Text:
  first = case.mistakes[0]
  question = f"{first.question}\n" if first.question else ""
  lines = (f"\n  predicted: {prediction(x)}; gold: {x.gold}" for x in case.mistakes)
  return Text.assemble(
    (f"\n{first.id}  ", "bold"), question, terminal_text(case.text, case.marks), *lines
  )


def prediction(mistake: Mistake) -> str:
  """Returns the prediction, with its score if it has one."""
  score = f" ({mistake.score:.2f})" if mistake.score else ""
  return f"{mistake.predicted}{score}"


OPEN_CASES = 8  # texts with mistakes; the others are folded
OPEN_LABELS = 12  # of the table of labels
NO_CURVE: Mapping[str, float] = {}
WIDE = "<style>body { max-width: 76rem }</style>"
GAP = '<span class="gap" title="the gap to fill">&nbsp;</span>'


def page(
  evaluation: Evaluation, title: str, mistakes: int, curve: Mapping[str, float] = NO_CURVE
) -> str:
  """Returns the evaluation as an HTML page that loads nothing from elsewhere.

  `curve` has the scores of models of shares of the examples, if there are some.
  """
  figures = f"<section><h2>Scores</h2>{_scores(evaluation.scores)}</section>"
  if curve:
    figures += f"<section><h2>By share of the examples</h2>{bars(list(curve.items()))}</section>"
  if evaluation.labels:
    figures += f"<section><h2>Labels</h2>{_labels(evaluation.labels)}</section>"
  if evaluation.confusion:
    figures += confusion_tables(evaluation.confusion)
  if evaluation.answers:
    figures += f"<section><h2>What scores mean</h2>{_reliability(evaluation.answers)}</section>"
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
  heading = f'<h2>Mistakes <span class="quiet">{many}</span></h2><p class="note">{FIRST}.</p>'
  heading += _legend(outcomes_of(shown))
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


def _reliability(answers: Sequence[Answered]) -> str:
  """Returns how many answers are right, by parts of like scores."""
  rows = [(f"{x.count:,} of mean score {x.score:.2f}: right", x.right) for x in bins_of(answers)]
  error = calibration_error(answers)
  return f'{bars(rows)}<p class="note">Scores and shares differ by {error:.3f} on average.</p>'


def _folded(title: str, content: str) -> str:
  return f"<details><summary>{html.escape(title)}</summary>{content}</details>"


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
