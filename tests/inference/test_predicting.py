import dataclasses
import json

import jax
import numpy as np
import pytest
from tiny import tiny_model

import luke_jax
from luke_jax.errors import InputError
from luke_jax.inference import batches, predicting
from luke_jax.inference.batches import shapes_of
from luke_jax.inference.settings import settings_of, task_of
from luke_jax.tasks.typing.task import EntityTyping

TEXTS = ["Ana lives in Tokyo.", "Beyoncé lives in Los Angeles, said Ana.", "Ana"]
SPANS = [(13, 18), (17, 28), (0, 3)]


@pytest.fixture(scope="module")
def model():
  return tiny_model("LukeForEntityClassification")


def test_a_list_gives_what_its_texts_give_one_by_one(model):
  together = model.predict(TEXTS, span=SPANS)
  alone = [model.predict(text, span=span) for text, span in zip(TEXTS, SPANS, strict=True)]
  assert [[s[:4] for s in row] for row in together] == [[s[:4] for s in row] for row in alone]
  np.testing.assert_allclose(
    [s.score for row in together for s in row], [s.score for row in alone for s in row], atol=1e-5
  )
  for text, row in zip(TEXTS, together, strict=True):
    assert all(text[found.start : found.end] == found.text for found in row)


def test_texts_and_their_fields_come_in_anything_that_has_an_order(model):
  arrays = model.predict(np.array(TEXTS), span=(span for span in SPANS))
  assert arrays == model.predict(TEXTS, span=SPANS) == model.predict(TEXTS, span=np.array(SPANS))


def test_texts_that_come_one_by_one_share_programs():
  model = tiny_model("LukeForEntityClassification", hidden_size=8)
  texts = [f"{'Ana and ' * number}Ana lives in Tokyo." for number in range(30, 0, -1)]
  before = batches._logits._cache_size()
  for text in texts:
    model.predict(text, span=(0, 3))
  assert batches._logits._cache_size() <= before + 1


def test_what_was_predicted_before_changes_nothing():
  """Nor the same model's task with less room for a mention, which it reads otherwise."""
  model = tiny_model("LukeForEntityClassification", hidden_size=24)
  example = task_of(model).parse({"text": TEXTS[1], "span": SPANS[1]}, "1", "here")

  def scores(**changes):
    ((_, found),) = predicting.predictions(
      model, task_of(model, **changes, threshold=-9.0), [example]
    )
    return [x.score for x in found]

  whole = scores()
  assert scores(mention=1) != whole
  shapes_of.cache_clear()
  assert scores(mention=1) != whole == scores()


def test_predictions_are_those_of_the_model_itself(model):
  (text, span), task = (TEXTS[1], SPANS[1]), task_of(model)
  processor = dataclasses.replace(model.processor, task=task.text_task)
  logits = model(**processor(text, entity_spans=[span]))["logits"][0]
  scores = {found.label: found.score for found in model.predict(text, span=span)}
  assert scores.keys() == {label for label, x in zip(model.labels, logits, strict=True) if x > 0}
  for label, value in scores.items():
    expected = jax.nn.sigmoid(logits[model.label_id(label)])
    np.testing.assert_allclose(value, expected, atol=1e-5)


def test_few_examples_are_in_memory_at_a_time(model, monkeypatch):
  monkeypatch.setattr(predicting, "CHUNK", 2)
  asked = []

  task = task_of(model)

  def stream():
    for i in range(6):
      asked.append(i)
      yield task.parse({"text": TEXTS[0], "span": list(SPANS[0])}, str(i), "here")

  found = predicting.predictions(model, task, stream())
  next(found)
  assert len(asked) <= 3


def test_settings_stay_with_the_model(model, tmp_path):
  task = EntityTyping(train="a", text="b", labels=model.labels, threshold=0.5, words=64)
  dataclasses.replace(model, rest=settings_of(task)).save(tmp_path)
  assert "train" not in json.loads((tmp_path / "config.json").read_text())["luke_jax"]["settings"]
  again = task_of(luke_jax.load(tmp_path))
  assert (again.threshold, again.labels, again.train) == (0.5, model.labels, "")
  assert again.words == 512  # whatever it was trained with


@pytest.mark.parametrize(
  ("call", "fault"),
  [
    (lambda m: m.predict("Ana", spam=(0, 3)), "text: spam: no such field; expected perhaps span"),
    (lambda m: m.predict("Ana"), r"text: span: missing; expected \[start, end\]"),
    (lambda m: m.predict("Ana", span=(0, 4)), "expected 0 <= start < end <= 3"),
    (lambda m: m.predict(["Ana", "Ana"], span=[(0, 3)]), "span: 1 of them; expected 2, one for"),
    (lambda m: m.predict(["Ana"], span=3), "span: 3; expected a list, one for each text"),
    (lambda m: m.predict(3), "text: 3; expected a text or a list of them"),
    (lambda m: m.predict(["Ana", "Ana"], span=[(0, 3), (3, 3)]), "text 1: span"),
  ],
)
def test_bad_input(model, call, fault):
  with pytest.raises(InputError, match=fault):
    call(model)


def test_models_that_are_for_no_task():
  with pytest.raises(InputError, match="a LukeForMaskedLM; expected one of"):
    tiny_model().predict("Ana")
  untrained = dataclasses.replace(
    tiny_model("LukeForEntityClassification"),
    report=dataclasses.replace(tiny_model().report, missing=("classifier/kernel",)),
  )
  with pytest.raises(InputError, match="untrained: classifier/kernel"):
    untrained.predict("Ana", span=(0, 3))
