import dataclasses
import io
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from luke_jax.show.evaluation_page import excerpt, page, tables
from luke_jax.show.marked import hue, terminal_text
from luke_jax.show.picture import STYLE
from luke_jax.show.predictions import pictured, shown
from luke_jax.tasks.evaluation import Evaluation, Mark, Mistake
from luke_jax.tasks.predictions import Answer, Link, Mention, Relation, Span
from luke_jax.tasks.typing.files import TypingExample

OUTCOMES = ("right", "wrong", "missed")
TEXT = "Ana & <Bert> live in Oslo."
MISTAKE = Mistake("7", TEXT, (Mark(0, 3, "head"), Mark(6, 12, "tail")), "none", "a<b", 0.93)
EVALUATION = Evaluation(
  {"f1": 0.5, "precision": 0.25},
  {"a<b": {"precision": 0.5, "recall": 1.0, "f1": 0.667, "count": 3}},
  {("a<b", "a<b"): 3, ("a<b", "none"): 2},
  [MISTAKE],
)


def test_the_page_stands_alone_and_tells_all(read):
  reader = read(page(EVALUATION, "relations: a & b", 5))
  for told in ("relations: a & b", "0.5000", "a<b", "Ana", "<Bert>", "predicted: a<b (0.93)"):
    assert told in reader.text


def test_an_evaluation_of_scores_alone_has_a_page(read):
  assert "1.0000" in read(page(Evaluation({"f1": 1.0}), "qa", 5)).text


def printed(evaluation):
  console = Console(file=io.StringIO(), width=100)
  console.print(tables(evaluation, 5))
  return console.file.getvalue()


def test_the_terminal_tells_all():
  told = printed(EVALUATION)
  for expected in (
    "0.5000",
    "a<b",
    "2",
    "[Ana head] & [<Bert> tail] live",
    "predicted: a<b (0.93)",
  ):
    assert expected in told


def test_json_tells_all():
  value = json.loads(json.dumps(EVALUATION.as_json()))
  assert value["scores"] == {"f1": 0.5, "precision": 0.25}
  assert value["confusion"][1] == {"gold": "a<b", "predicted": "none", "count": 2}
  mark = {"start": 6, "end": 12, "name": "tail", "outcome": ""}
  assert value["mistakes"][0]["marks"][1] == mark
  same = Evaluation.from_json(value)
  assert same == dataclasses.replace(EVALUATION, mistakes=list(EVALUATION.mistakes))


NAMES = Evaluation(
  {"f1": 0.5},
  mistakes=[
    Mistake("3", "Ana, Bo Li in Oslo", marks, gold, predicted, score)
    for marks, gold, predicted, score in [
      ((Mark(14, 18, "ORG", "wrong"), Mark(0, 3, "PER", "right")), "LOC: Oslo", "ORG: Oslo", 0.8),
      ((Mark(14, 18, "LOC", "missed"), Mark(5, 10, "PER", "missed")), "PER: Bo Li", "nothing", 0),
    ]
  ],
)


def test_right_wrong_and_missed_are_told_apart_on_the_page(read):
  told = page(NAMES, "names", 5)
  reader = read(told)
  right, wrong, missed = (reader.named("mark", class_=f"span {x}") for x in OUTCOMES)
  assert (len(right), len(wrong), len(missed)) == (1, 1, 1)
  for name in ("PER", "ORG"):
    assert any(tag["style"] == f"--hue: {hue(name)}" for tag in [*right, *wrong])
  sign = '<i role="img" aria-label="{}">{}</i>'
  for tag in (
    f"Ana<small>&nbsp;{sign.format('right', '✓')}&nbsp;PER&nbsp;</small>",
    f"Oslo<small>&nbsp;{sign.format('wrong', '✗')}&nbsp;ORG&nbsp;</small>",
    ">&nbsp;missing&nbsp;LOC&nbsp;</small>",
    "Bo Li<small>&nbsp;missing&nbsp;PER&nbsp;</small>",
  ):
    assert tag in told
  for meaning in ("predicted, and right", "predicted, but wrong", "not predicted, but gold"):
    assert meaning in reader.text
  assert "mark.wrong { outline: 2px solid" in STYLE and "mark.missed { background: none" in STYLE


def test_right_wrong_and_missed_are_told_apart_in_the_terminal():
  told = printed(NAMES)
  assert "[Ana ✓ PER], [Bo Li missing PER] in [Oslo ✗ ORG, missing LOC]" in told
  assert "✓: predicted, and right; ✗: predicted, but wrong; missing: not predicted" in told
  assert told.count("[Ana") == 1  # two mistakes of one text are together
  assert "predicted: ORG: Oslo (0.80); gold: LOC: Oslo" in told
  assert "predicted: nothing; gold: PER: Bo Li" in told


def test_mistakes_come_first_and_many_are_folded(read):
  mistakes = [MISTAKE._replace(id=f"id {number}", text=f"{TEXT} {number}") for number in range(20)]
  reader = read(page(Evaluation(EVALUATION.scores, mistakes=mistakes), "many", 15))
  assert reader.text.index("<Bert>") < reader.text.index("0.5000")
  assert "the worst 15 of 20" in reader.text
  assert "More texts: 7" in reader.text and "id 14" in reader.text and "id 15" not in reader.text


def test_no_mistakes_are_said_to_be_none(read):
  assert "No mistakes." in read(page(Evaluation({"f1": 1.0}), "qa", 5)).text
  assert "None of 1 shown" in read(page(EVALUATION, "relations", 0)).text


def test_right_cells_of_the_matrix_have_a_frame_and_headers_a_scope(read):
  told = page(EVALUATION, "relations", 5)
  assert '<td class="right" style="--share: 100%">3</td>' in told
  assert "td.right { font-weight: 700; box-shadow: inset 0 0 0 2px" in STYLE
  assert len(read(told).named("th", scope="row")) >= 5


def test_of_many_labels_the_confusions_are_listed_and_the_matrix_is_folded(read):
  pairs = {(f"label {n}", f"label {n + 1}"): 30 - n for n in range(20)}
  told = page(Evaluation({"f1": 0.5}, confusion=pairs), "relations", 5)
  listed, folded = told.split("All counts as a matrix")
  assert "<td>label 0</td><td>label 1</td>" in listed
  assert 'class="square"' in folded and 'class="square"' not in listed


def test_of_long_texts_words_around_the_marks_are_shown():
  text = " ".join(f"word{number}" for number in range(300))
  at = [text.index("word100"), text.index("word250")]
  shown, marks = excerpt(text, [Mark(start, start + 7, "x") for start in at])
  assert [shown[mark.start : mark.end] for mark in marks] == ["word100", "word250"]
  assert shown.startswith("… word") and shown.count("…") == 3 and len(shown) < 450
  assert set(shown.split()) <= {*text.split(), "…"}


@given(st.text("ab c", max_size=900), st.lists(st.tuples(st.integers(0, 899), st.integers(1, 9))))
def test_an_excerpt_has_all_that_is_marked(text, places):
  marks = [Mark(a, min(a + b, len(text)), "x") for a, b in places if a < len(text)]
  shown, moved = excerpt(text, marks)
  found = sorted(shown[mark.start : mark.end] for mark in moved)
  assert found == sorted(text[mark.start : mark.end] for mark in marks)


def test_the_terminal_shows_marks_inside_marks():
  marks = [Mark(3, 16, "LOC", "missed"), Mark(3, 11, "LOC", "wrong")]
  told = terminal_text("in New York City", marks).plain
  assert told == "in [[New York ✗ LOC] City missing LOC]"


MARKS = st.lists(
  st.tuples(st.integers(0, 20), st.integers(1, 8)).map(lambda p: Mark(p[0], p[0] + p[1], "x"))
)


@given(st.text("ab <&é\n", min_size=28, max_size=40), MARKS)
def test_marks_change_nothing_of_the_text(text, marks):
  assert re.sub(r"\[| x\]", "", terminal_text(text, marks).plain) == text


@pytest.mark.parametrize(
  ("prediction", "told"),
  [
    ([Span("Oslo", 21, 25, "place", 0.9)], "Oslo place"),
    ([], "nothing"),
    (
      Relation(Mention("Ana", 0, 3), Mention("Oslo", 21, 25), "lives_in", 0.8),
      "Ana | lives_in | Oslo  0.80",
    ),
    ([Answer("Oslo", 21, 25, 0.7), Answer("", 0, 0, 0.1)], "Oslo 0.70, (no answer) 0.10"),
    ([Answer("", 0, 0, 0.6)], "(no answer) 0.60"),
    ([Link("Oslo", 21, 25, "Oslo", "Q585", 0.9)], "Oslo: Oslo (wikidata.org/wiki/Q585) 0.90"),
    ([Link("Oslo", 21, 25, None, None, 0.6)], "Oslo: none 0.60"),
  ],
)
def test_every_kind_of_prediction_is_shown(prediction, told, read):
  example = TypingExample("1", "here", TEXT, (0, 3))
  assert told in shown(example, prediction).plain
  assert told.split(" ")[0] in read(pictured(example, prediction).page).text
