"""Report of a training on one's own files: what its model gets right and wrong on dev."""

import dataclasses
from collections.abc import Mapping

from rich.console import RenderableType

from luke_jax.files import Path, whole
from luke_jax.show.evaluation_page import page
from luke_jax.show.evaluations import tables
from luke_jax.tasks.evaluation import Evaluation, merged
from luke_jax.training import directory

REPORT = "report.html"  # in a run's folder
MISTAKES = 3  # in the terminal
MOST_LABELS = 20  # in the terminal


def write_report(
  run: Path, task: str, curve: Mapping[str, float] | None = None
) -> RenderableType | None:
  """Writes a page about the scores of dev into a run's folder, and returns it for a terminal.

  `curve` has the scores of shares of the examples. Of a cross-validation the page is of all
  examples, each by a model that did not train on it. Returns None for a run whose task has no more
  than scores.
  """
  folds = sorted(run.glob(f"{directory.FOLDS}/*/{directory.DEV}"))
  files = [file for file in (run / directory.DEV, *folds) if file.is_file()]
  if not files:
    return None
  evaluation = merged([Evaluation.from_json(directory.read_json(file)) for file in files])
  scored = (
    f"all examples of {run.name}, each by a model of others" if folds else f"dev of {run.name}"
  )
  with whole(run / REPORT) as part:
    shown = page(evaluation, f"{task}: {scored}", len(evaluation.mistakes), curve or {})
    part.write_text(shown, encoding="utf-8")
  few = evaluation.labels if len(evaluation.labels) <= MOST_LABELS else {}
  shown = dataclasses.replace(evaluation, labels=few)
  return tables(shown, MISTAKES)
