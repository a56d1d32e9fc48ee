"""The report of a training on one's own files."""

import io

import pytest
from rich.console import Console

from luke_jax.files import write_json
from luke_jax.runs.results import REPORT, write_report
from luke_jax.tasks.evaluation import Evaluation, Mistake, merged
from luke_jax.training.directory import DEV, FOLDS

ONE, OTHER = (
  Evaluation(
    {"f1": f1, "accuracy": 1.0},
    {"a": {"precision": f1, "recall": f1, "f1": f1, "count": count}},
    {("a", "a"): count, ("a", "b"): 1},
    [Mistake(text, text, (), "a", "b", f1)],
  )
  for f1, count, text in ((0.5, 1, "the first text"), (0.9, 3, "the other text"))
)


def test_a_cross_validation_has_a_report_of_all_parts(tmp_path):
  for number, part in (("1", ONE), ("2", OTHER)):
    (tmp_path / FOLDS / number).mkdir(parents=True)
    write_json(tmp_path / FOLDS / number / DEV, part.as_json())
  console = Console(file=io.StringIO(), width=100)
  console.print(write_report(tmp_path, "classification"))
  told = console.file.getvalue()
  assert told.index("the other text") < told.index("the first text") and "0.7000" in told
  told = (tmp_path / REPORT).read_text()
  assert f"all examples of {tmp_path.name}, each by a model of others" in told


def test_figures_of_parts_are_means_over_examples():
  whole = merged([ONE, OTHER])
  assert whole.labels["a"] == pytest.approx(
    {"precision": 0.8, "recall": 0.8, "f1": 0.8, "count": 4}
  )
  assert whole.confusion == {("a", "a"): 4, ("a", "b"): 2}
  assert whole.scores == pytest.approx({"f1": 0.7, "accuracy": 1.0})


def test_a_training_without_scores_has_no_report(tmp_path):
  assert write_report(tmp_path, "classification") is None and not list(tmp_path.iterdir())
