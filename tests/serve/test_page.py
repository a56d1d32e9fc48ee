"""The page in a browser: typing, clicking, asking, faults, small screens. Needs chromium."""

import functools
import re
import time
from concurrent.futures import Future

import pytest

from luke_jax.errors import InputError
from luke_jax.serve.asgi import of_service
from luke_jax.serve.guard import LOOPBACK, Limits
from luke_jax.serve.joining import Joined, TextItem
from luke_jax.serve.models import ServedModel
from luke_jax.serve.server import Server
from luke_jax.serve.service import Metrics, Service

playwright = pytest.importorskip("playwright.sync_api", reason="needs the extra `browser`")
expect = playwright.expect
pytestmark = pytest.mark.browser
KINDS = ["word → word", "word → entity", "entity → word", "entity → entity"]
SIZES = {"layers": 2, "heads": 3}


class Fixed(Service):
  """Answers that are known: each capitalised word is a name."""

  def __init__(self):
    self.limits = Limits()
    self.metrics = Metrics()
    self.joined = Joined(self.limits.waiting)
    self.warmed = Future()
    self._exact, self._refining = [], False

  def about(self):
    more = {"system": "LUKE", "queries": KINDS, "labels": [], "negative": None, **SIZES}
    named = [(f"english/{task}", task) for task in ("ner", "typing", "relations", "qa")]
    models = [{"name": x, "task": task, **more} for x, task in [*named, ("runs/ner", "tagging")]]
    models += [{"name": f"runs/{x}", "task": x, **more} for x in ("classification", "cloze")]
    models += [{"name": "english/facts", "task": "facts", **more, "sure": 0.7}]
    models[4] |= {"fitted": False}
    models[2] |= {"negative": "none", "labels": ["none", "child", "spouse"], "sure": 0.7}
    models[3] |= {"sure": 0.4}
    return models

  def model(self, request):
    return ServedModel(request["model"], None, None)

  def predict(self, request):
    texts = request["text"]
    columns = {name: [x] for name, x in request.items()} if isinstance(texts, str) else request
    items = [
      TextItem({name: x[i] for name, x in columns.items() if name != "model"}, "", 0)
      for i in range(len(columns["text"]))
    ]
    run = {"english/typing": _types, "english/relations": _relation, "english/qa": _answers}
    run |= {"english/facts": _facts, "runs/classification": _labels, "runs/cloze": _filled}
    one = run.get(request["model"], functools.partial(_names, request["model"]))
    promise = self.joined.submit(object(), lambda some: [one(**x.value) for x in some], items)
    return promise, isinstance(texts, str)

  def attention(self, request):
    if len(request["text"]) > 1000:
      raise InputError("text: too long; expected a sentence")
    weights = [[0.6, 0.3, 0.1], [0.1, 0.8, 0.1], [0.2, 0.3, 0.5]]
    answer = {"tokens": ["Ana", "sings", "Ana"], "words": 2, "weights": weights}
    return self.joined.submit(object(), lambda _: [answer], [TextItem(None, "", 0)])


def _names(model, text):
  if len(text) > 20_000:
    raise InputError("text: too many characters")
  names = [word for word in text.split() if word[:1].isupper()]
  label = "LOC" if model == "runs/ner" else "PER"
  spans = [_span(text, name.strip(".,"), label) for name in names]
  return {"spans": spans, "tags": []} if model == "runs/ner" else spans


def _types(text, span):
  time.sleep(0.1 if "slowly" in text else 0)
  return {"spans": [{"label": "scientist", "score": 0.9, "hue": 200}], "logits": {}}


def _relation(text, head, tail):
  label = "none" if head[0] > tail[0] else "spouse"
  return {"label": label, "score": 0.6 if "perhaps" in text else 0.75}


def _facts(text, names):
  """The spouse of two names, and a date of birth, each less sure than the one before."""
  if len(names) < 2:
    return []
  times = [x for x in names if x[2] == "TIME"]
  pairs = [(names[0], names[1], "spouse"), *((names[0], x, "date of birth") for x in times)]
  found = zip(pairs, (0.6 if "perhaps" in text else 0.75, 0.72, 0.3), strict=False)
  return [
    {
      "head": {"text": text[a[0] : a[1]]},
      "tail": {"text": text[b[0] : b[1]]},
      "label": x,
      "score": y,
    }
    for (a, b, x), y in found
  ]


def _answers(text, question):
  if "pope" in question:
    found = [("", 0.9), ("Ana", 0.2)]
  elif "perhaps" in question:
    found = [("Bo", 0.39), ("", 0.3)]
  elif "or" in question:
    found = [("Ana", 0.6), ("Bo", 0.3), ("Al", 0.01)]
  else:
    found = [(text[:3], 0.5)]
  return [{"text": x, "start": 0, "end": len(x), "score": score} for x, score in found]


def _labels(text, text_pair=""):
  label = "pair" if text_pair else "long" if len(text) > 20 else "short"
  return {"labels": [{"label": label, "score": 0.8}], "scores": {label: 0.8, "other": 0.2}}


def _filled(text, query, entities):
  (start, end), *_ = entities
  return [{"text": text[start:end], "start": start, "end": end, "score": 0.4}]


def _span(text, name, label):
  start = text.index(name)
  places = {"start": start, "end": start + len(name)}
  return {"text": name, **places, "label": label, "score": 0.9, "hue": 215}


@pytest.fixture
def server():
  with Server(of_service(Fixed(), hosts=LOOPBACK, page=True), port=0) as server:
    yield server


@pytest.fixture
def page(browser, server):
  """The page, opened; at the end nothing was asked of elsewhere and nothing was complained of."""
  page = browser.new_page(viewport={"width": 1000, "height": 900})
  asked, complaints = [], []
  page.on("request", lambda request: asked.append(request.url))
  page.on("console", lambda message: complaints.append(message.text))
  page.on("pageerror", lambda fault: complaints.append(str(fault)))
  page.goto(server.address)
  expect(page.locator("#status")).to_contain_text("name")
  page.complaints = complaints
  yield page
  assert all(url.startswith((server.address, "data:")) for url in asked)
  page.close()


def names(page, place="#names"):
  return page.eval_on_selector_all(f"{place} .name", "x => x.map(e => e.firstChild.textContent)")


def type_text(page, text, count):
  page.fill("#text", text)
  shown = f"{count} name" + ("s" if count != 1 else "") + " in"
  expect(page.locator("#status")).to_have_text(re.compile(f"^{shown} "))


def test_names_appear_as_one_types(page):
  type_text(page, "Ana met Bo in 🏝 Rome.", 3)
  assert names(page) == ["Ana", "Bo", "Rome"]  # after a letter of two units, too
  expect(page.locator("#names")).to_have_text(
    "Ana PER scientist met Bo PER scientist in 🏝 Rome PER scientist."
  )
  page.fill("#text", "")
  expect(page.locator("#status")).to_have_text("Nothing to read yet.")
  assert names(page) == [] and page.complaints == []


def test_a_text_has_labels_and_a_pair_has_others(page):
  type_text(page, "Ana sings.", 1)
  expect(page.locator("#labels")).to_have_text("shortshort0.80other0.20")
  page.fill("#pair", "She sings.")
  expect(page.locator("#labels p")).to_have_text("pair")
  code = page.inner_text("#code")
  assert 'print(labels.predict(text, text_pair="She sings."))' in code and page.complaints == []


def test_words_that_one_marks_are_chosen_and_fill_a_gap(page):
  type_text(page, "🏝 the arm of a crane", 0)
  page.click("#fill button")
  expect(page.locator("#filled")).to_have_text("Mark names of the text first.")
  page.click("#mark")
  expect(page.locator("#status")).to_have_text("Select words of the text first.")
  for word in ("crane", " arm "):
    page.evaluate(
      "w => { const t = document.getElementById('text'), i = t.value.indexOf(w);"
      " t.setSelectionRange(i, i + w.length) }",
      word,
    )
    page.click("#mark")
  expect(page.locator("#relation")).to_contain_text("crane, arm: none of the relations")
  assert names(page) == ["arm", "crane"]
  page.click("#fill button")
  expect(page.locator("#filled")).to_have_text("arm0.40")
  assert "entities=[[6,9],[15,20]]" in page.inner_text("#code") and page.complaints == []


def test_a_text_that_is_too_long_is_refused_in_a_line(page):
  page.fill("#text", "Ana " * 25_000)
  expect(page.locator("#status")).to_have_text("text: too many characters")
  type_text(page, "Ana met Bo.", 2)


def test_two_names_have_types_and_a_relation_by_mouse_and_keyboard(page):
  type_text(page, "Ana met Bo.", 2)
  page.click("#names button >> nth=0")
  page.wait_for_selector("#chosen td")
  assert "scientist" in page.inner_text("#chosen")
  page.focus("#names button >> nth=1")
  page.keyboard.press("Enter")
  page.wait_for_selector("#relation")
  assert page.inner_text("#relation") == "Ana — spouse → Bo (0.75)"
  pressed = page.eval_on_selector_all(
    "#names button", "x => x.map(e => e.getAttribute('aria-pressed'))"
  )
  assert pressed == ["true", "true"]
  code = page.inner_text("#code")
  assert 'luke_jax.load("english/relations")' in code and "head=[0,3], tail=[8,10]" in code
  compile(code, "code", "exec")
  page.click("#names button >> nth=0")
  page.click("#names button >> nth=0")
  none = "Bo, Ana: none of the relations that the model knows: child, spouse"
  expect(page.locator("#relation")).to_have_text(none)


def test_a_relation_that_the_model_is_not_sure_of_is_not_told(page):
  type_text(page, "Ana met Bo perhaps.", 2)
  page.click("#names button >> nth=0")
  page.click("#names button >> nth=1")
  unsure = "Ana, Bo: none that the model is sure of. It knows child, spouse"
  expect(page.locator("#relation")).to_have_text(unsure)


def test_facts_among_all_names_and_dates_are_shown_if_they_are_sure(page):
  type_text(page, "Ana met Bo in 1963, and again in 1964.", 2)
  expect(page.locator("#facts tr")).to_have_count(2)
  rows = page.eval_on_selector_all("#facts tr", "x => x.map(e => e.innerText.split('\\t'))")
  assert rows[0] == ["Ana", "spouse", "Bo", "0.75"]
  assert rows[1][1:3] == ["date of birth", "1963"]
  expect(page.locator("#facts-note")).to_have_text("1 less sure one is left out.")
  code = page.inner_text("#code")
  assert 'luke_jax.load("english/facts")' in code and '[14,18,"TIME"]' in code
  type_text(page, "Ana met Bo perhaps.", 2)
  none = "No fact that the model is sure of. 1 less sure one is left out."
  expect(page.locator("#facts-note")).to_have_text(none)
  expect(page.locator("#facts tr")).to_have_count(0)


def test_a_name_of_a_text_that_has_changed_is_not_chosen(page):
  """It is drawn until the names of the new text are there."""
  type_text(page, "Ana met Bo.", 2)
  script = """() => {
    document.querySelector("#text").value = "Cleo.";
    document.querySelector("#names button").click();
  }"""
  page.evaluate(script)
  assert "Cleo" not in page.inner_text("#names")
  type_text(page, "Cleo sang.", 1)
  page.click("#names button")
  page.wait_for_selector("#chosen td")
  assert page.complaints == []


def test_all_of_many_names_have_types(page):
  text = " ".join(f"N{number}" for number in range(95))
  type_text(page, text, 95)
  expect(page.locator("#names small", has_text="scientist")).to_have_count(95)


def test_types_do_not_take_the_focus_away(page):
  type_text(page, "Ana slowly met Bo.", 2)
  page.focus("#names button >> nth=1")
  assert "scientist" not in page.inner_text("#names")
  expect(page.locator("#names small", has_text="scientist")).to_have_count(2)
  assert page.evaluate("document.activeElement.firstChild.textContent") == "Bo"


def test_a_question_has_an_answer_and_its_python(page):
  type_text(page, 'Ana said "no\\n" to Bo.', 2)
  page.fill("#question", "Who?")
  page.press("#question", "Enter")
  page.wait_for_selector("#answers td")
  assert page.inner_text("#answers").split() == ["Ana", "0.50"]
  code = page.inner_text("#code")
  assert 'question="Who?"' in code
  values = {}
  exec(code.split("\n")[2], values)  # the line of the text
  assert values["text"] == 'Ana said "no\\n" to Bo.'


def test_nothing_that_is_hardly_an_answer_is_shown(page):
  unsure = (
    "No answer that the model is sure of. Left out: “Bo”, of score 0.39; answers are shown from"
  )
  unsure += " 0.40 on, of which nine in ten of dev are right."
  asked = {"Who is pope?": "no answer0.90", "Ana or Bo?": "Ana0.60Bo0.30", "Who perhaps?": unsure}
  for question, shown in asked.items():
    page.fill("#question", question)
    page.click("#ask button")
    expect(page.locator("#answers")).to_have_text(shown)


def test_scores_that_were_never_fitted_are_marked(page):
  expect(page.locator("#unfitted")).to_contain_text("Scores of runs/ner are as computed")


def test_attention_by_token_layer_head_and_kind(page):
  type_text(page, "Ana sings.", 1)
  page.click("#show-attention")
  page.wait_for_selector("#tokens button")
  page.focus("#tokens button >> nth=1")
  assert page.inner_text("#attention-note") == "sings reads sings 0.80, Ana 0.10, Ana 0.10"
  page.select_option("#kind", "entity → word")
  page.wait_for_selector("#tokens button[disabled]")
  enabled = page.eval_on_selector_all("#tokens button", "x => x.map(e => !e.disabled)")
  assert enabled == [False, False, True]
  page.hover("#tokens button >> nth=2")
  assert page.inner_text("#attention-note") == "Ana reads sings 0.30, Ana 0.20"
  assert page.eval_on_selector("#layer", "x => x.options.length") == SIZES["layers"]
  assert page.eval_on_selector("#head", "x => x.options.length") == SIZES["heads"] + 1
  page.fill("#text", "Ana " + "sings " * 200)
  page.click("#show-attention")
  expect(page.locator("#attention-note")).to_contain_text("too long")


def test_two_models_stand_beside_each_other(page):
  type_text(page, "Ana met Bo.", 2)
  page.select_option("#ner-other", "runs/ner")
  page.wait_for_selector("#other-names .name")
  assert names(page, "#other-names") == ["Ana", "Bo"]
  assert "LOC" in page.inner_text("#other-names")


def test_a_server_that_has_gone_is_named(page, server):
  type_text(page, "Ana met Bo.", 2)
  server.stop()
  server._thread.join()
  page.fill("#text", "Cleo")
  expect(page.locator("#status")).to_contain_text("luke-jax try no longer runs")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1000])
def test_nothing_is_wider_than_the_screen(browser, server, width, scheme):
  page = browser.new_page(viewport={"width": width, "height": 700}, color_scheme=scheme)
  page.goto(server.address)
  page.wait_for_selector("#names .name")
  type_text(page, f"Ana met {'Bo' * 60} and Cleo " * 3, 9)
  page.click("#names button >> nth=0")
  page.click("#show-attention")
  page.wait_for_selector("#tokens button")
  assert page.evaluate("document.documentElement.scrollWidth") <= width
  page.close()
