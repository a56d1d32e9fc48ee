"""Evaluations as tables for the terminal and as JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from luke_jax.show.marked import terminal_text
from luke_jax.tasks.evaluation import Evaluation, Mistake

MOST_CONFUSED = 15  # pairs in the terminal
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
    table.add_row(Text(label), *(figure(row[name]) for name in names))
  return table


def figure(value: float) -> str:
  """Returns a count as it is, and a share with three digits."""
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
  text, marks = excerpt(mistake)
  return Text.assemble(
    (f"\n{mistake.id}  ", "bold"),
    terminal_text(text, marks),
    f"\n  gold: {mistake.gold}\n  predicted: {prediction(mistake)}",
  )


def prediction(mistake: Mistake) -> str:
  """Returns the prediction, with its score if it has one."""
  score = f" ({mistake.score:.2f})" if mistake.score else ""
  return f"{mistake.predicted}{score}"


def excerpt(mistake: Mistake) -> tuple[str, list[Any]]:
  """Returns the text around the marks, and the marks moved accordingly."""
  if not mistake.marks:
    return mistake.text[: 2 * SURROUNDINGS], []
  first = max(0, min(mark.start for mark in mistake.marks) - SURROUNDINGS)
  last = max(mark.end for mark in mistake.marks) + SURROUNDINGS
  moved = [m._replace(start=m.start - first, end=m.end - first) for m in mistake.marks]
  return mistake.text[first:last], moved
