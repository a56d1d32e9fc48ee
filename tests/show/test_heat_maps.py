import re

import numpy as np
import pytest
from tiny import tiny_model

import luke_jax
from luke_jax.convert.saving import save
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.model import Model
from luke_jax.show import attention
from luke_jax.show.heat_maps import attention_of
from luke_jax.systems.tener.fresh import Choices, Files, fresh_model

TEXT = "Beyoncé lives in Los Angeles."
SPANS = [(0, 7), (17, 28)]
TITLED = [(0, 7, "Beyoncé"), (17, 28, "Los Angeles")]


@pytest.fixture(scope="module")
def model():
  return tiny_model()


def dense(model, spans, layer):
  """Attention of every head as the paper writes it: one pair of tokens after the other."""
  titles = [span[2] for span in spans] if len(spans[0]) == 3 else None
  places = [span[:2] for span in spans]
  inputs = model.processor(TEXT, entity_spans=places, entities=titles)
  states = model(**inputs, output_hidden_states=True)
  words = np.asarray(states["hidden_states"][layer, 0], np.float64)
  x = np.concatenate([words, np.asarray(states["entity_hidden_states"][layer, 0], np.float64)])
  parts = model.params["luke"]["encoder"]["layers"]["attention"]
  query, key = ({k: np.asarray(v[layer]) for k, v in parts[p].items()} for p in ("query", "key"))
  kinds = [0] * len(words) + [len(query["kernel"]) - 1] * (len(x) - len(words))
  keys = np.einsum("td,dnh->tnh", x, key["kernel"]) + key["bias"]
  scores = np.empty((keys.shape[1], len(x), len(x)))
  for i, asking in enumerate(kinds):
    for j, asked in enumerate(kinds):
      asks = np.einsum("d,dnh->nh", x[i], query["kernel"][asking, asked])
      scores[:, i, j] = ((asks + query["bias"][asking, asked]) * keys[j]).sum(-1)
  odds = np.exp(scores / np.sqrt(keys.shape[-1]))
  return odds / odds.sum(-1, keepdims=True)


@pytest.mark.parametrize("aware", [True, False])
@pytest.mark.parametrize("spans", [SPANS, TITLED])
def test_weights_are_those_of_the_model(aware, spans):
  model = tiny_model(use_entity_aware_attention=aware)
  for layer in (0, 1):
    expected = dense(model, spans, layer)
    for head in range(len(expected)):
      found = attention_of(model, TEXT, spans, layer=layer, head=head).weights
      np.testing.assert_allclose(found, expected[head], rtol=2e-4, atol=1e-6)
      np.testing.assert_allclose(found.sum(1), 1, rtol=1e-5)
    mean = attention_of(model, TEXT, spans, layer=layer - 2).weights
    np.testing.assert_allclose(mean, expected.mean(0), rtol=2e-4, atol=1e-6)


def test_words_and_entities_are_named(model):
  found = attention_of(model, TEXT, TITLED)
  assert found.entities == ["Beyoncé", "Los Angeles"]
  assert found.words[0] == "<s>" and found.words[-1] == "</s>"
  assert "".join(dict.fromkeys(found.words[1:-1])) and set("".join(found.words[1:-1])) <= set(TEXT)
  assert len(found.weights) == len(found.words) + 2


def test_unknown_words_are_named_and_read_by_their_letters(tmp_path):
  (tmp_path / "names.conll").write_text("Ana B-PER\nwent O\nto O\nRome B-LOC\n\n" * 3)
  made, _ = fresh_model("tener-weibo", Files(Path(tmp_path / "names.conll")), Choices())
  save(made, tmp_path / "fresh")
  tener = luke_jax.load(tmp_path / "fresh")
  one, other = (attention_of(tener, f"{name} went to Rome") for name in ("nana", "meme"))
  assert one.words == ["[CLS]", "nana", "went", "to", "Rome", "[SEP]"]
  assert np.abs(one.weights - other.weights).max() > 1e-3
  expected = attention_of(tener, "nana went to Rome", head=0).weights[1:-1, 1:-1]
  np.testing.assert_allclose(expected.sum(1), 1, rtol=1e-5)  # the ends are not read


def test_four_maps_show_all_weights(model, drawings, read):
  found = attention_of(model, TEXT, SPANS, layer=0, head=1)
  picture = attention(model, TEXT, SPANS, layer=0, head=1)
  told = read(picture.page).text
  for kind in ("word → word", "word → entity", "entity → word", "entity → entity"):
    assert kind in told
  assert "Layer 0 of 2, head 1" in told
  words = len(found.words)
  _, *maps = drawings(picture.html)
  blocks = [
    part for rows in np.split(found.weights, [words]) for part in np.split(rows, [words], 1)
  ]
  for drawing, block in zip(maps, blocks, strict=True):
    shown = [float(x.text.rpartition(": ")[2]) for x in drawing.iter("title")]
    np.testing.assert_allclose(shown, block.ravel(), atol=5.1e-4)
  shares = [int(x) for x in re.findall(r"(\d+)% of the attention", told)]
  assert abs(sum(shares[:2]) - 100) <= 1 and abs(sum(shares[2:]) - 100) <= 1


def test_original_attention_has_one_map_and_so_have_words_alone(model, read, drawings):
  original = attention(tiny_model(use_entity_aware_attention=False), TEXT, SPANS)
  assert "One kind of query" in read(original.html).text
  assert len(drawings(original.html)) == 2  # with the scale
  assert len(drawings(attention(model, TEXT).html)) == 2


def test_texts_and_titles_are_no_markup(model, read):
  text = "<script>alert(1)</script> &"
  assert read(attention(model, text, [(0, 8)]).page).named("svg")


def test_an_empty_text_has_its_special_tokens(model):
  assert attention_of(model, "").words == ["<s>", "</s>"]


@pytest.mark.parametrize(
  ("text", "fields", "fault"),
  [
    (TEXT, {"layer": 2}, "layer: 2; expected a whole number from -2 to 1"),
    (TEXT, {"head": 5}, "head: 5; expected a whole number from -2 to 1"),
    (TEXT, {"spans": [(0, 70)]}, "span 0 is (0, 70)"),
    (TEXT, {"spans": [(0, 7, "Beyoncé"), (17, 28)]}, "1 of 2 with a title; expected all or none"),
    ("a " * 60, {"spans": [(0, 1)] * 5}, "expected at most 64 to be drawn"),
  ],
)
def test_what_cannot_be_shown_is_refused(model, text, fields, fault):
  with pytest.raises(InputError) as told:
    attention(model, text, **fields)
  assert fault in str(told.value)


def test_texts_of_about_the_same_length_share_a_program(model, monkeypatch):
  widths = set()
  call = Model.__call__

  def counted(self, **inputs):
    widths.add((inputs["input_ids"].shape, inputs["entity_ids"].shape))
    return call(self, **inputs)

  monkeypatch.setattr(Model, "__call__", counted)
  for text in (TEXT, TEXT[:-1], "Beyoncé lived in Los Angeles."):
    assert attention_of(model, text, SPANS).weights.shape[0] < 24
  assert widths == {((1, 16), (1, 16))}
