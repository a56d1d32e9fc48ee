"""The parts of the demo's page. `make demo` makes all of it."""

import json
import random
import shlex

import pytest

from luke_jax.demo import report
from luke_jax.demo.report import FRESH, REPOSITORY, run_folder, steps
from luke_jax.tasks.predictions import Mention, Relation, Span
from luke_jax.training.metrics import summary_line


class Reader:
  """Stands for a model: knows names by heart."""

  def __init__(self, labels):
    self.labels = labels

  def predict(self, text, *, span=None, head=None, tail=None):
    if head is not None:
      mentions = [Mention(text[a:b], a, b) for a, b in (head, tail)]
      return Relation(*mentions, "mother", 0.9)
    text = text if isinstance(text, str) else text[0]
    found = [
      Span(name, text.index(name), text.index(name) + len(name), label, 1.0)
      for name, label in self.labels.items()
      if name in text
    ]
    return found if span is None else [[x for x in found if [x.start, x.end] == [*y]] for y in span]


@pytest.fixture
def models():
  return {
    "ner": Reader({"Ana": "PER", "Rome": "LOC"}),
    "typing": Reader({"Ana": "singer", "Rome": "city"}),
  }


def test_a_sentence_has_names_with_types_and_a_relation(models):
  entities, _, relation = report.sentence(models, Reader({}), "Ana left Rome.")
  assert all(label in entities.body for label in ("PER", "singer", "LOC", "city"))
  assert "mother" in relation.body


@pytest.mark.parametrize("text", ["Ana left.", "nobody", "", "🙂 ‏שלום Ana"])
def test_a_text_with_few_names_has_no_relation(models, text):
  assert len(report.sentence(models, Reader({}), text)) == 1


def test_right_and_wrong_are_words():
  assert report.verdict("spouse", "spouse") == "✓ right"
  assert report.verdict("spouse", "mother") == "✗ wrong; expected: mother"


def test_other_sentences_are_drawn_each_time():
  drawn = [report._drawn("ner", random.Random(seed)) for seed in range(5)]
  assert len({examples[0]["text"] for examples in drawn}) > 1


def test_scores_are_those_that_the_steps_wrote(tmp_path):
  (tmp_path / "logs").mkdir()
  (tmp_path / "logs/names.txt").write_text(f"table ...\n{summary_line({'f1': 0.75})}\n")
  figures = {"relations": {"accuracy": 0.8}, "typing": {"f1": 0.4}, "typing" + FRESH: {"f1": 0.3}}
  for name, scores in figures.items():
    folder = run_folder(tmp_path, name)
    folder.mkdir(parents=True)
    (folder / "result.json").write_text(json.dumps({"scores": {"test": scores}}))
  seconds = dict.fromkeys(["names", *figures], 2.0)
  rows = report.scores(tmp_path, seconds)
  assert [row.score for row in rows] == pytest.approx([75, 80, 40, 30])
  assert all(row.seconds == 2 for row in rows)


def test_commands_on_lines_are_the_same_commands():
  for step in steps(REPOSITORY / "demo"):
    lines = report._on_lines(step.command)
    assert max(map(len, lines.splitlines())) < 90
    assert shlex.split(lines.replace("\\\n", "")) == ["luke-jax", *step.arguments]
    assert str(REPOSITORY) not in lines
