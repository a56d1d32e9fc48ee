"""Report of a training on one's own files: what its model gets right and wrong on dev."""

import dataclasses
from collections.abc import Mapping

from rich.console import RenderableType

from luke_jax.files import Path, whole
from luke_jax.show.evaluation_page import page
from luke_jax.show.evaluations import tables
from luke_jax.tasks.evaluation import Evaluation
from luke_jax.training import directory

REPORT = "report.html"  # in a run's folder
MISTAKES = 3  # in the terminal
MOST_LABELS = 20  # in the terminal


def write_report(
  run: Path, task: str, curve: Mapping[str, float] | None = None
) -> RenderableType | None:
  """Writes a page about the scores of dev into a run's folder, and returns it for a terminal.

  `curve` has the scores of shares of the examples. Returns None for a run whose task has no more
  than scores.
  """
  if not (run / directory.DEV).is_file():
    return None
  evaluation = Evaluation.from_json(directory.read_json(run / directory.DEV))
  with whole(run / REPORT) as part:
    title = f"{task}: dev of {run.name}"
    part.write_text(
      page(evaluation, title, len(evaluation.mistakes), curve or {}), encoding="utf-8"
    )
  few = evaluation.labels if len(evaluation.labels) <= MOST_LABELS else {}
  shown = dataclasses.replace(evaluation, labels=few)
  return tables(shown, MISTAKES)
