import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from luke_jax.errors import InputError
from luke_jax.show import relations
from luke_jax.show.arcs import WIDTHS
from luke_jax.show.drawn_text import in_rows, text_width
from luke_jax.tasks.predictions import Mention, Relation

TEXT = "Ana Berg was born in Oslo. Her sister Eva lives in Bergen, by the sea, with <b> & Bo."
ANA, OSLO, EVA, BERGEN = (0, 8), (21, 25), (38, 41), (51, 57)
ARCS = [(ANA, OSLO, "born in"), (EVA, ANA, "sister"), (EVA, BERGEN, "lives in")]


def numbers(path):
  return list(map(float, re.findall(r"-?[\d.]+", path)))


def letters(drawing, kind=None):
  texts = [x for x in drawing.iter("text") if x.get("class") == kind]
  return "".join(x.text for x in texts)


def test_both_drawings_hold_text_mentions_and_arcs(drawings, read):
  picture = relations(TEXT, ARCS)
  assert [x.get("class") for x in drawings(picture.html)] == list(WIDTHS)
  for drawing in drawings(picture.html):
    assert "".join(letters(drawing).split()) == "".join(TEXT.split())
    assert len([x for x in drawing.iter("rect") if x.get("class") == "mention"]) == 4
    assert len([x for x in drawing.iter("path") if x.get("class") == "arrow"]) == len(ARCS)
    assert {x.text for x in drawing.iter("text") if x.get("class") == "label"} == {
      "born in",
      "sister",
      "lives in",
    }
    assert float(drawing.get("width")) <= WIDTHS[drawing.get("class")] + 3
  read(picture.page)


def test_an_arc_goes_from_head_to_tail(drawings):
  (drawing,) = drawings(relations("Ana met Bo.", [((8, 10), (0, 3), "met")]).html)
  ana, bo = sorted(
    (float(x.get("x")), float(x.get("x")) + float(x.get("width"))) for x in drawing.iter("rect")
  )
  line, arrow = (numbers(x.get("d")) for x in drawing.iter("path"))
  assert bo[0] < line[0] < bo[1]
  assert ana[0] < arrow[-2] < ana[1]


def test_arcs_of_one_row_that_overlap_have_different_heights(drawings):
  text = "Ana met Bo and Cy."
  (drawing,) = drawings(
    relations(
      text, [((0, 3), (8, 10), "a"), ((0, 3), (15, 17), "b"), ((8, 10), (15, 17), "c")]
    ).html
  )
  heights = {x.text: float(x.get("y")) for x in drawing.iter("text") if x.get("class") == "label"}
  assert heights["b"] < heights["a"] == heights["c"]


def test_a_prediction_is_drawn_with_its_score(drawings):
  found = Relation(Mention("Ana", 0, 3), Mention("Bo", 8, 10), "per:<spouse>", 0.914)
  for one in (found, [found]):
    (drawing,) = drawings(relations("Ana met Bo.", one).html)
    assert letters(drawing, "label") == "per:<spouse> 0.91"


@pytest.mark.parametrize(
  ("text", "found"),
  [("", []), ("Nothing here.", []), ("A", [((0, 1), (0, 1), "self")]), (" \n ", [])],
)
def test_little_is_drawn_too(text, found, drawings):
  assert drawings(relations(text, found).html)


MENTIONS = st.lists(
  st.tuples(st.integers(0, 50), st.integers(1, 12)).map(lambda x: (x[0], x[0] + x[1])), max_size=5
)


@given(st.text("abW .,é東\n", min_size=62, max_size=90), MENTIONS, st.integers(40, 400))
def test_rows_hold_every_letter_once_and_mentions_lie_in_one(text, mentions, width):
  rows = in_rows(text, mentions, width)
  pieces = [piece for row in rows.rows for piece in row]
  assert "".join("".join(piece.text for piece in pieces).split()) == "".join(text.split())
  for row in rows.rows:
    for left, right in itertools.pairwise(row):
      assert left.x + left.width <= right.x + 1e-6
  for (start, end), box in rows.boxes.items():
    assert box.left >= 0 and box.right - box.left >= text_width(text[start:end]) - 1e-6
    assert box.row < len(rows.rows)


@given(st.lists(st.tuples(st.sampled_from([ANA, OSLO, EVA, BERGEN]), st.sampled_from([ANA, EVA]))))
def test_arcs_stay_in_their_drawing(pairs):
  picture = relations(TEXT, [(*pair, "label") for pair in pairs])
  for drawing in picture.body.split("<svg")[1:]:
    width, height = numbers(re.search(r'viewBox="(.*?)"', drawing)[1])[2:]
    for label in re.findall(r'class="label" x="(.*?)" y="(.*?)"', drawing):
      assert 0 <= float(label[0]) <= width and 0 < float(label[1]) < height


@pytest.mark.parametrize(
  ("wrong", "fault"),
  [
    ([((0, 3), (5, 99), "x")], "relation 0: span 1 is (5, 99)"),
    ([((0, 3), "x")], "expected (head, tail, label)"),
    ([7], "expected (head, tail, label)"),
  ],
)
def test_relations_that_are_none_are_refused(wrong, fault):
  with pytest.raises(InputError) as told:
    relations("Ana met Bo.", wrong)
  assert fault in str(told.value)
