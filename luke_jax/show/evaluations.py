"""Evaluations as tables for the terminal and as JSON; the mistakes of one text together."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from luke_jax.show.marked import MEANINGS, SIGNS, terminal_text
from luke_jax.tasks.calibration import Kept, coverage_of
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
    parts.append(_labels(evaluation.labels))
  pairs = confused(evaluation.confusion)
  if pairs:
    parts.append(_pairs(pairs[:MOST_CONFUSED]))
  if evaluation.answers:
    parts.append(_surest(coverage_of(evaluation.answers)))
  shown = cases(evaluation.mistakes[:mistakes])
  legend = [f"{SIGNS[x]}: {MEANINGS[x]}" for x in outcomes_of(shown)]
  parts += [Text(f"\n{FIRST}", "bold")] if shown else []
  parts += [Text("; ".join(legend), "dim")] if legend else []
  parts += [_case(case) for case in shown]
  return Group(*parts)


def outcomes_of(shown: Iterable[Case]) -> list[Outcome]:
  """Returns the outcomes that some marks have."""
  present = {mark.outcome for case in shown for mark in case.marks}
  return [outcome for outcome in MEANINGS if outcome in present]


def score_figure(value: float) -> str:
  """Returns a score with four digits."""
  return f"{value:.4g}" if value > 1 else f"{value:.4f}"


def _labels(labels: Mapping[str, Mapping[str, float]]) -> Table:
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


def _pairs(rows: Sequence[tuple[str, str, int]]) -> Table:
  table = Table("gold", "predicted", "times")
  for gold, predicted, count in rows:
    table.add_row(Text(gold or NOTHING), Text(predicted or NOTHING), str(count))
  return table


def _surest(rows: Sequence[Kept]) -> Table:
  table = Table("surest answers", "score from", "right")
  for row in rows:
    table.add_row(f"{row.coverage:.0%}", f"{row.threshold:.3f}", f"{row.precision:.3f}")
  return table


def _case(case: Case) -> Text:
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
