"""The page of an evaluation in a browser: widths, themes, what a screen reader is told."""

import pytest

from luke_jax.show.evaluation_page import page as page_of
from luke_jax.tasks.evaluation import Evaluation, Mark, Mistake

pytestmark = pytest.mark.browser
LABELS = [f"label of some length {number}" for number in range(30)]
LONG = "Ana " + "sings " * 40 + "o" * 120 + " in Oslo"
SPANS = (
  Mark(0, 3, "PER", "right"),
  Mark(len(LONG) - 4, len(LONG), "ORG", "wrong"),
  Mark(len(LONG) - 4, len(LONG), "a label of very great length " * 3, "missed"),
  Mark(4, 9, "MISC", "missed"),
)
MISTAKES = [
  Mistake(f"id{n}", f"{LONG}", SPANS, "LOC: Oslo", "ORG: " + "o" * 90, 0.9, "Who? " * 30 + str(n))
  for n in range(30)
]
MANY = Evaluation(
  {"f1": 0.5, "a_score_with_a_long_name": 0.25},
  {label: {"precision": 0.5, "recall": 1.0, "f1": 0.667, "count": 3000} for label in LABELS},
  {(one, other): 5 for one in LABELS for other in LABELS[:7]},
  MISTAKES,
)
FEW = Evaluation(
  {"f1": 0.5},
  {label: {"precision": 0.5, "recall": 1.0, "f1": 0.667, "count": 30} for label in LABELS[:4]},
  {(one, other): 1234 for one in ("LOC", "", "PER", "MISC") for other in ("ORG", "LOC", "PER")},
  MISTAKES[:3],
)


def opened(browser, evaluation, width, scheme="light"):
  page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
  page.set_content(page_of(evaluation, "ner: " + "a" * 60 + " on test.jsonl", 50))
  return page


@pytest.mark.parametrize("evaluation", [MANY, FEW], ids=["many", "few"])
@pytest.mark.parametrize("width", [320, 390, 1200])
def test_nothing_is_wider_than_the_screen(browser, evaluation, width):
  page = opened(browser, evaluation, width)
  assert page.evaluate("document.documentElement.scrollWidth") <= width
  page.eval_on_selector_all("details", "x => x.forEach(e => { e.open = true })")
  assert page.evaluate("document.documentElement.scrollWidth") <= width
  page.close()


@pytest.mark.parametrize("width", [320, 390])
def test_the_tables_of_few_labels_fit_a_phone(browser, width):
  page = opened(browser, FEW, width)
  boxes = page.eval_on_selector_all(".wide", "x => x.map(e => e.scrollWidth - e.clientWidth)")
  assert boxes and max(boxes) <= 0
  page.close()


def test_the_page_is_about_three_screens(browser):
  page = opened(browser, MANY, 1200)
  assert page.evaluate("document.documentElement.scrollHeight") < 3.5 * 900
  page.close()


@pytest.mark.parametrize("width", [390, 1200])
def test_entities_come_first(browser, width):
  page = opened(browser, MANY, width)
  first = page.locator("mark.span").first.bounding_box()
  assert first["y"] < 600
  table = page.locator("table").first.bounding_box()
  assert table["y"] > first["y"] or table["x"] > first["x"] + 400
  page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_wrong_and_missed_have_outlines_and_no_green(browser, scheme):
  page = opened(browser, FEW, 1200, scheme)
  style = "e => { const s = getComputedStyle(e); return [s.outlineStyle, s.backgroundColor] }"
  outlines = {}
  for outcome in ("right", "wrong", "missed"):
    mark = page.locator(f"mark.span.{outcome}").first
    outlines[outcome], colour = mark.evaluate(style)
    red, green, blue = page.evaluate(
      """c => { const x = document.createElement('canvas').getContext('2d');
      x.fillStyle = c; x.fillRect(0, 0, 1, 1); return [...x.getImageData(0, 0, 1, 1).data] }""",
      colour,
    )[:3]
    assert green <= max(red, blue)
  assert outlines == {"right": "none", "wrong": "solid", "missed": "dashed"}
  page.close()


def test_a_screen_reader_is_told_what_is_right(browser):
  page = opened(browser, FEW, 1200)
  for word in ("right", "wrong"):
    assert page.get_by_role("img", name=word).count() >= 3
  assert page.get_by_role("rowheader", name="PER").count() >= 1
  assert page.get_by_role("columnheader", name="ORG").count() >= 1
  page.close()
