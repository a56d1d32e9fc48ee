"""Vectors of texts and of names are those of a plain pass over each text."""

import json
from pathlib import Path

import numpy as np
import pytest
from tiny import tiny_model

import luke_jax
from luke_jax.cli import main
from luke_jax.errors import InputError
from luke_jax.inference import text_vectors

TEXTS = ["Ana lives in Tokyo.", "Beyoncé lives in Los Angeles, said Ana.", "Ana", ""]
SPANS = [[(0, 3), (13, 18)], [(17, 28)], [(0, 3)], []]


@pytest.fixture(scope="module")
def model():
  return tiny_model("LukeModel", hidden_size=8, num_hidden_layers=1)


def states(model, text, spans=None):
  inputs = model.processor(text, entity_spans=spans, padding="longest")
  return {name: np.asarray(x[0]) for name, x in model(**inputs).items()}


def test_vectors_of_texts_are_pooled_states(model):
  words = [states(model, text)["last_hidden_state"] for text in TEXTS]
  for pool, expected in {
    "mean": [x.mean(0) for x in words],
    "first": [x[0] for x in words],
  }.items():
    found = luke_jax.embed(model, TEXTS, pool=pool)
    np.testing.assert_allclose(found, expected, atol=1e-5)
  np.testing.assert_allclose(luke_jax.embed(model, TEXTS[1]), words[1].mean(0), atol=1e-5)
  assert luke_jax.embed(model, []).shape == (0, 8)


def test_vectors_of_names_are_those_of_their_entities_or_their_ends(model):
  found = luke_jax.embed(model, TEXTS, spans=SPANS)
  ends = luke_jax.embed(model, TEXTS, spans=SPANS, pool="ends")
  for text, spans, vectors, of_ends in zip(TEXTS, SPANS, found, ends, strict=True):
    assert vectors.shape == of_ends.shape == (len(spans), 8)
    if spans:
      expected = states(model, text, spans)["entity_last_hidden_state"]
      np.testing.assert_allclose(vectors, expected, atol=1e-5)
      words = states(model, text)["last_hidden_state"]
      (row,) = model.processor.encode(text_vectors.text_inputs(text=[text], entity_spans=[spans]))
      expected = [(words[a] + words[b - 1]) / 2 for a, b in row.entity_tokens]
      np.testing.assert_allclose(of_ends, expected, atol=1e-5)


def test_long_texts_are_read_in_windows(model):
  text = "Ana lives in Tokyo. " * 40
  assert np.isfinite(luke_jax.embed(model, text)).all()
  assert luke_jax.embed(model, text, spans=[(0, 3), (len(text) - 7, len(text) - 2)]).shape == (2, 8)


def test_texts_of_many_lengths_share_programs(model):
  before = text_vectors._vectors._cache_size()
  luke_jax.embed(model, ["Ana and " * number for number in range(12)])
  assert text_vectors._vectors._cache_size() <= before + 3


@pytest.mark.parametrize(
  ("fields", "fault"),
  [
    ({"pool": "ends"}, "pool: 'ends'; expected mean or first without spans"),
    ({"pool": "mean", "spans": [(0, 3)]}, "pool: 'mean'; expected ends or entities for spans"),
    ({"spans": [(0, 300)]}, r"\(0, 300\); expected 0 <= start < end <= 5"),
  ],
)
def test_what_cannot_be_read_is_refused(model, fields, fault):
  with pytest.raises(InputError, match=fault):
    luke_jax.embed(model, "Ana, ", **fields)
  with pytest.raises(InputError, match="expected a model, as"):
    luke_jax.embed("english", "Ana")
  with pytest.raises(InputError, match="texts: 3; expected a text or a list of them"):
    luke_jax.embed(model, 3)


def test_shards_get_vectors_by_the_command(model, tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  model.save("model")
  rows = [{"text": x, "spans": y} for x, y in zip(TEXTS, SPANS, strict=True) if x]
  Path("in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
  expected = luke_jax.embed(model, [row["text"] for row in rows])
  assert main(["embed", "model", "in.jsonl", "--output", "out/"]) == 0
  found = [json.loads(line) for line in Path("out/in.jsonl").read_text().splitlines()]
  np.testing.assert_array_equal(np.array([x["vector"] for x in found], np.float32), expected)
  assert main(["embed", "model", "out/", "--output", "names/", "--pool", "entities"]) == 0
  found = json.loads(Path("names/in.jsonl").read_text().splitlines()[0])
  assert found["vector"] and np.array(found["vectors"]).shape == (2, 8)
