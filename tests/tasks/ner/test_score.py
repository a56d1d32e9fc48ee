"""Scores by hand, and of files that other systems wrote."""

import json

import pytest

from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.tasks.evaluation import Mark
from luke_jax.tasks.ner.files import parse, read
from luke_jax.tasks.ner.score import (
  evaluate,
  other_labels,
  read_predictions,
  score,
  score_file,
  without_labels,
)
from luke_jax.tasks.predictions import Labelled, Span, TaggedSpans

GOLD = """-DOCSTART- O

Ana B-PER
met O
Bo B-PER
Li I-PER

-DOCSTART- O

in O
New B-LOC
York I-LOC
City I-LOC
"""


@pytest.fixture
def gold(tmp_path):
  (tmp_path / "gold.conll").write_text(GOLD)
  return read(tmp_path / "gold.conll", Faults())


def predicted(tmp_path, text, name="predicted.conll"):
  (tmp_path / name).write_text(text)
  return read_predictions(tmp_path / name, Faults())


def test_scores_by_hand():
  gold = [{Labelled(0, 1, "A"), Labelled(2, 4, "B")}, {Labelled(0, 1, "A")}, set()]
  found = [{Labelled(0, 1, "A"), Labelled(2, 4, "A")}, set(), {Labelled(5, 6, "B")}]
  scores = score(gold, found)
  of_all = {"f1": pytest.approx(1 / 3), "precision": 1 / 3, "recall": 1 / 3}
  assert scores == of_all | {"false_answers": 1}  # the last text has no name
  assert next(iter(scores)) == "f1"
  nothing = {"f1": 0, "precision": 0, "recall": 0, "false_answers": 0}
  assert score([set()], [set()]) == nothing


def test_columns_of_any_scheme(gold, tmp_path):
  lines = "-DOCSTART-\n\nAna x S-PER\nmet x O\nBo x I-PER\nLi x I-PER\n\n-DOCSTART-\n\n"
  right = predicted(tmp_path, lines + "in x O\nNew x B-LOC\nYork x I-LOC\nCity x E-LOC\n")
  assert score_file(gold, right)["f1"] == 1
  half = predicted(tmp_path, lines + "in x O\nNew x B-LOC\nYork x B-LOC\nCity x O\n")
  assert score_file(gold, half) == pytest.approx({"f1": 4 / 7, "precision": 1 / 2, "recall": 2 / 3})


def test_json_lines_with_documents_missing_and_spans_twice(gold, tmp_path):
  spans = [[0, 1, "PER"], [0, 1, "PER"], [2, 4, "LOC"]]
  found = predicted(tmp_path, json.dumps({"id": "1", "spans": spans}) + "\n", "a.jsonl")
  scores = score_file(gold, found)
  assert (scores["precision"], scores["recall"]) == (1 / 2, 1 / 3)


def test_predictions_for_texts_are_characters(tmp_path):
  example = parse({"id": "a", "text": "Ana met", "spans": [[0, 3, "PER"]]}, "1", "here")
  lines = predicted(tmp_path, '{"id": "1", "spans": [[0, 3, "PER"]]}\n', "a.jsonl")
  columns = predicted(tmp_path, "-DOCSTART-\n\nAna B-PER\nmet O\n")
  assert score_file([example], lines)["f1"] == score_file([example], columns)["f1"] == 1


@pytest.mark.parametrize(
  ("name", "text", "fault"),
  [
    ("a.conll", "Ana\n", "a.conll: no tags; expected a column of words and one of predicted tags"),
    (
      "a.conll",
      "Ana PER\n",
      "a.conll: line 1: tag 'PER'; expected O, or one of B- I- M- E- S- and",
    ),
    ("a.conll", "Ana O\n", "predictions: id '1': 1 words; expected 4, as in "),
    ("a.jsonl", '{"id": "1", "spans": [[3, 5, "X"]]}', "id '1': [3, 5]; expected spans of"),
    ("a.jsonl", '{"id": "3", "spans": []}', "predictions: id '3': of no example; expected"),
    ("a.jsonl", '{"id": "1"}', "a.jsonl: line 1: spans: missing; expected a list"),
  ],
)
def test_bad_predictions(gold, tmp_path, name, text, fault):
  with pytest.raises(InputError) as found:
    score_file(gold, predicted(tmp_path, text, name))
  assert fault in str(found.value)


def test_answers_must_be_known(tmp_path):
  example = parse({"text": "Ana"}, "1", "here")
  with pytest.raises(InputError, match="here: no spans; expected those of the entities, or tags"):
    score_file([example], {})


def test_evaluation(gold):
  at = gold[1].text.index("New")
  spans = [
    [Span("Ana", 1, 4, "PER", 0.9), Span("met", 5, 8, "LOC", 0.4)],
    [Span("New York", at, at + 8, "LOC", 0.8)],
  ]
  found = evaluate(gold, spans)
  assert found.scores["f1"] == pytest.approx(1 / 3)
  assert found.labels["PER"] == {"precision": 1, "recall": 0.5, "f1": pytest.approx(2 / 3)} | {
    "count": 2
  }
  assert found.labels["LOC"] == {"precision": 0, "recall": 0, "f1": 0, "count": 1}
  assert found.confusion == {("PER", "PER"): 1, ("PER", ""): 1, ("", "LOC"): 2, ("LOC", ""): 1}
  near, false, missed = found.mistakes
  assert (near.id, near.score) == ("2", 0.8)
  assert (near.gold, near.predicted) == ("LOC: New York City", "LOC: New York")
  assert near.text == "in New York City"
  assert near.marks == (Mark(3, 11, "LOC", "wrong"), Mark(3, 16, "LOC", "missed"))
  assert (false.gold, false.predicted) == ("nothing", "LOC: met")
  assert (missed.gold, missed.predicted, missed.score) == ("PER: Bo Li", "nothing", 0)
  right, wrong = Mark(0, 3, "PER", "right"), Mark(4, 7, "LOC", "wrong")
  missing = Mark(8, 13, "PER", "missed")
  assert false.marks == (wrong, right, missing)  # its own first, then the others
  assert missed.marks == (missing, right, wrong)


def test_a_name_that_is_surely_passed_over_is_looked_at_first(gold):
  words = [gold[0].text[slice(*word)] for word in gold[0].words]
  sure = tuple(0.9 if word == "Li" else 0.97 for word in words)
  met = Span("met", 5, 8, "LOC", 0.4)
  tagged = TaggedSpans((met,), ("O",) * len(words), sure)
  nothing = TaggedSpans((), ("O",) * len(gold[1].words), (0.2,) * len(gold[1].words))
  told = [(x.gold, x.predicted, x.score) for x in evaluate(gold, [tagged, nothing]).mistakes]
  assert told[:2] == [("PER: Ana", "nothing", 0.97), ("PER: Bo Li", "nothing", 0.9)]
  assert told[2:] == [("nothing", "LOC: met", 0.4), ("LOC: New York City", "nothing", 0.2)]


def test_labels_that_gold_never_has(gold):
  """Of a model that knows more labels than the file they are counted, or left out."""
  tags, scores = ("B-PER", "B-MISC", "O", "O"), (0.9,) * 4
  ana, met = Span("Ana", 1, 4, "PER", 0.9), Span("met", 5, 8, "MISC", 0.4)
  predictions = [[ana, met], TaggedSpans((met,), tags, scores)]
  assert other_labels(gold, predictions) == {"MISC": 2}
  plain, tagged = without_labels(predictions, {"MISC"})
  assert plain == [ana] and tagged.spans == () and tagged.tags == ("B-PER", "O", "O", "O")
