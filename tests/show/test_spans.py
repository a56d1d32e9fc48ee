import colorsys
import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from luke_jax.errors import InputError
from luke_jax.show import entities
from luke_jax.show.colours import hue
from luke_jax.show.marked import html_text
from luke_jax.show.style import STYLE
from luke_jax.tasks.evaluation import Mark
from luke_jax.tasks.predictions import Span, Types

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
