"""The attention that a text is read with under different attributes."""

import functools
import html
import json
import re

import jax
import numpy as np
import pytest
from marked_tasks import TEXT, random_bert, with_labels
from tiny import TEXTS

from luke_jax.errors import InputError
from luke_jax.heads.attributes import Attributes
from luke_jax.inference.settings import processor_of, task_of
from luke_jax.show import readings
from luke_jax.show.readings import _read
from luke_jax.tasks.classification.task import TextClassification

SAID = "it was <fine> & poorly"
ANN, BOB = {"user": "ann", "shop": "x"}, {"user": "bob", "shop": "x"}


def readings_of(model, text, readers, *, attribute="", layer=-1):
  return _read(model, text, readers, attribute, layer)[0]


def made(folder, form="d", text=TEXT):
  """A model of texts with a user and a shop, whose parameters are random everywhere."""
  train = folder / "train.jsonl"
  readers = [(ANN, "0"), (BOB, "1")]
  lines = [json.dumps({"text": "fine", "label": label, **reader}) for reader, label in readers]
  train.write_text("\n".join(lines))
  attributes = Attributes(("user", "shop"), form=form, layers=2)
  task = TextClassification(text=text, train=str(train), words=16, attributes=attributes)
  return random_bert(with_labels(task))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
  return made(tmp_path_factory.mktemp("read"))


def test_weights_are_those_of_the_first_token(model):
  ann, bob = readings_of(model, SAID, [ANN, BOB], attribute="user")
  assert "".join(ann.words).strip() == SAID and ann.words == bob.words
  assert ann.words[0] == ann.words[-1] == ""  # special tokens
  assert [ann.weights.sum(), bob.weights.sum()] == pytest.approx([1, 1], abs=1e-6)
  # As attention computes them: in the first of its layers only the user's own stream differs.
  first, other = readings_of(model, SAID, [ANN, BOB], attribute="shop", layer=0)
  np.testing.assert_allclose(first.weights, other.weights, atol=1e-6)
  first, other = readings_of(model, SAID, [ANN, BOB], attribute="user", layer=0)
  assert np.abs(first.weights - other.weights).max() > 1e-3


def test_weights_are_those_that_the_network_computes(model):
  task, processor = task_of(model), processor_of(model, task_of(model))
  example = task.parse({"text": SAID, **BOB}, "1", "text")
  (row,) = task.features(processor, [example])
  inputs = {
    "input_ids": np.array([row.input_ids]),
    "attention_mask": np.ones((1, len(row.input_ids)), int),
    "attribute_ids": np.array([[2, 1]]),  # bob, x
  }
  apply = jax.jit(functools.partial(model.network.apply, mutable=["intermediates"]))
  _, sown = apply({"params": model.params}, **inputs)
  (probs,) = sown["intermediates"]["attribute_layers"]["layers"]["attention"]["probs"]
  (found,) = readings_of(model, SAID, [BOB], attribute="shop", layer=0)
  expected = np.mean([probs[0, 0, 1, head, 0] for head in range(2)], axis=0)
  np.testing.assert_allclose(found.weights, expected, atol=1e-6)


def test_an_unknown_word_is_a_word_of_the_text(tmp_path):
  (found,) = readings_of(made(tmp_path, text=str(TEXTS / "word_piece")), "a \u2603 a", [ANN])
  words = [word.strip() for word in found.words]
  assert words == ["", "a", "[UNK]", "a", ""]


def test_all_streams_are_their_mean(model):
  every = readings_of(model, SAID, [ANN])[0].weights
  user, shop = (readings_of(model, SAID, [ANN], attribute=x)[0].weights for x in ("user", "shop"))
  text = 3 * every - user - shop  # the stream that all texts share
  assert text.sum() == pytest.approx(1, abs=1e-5) and text.min() > -1e-6


def test_a_picture_of_two_readers_has_their_differences(model):
  body = readings(model, SAID, [ANN, BOB], attribute="user").body
  titles = [html.unescape(x) for x in re.findall(r"<h3>(.*?)</h3>", body)]
  assert [title.partition(":")[0] for title in titles] == ["user ann, shop x", "user bob, shop x"]
  for reader, title in zip((ANN, BOB), titles, strict=True):
    best = model.predict(SAID, **reader)[0]
    assert title.endswith(f": {best.label} {best.score:.2f}")
  first, second = re.findall(r'<p class="marked" dir="auto">(.*?)</p>', body)
  assert html.unescape(re.sub("<.*?>", "", first)) == SAID
  shares = [max(map(float, re.findall(r"--share: ([\d.]+)", x))) for x in (first, second)]
  assert max(shares) == 1.0
  rows = [re.findall(r"<td.*?>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", body)[1:]]
  differences = [float(row[3]) for row in rows]
  assert [abs(x) for x in differences] == sorted(map(abs, differences), reverse=True)
  for word, ann, bob, difference in rows:
    assert word and float(ann) - float(bob) == pytest.approx(float(difference), abs=0.11)
  assert "<table>" not in readings(model, SAID, [ANN]).body


@pytest.mark.parametrize(
  ("changes", "readers", "message"),
  [
    ({}, [], "readers: none; expected one or more"),
    ({}, [{"user": "ann"}], "reader 1: shop: missing"),
    ({"attribute": "town"}, [ANN], "attribute: 'town'; expected one of user, shop"),
    ({"layer": 2}, [ANN], "layer: 2; expected a whole number from -2 to 1"),
  ],
)
def test_what_cannot_be_drawn(model, changes, readers, message):
  with pytest.raises(InputError, match=message):
    readings(model, SAID, readers, **changes)


@pytest.mark.parametrize("form", ["a", "b"])
def test_only_forms_that_change_attention_are_drawn(form, tmp_path):
  with pytest.raises(InputError, match=f"attributes of form {form}; expected .* c or d"):
    readings(made(tmp_path, form), SAID, [ANN])
