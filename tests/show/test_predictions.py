"""Entities, answers and labels in their texts."""

import colorsys
import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from luke_jax.errors import InputError
from luke_jax.show import answers, entities, labels
from luke_jax.show.marked import html_text, hue
from luke_jax.show.picture import STYLE
from luke_jax.show.predictions import shown
from luke_jax.tasks.classification.files import TextExample
from luke_jax.tasks.evaluation import Mark
from luke_jax.tasks.predictions import Answer, Label, Labels, Number, Span, Types

LABELS = re.compile(r"<small[^>]*>&nbsp;(.*?)&nbsp;</small>")
TAGS = re.compile(r"<[^>]*>")
TEXTS = st.text("ab <&\"'é東\n", min_size=28, max_size=40)
SPANS = st.lists(
  st.tuples(st.integers(0, 20), st.integers(1, 8), st.sampled_from("xyz<")).map(
    lambda span: (span[0], span[0] + span[1], span[2])
  )
)


def plain(marked):
  return html.unescape(TAGS.sub("", LABELS.sub("", marked)))


def test_what_is_expected_is_compared():
  picture = entities("Ana left Rome.", [(0, 3, "PER"), (9, 13, "PER")], gold=[(0, 3, "PER")])
  assert picture.body.count("✓") == 1 and picture.body.count("✗") == 1
  assert "missing" not in picture.body
  assert "missing" in entities("Ana left.", [], gold=[(0, 3, "PER")]).body
  assert "✓" not in entities("Ana left.", [(0, 3, "PER")]).body


@given(TEXTS, SPANS)
def test_every_character_is_in_as_many_marks_as_there_are_places_on_it(text, spans):
  marked = LABELS.sub("", html_text(text, [Mark(*span) for span in spans])).replace("<wbr>", "")
  depth, found = 0, []
  for part in re.findall(r"<[^>]*>|[^<]+", marked):
    if part.startswith("<"):
      depth += -1 if part.startswith("</") else 1
    else:
      found += [depth] * len(html.unescape(part))
  places = {(start, end) for start, end, _ in spans}
  assert found == [sum(a <= place < b for a, b in places) for place in range(len(text))]


def test_by_hand():
  marks = [Mark(0, 3, "PER"), Mark(2, 6, "ORG")]
  assert html_text("Ana in Oslo", marks) == (
    '<mark class="span" style="--hue: 215">An'
    '<mark class="span continues" style="--hue: 280">a</mark><small>&nbsp;PER&nbsp;</small></mark>'
    '<mark class="span continued" style="--hue: 280"> in<small>&nbsp;ORG&nbsp;</small></mark> Oslo'
  )


def test_each_label_of_a_span_has_its_own_colour():
  found = entities("Ana", [(0, 3, "person"), (0, 3, "writer"), (0, 3, "person")]).html
  assert (
    f'<mark class="span" style="--hue: {hue("person")}">Ana<small>&nbsp;person&nbsp;</small><wbr>'
    f'<small style="--hue: {hue("writer")}">&nbsp;writer&nbsp;</small></mark>'
  ) in found


def test_predictions_and_plain_spans_are_the_same(read):
  found = [Span("Ana", 0, 3, "person", 0.9), Span("Ana", 0, 3, "artist", 0.6)]
  marked = entities("Ana sang.", Types(tuple(found), {}))
  assert marked == entities("Ana sang.", [(0, 3, "person"), (0, 3, "artist")])
  assert LABELS.findall(marked.html) == ["person", "artist"]
  assert read(marked.html).text.strip() == "Ana sang."


def test_a_label_has_one_colour_in_all_pictures(read):
  one = entities("Ana sang.", [(0, 3, "person"), (0, 3, "artist")])
  other = entities("Oslo, Ana.", [(0, 4, "place"), (6, 9, "person")])
  (together,) = read(one.html).named("mark")
  place, person = read(other.html).named("mark")
  assert together["style"] == person["style"] != place["style"]


def test_what_texts_and_labels_say_is_no_markup(read):
  hostile = "</p><script>alert(1)</script>"
  picture = entities(hostile, [(0, 4, "<script>"), (2, 9, "&")])
  assert hostile in read(picture.page).text


@pytest.mark.parametrize(("text", "spans"), [("", []), ("Nobody here.", [])])
def test_nothing_found_is_said(text, spans, read):
  assert "nothing found" in read(entities(text, spans).html).text


@pytest.mark.parametrize(
  ("spans", "fault"),
  [
    ([(0, 30, "x")], "span 0 is (0, 30); expected 0 <= start < end <= 4"),
    ([(0, 2)], "span 0: (0, 2); expected (start, end, label)"),
    ([(0, 2, 3)], "expected (start, end, label)"),
    (["abc"], "expected (start, end, label)"),
  ],
)
def test_spans_that_are_none_are_refused(spans, fault):
  with pytest.raises(InputError) as told:
    entities("Oslo", spans)
  assert fault in str(told.value)


def luminance(hue, saturation, lightness):
  colour = colorsys.hls_to_rgb(hue / 360, lightness / 100, saturation / 100)
  linear = [c / 12.92 if c <= 0.04 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
  return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def shades(start):
  """Saturation and lightness for light and for dark, behind some text of the style."""
  rest = STYLE[STYLE.index(start) :]
  found = re.findall(r"hsl\(var\(--hue\) (\d+)% (\d+)%", rest)[:2]
  return [tuple(map(int, pair)) for pair in found]


@pytest.mark.parametrize("dark", [False, True])
@given(st.text(max_size=5).map(hue))
def test_colours_can_be_read(dark, colour):
  ground, ink = (luminance(0, 0, 7), 1.0) if dark else (1.0, 0.0)
  line, mark, tag, label = (
    luminance(colour, *shades(start)[dark])
    for start in ("--line: ", " mark { color", " mark small { font", "18%));\n  color: ")
  )
  for one, other in ((line, ground), (mark, ink), (tag, label)):
    low, high = sorted((one, other))
    assert (high + 0.05) / (low + 0.05) > 4.5


TEXT = "Ana <b> was born in Oslo, Norway, and lives in Bergen."
FOUND = [
  Answer("Oslo", 20, 24, 0.6),
  Answer("Oslo, Norway", 20, 32, 0.3),
  Answer("", 0, 0, 0.06),
  Answer("Bergen", 47, 53, 0.03),
  Answer("Ana", 0, 3, 0.01),
]


def test_the_best_is_marked_and_all_are_listed(read):
  picture = answers(TEXT, "Where was <Ana> born?", FOUND, count=4)
  told = read(picture.page)
  assert "Where was <Ana> born?" in told.text and TEXT[:24] in told.text
  marks = [mark["style"] for mark in told.named("mark")]
  assert [style.partition("--share: ")[2] for style in marks] == ["1.00", "0.20"]
  for line in ("1  Oslo", "0.600", "2  Oslo, Norway", "3  (no answer)", "4  Bergen", "0.030"):
    assert line in told.text
  assert "5  Ana" not in told.text


def test_an_answer_that_stands_in_several_places_is_one(read):
  found = [Answer("an", 1, 3, 0.5), Answer("an", 38, 40, 0.3), Answer("Oslo", 20, 24, 0.2)]
  text = "Lan <b> was born in Oslo, Norway, lan and lives."
  told = read(answers(text, "Who?", found, count=2).html)
  assert len(told.named("mark")) == 2
  assert "1  an" in told.text and "2  Oslo" in told.text


def test_a_gap_is_shown_in_its_query(read):
  told = read(answers(TEXT, "Ana was born in @placeholder.", FOUND).html)
  assert told.named("span", class_="gap") and "@placeholder" not in told.text


@pytest.mark.parametrize("found", [[], [Answer("", 0, 0, 1.0)], [Answer("Ana", 0, 3, 0.0)]])
def test_no_answer_leaves_the_passage(found, read):
  assert "lives in Bergen." in read(answers(TEXT, "Who?", found).html).text


def test_answers_of_another_text_are_refused():
  with pytest.raises(InputError, match="answers: span 0 is"):
    answers("short", "Where?", FOUND)
  with pytest.raises(InputError, match="count: 0"):
    answers(TEXT, "Where?", FOUND, count=0)


FOUND_LABELS = Labels((Label("b<", 0.7),), {"a": 0.1, "b<": 0.7, "c": 0.2})


def test_a_text_and_its_most_probable_labels():
  page = labels("x & y", FOUND_LABELS, pair="z", count=2).page
  assert '<p dir="auto">x &amp; y</p><p dir="auto">z</p>' in page
  assert page.index("b&lt;</td>") < page.index(">c</td>") and ">a</td>" not in page
  assert "0.700" in page
  with pytest.raises(InputError, match="prediction: a Number; expected labels of a text"):
    labels("x", Number(1.0))


@pytest.mark.parametrize(
  ("prediction", "line"),
  [(FOUND_LABELS, "b< 0.70"), (Labels((), {"a": 0.1}), "nothing"), (Number(2.34567), "2.346")],
)
def test_lines_of_the_terminal(prediction, line):
  example = TextExample("1", "FILE", "one", "two")
  assert shown(example, prediction).plain == f"one\ntwo\n  {line}\n"
