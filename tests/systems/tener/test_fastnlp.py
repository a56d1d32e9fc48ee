"""Files with the authors' names: their network by its formulas, and every tensor there and back.

Kernels are square, so shapes alone would not show one that is turned.
"""

import itertools
import json

import numpy as np
import pytest
from safetensors.numpy import save_file
from small_systems import small

import luke_jax
from luke_jax.cli import main
from luke_jax.convert.saving import torch_tensors
from luke_jax.convert.sources import read_backbone
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.systems.tener import TenerConfig
from luke_jax.systems.tener.keys import FASTNLP
from luke_jax.text.whole_words import PLAIN, SPECIAL

D, C, HEADS, LAYERS = 12, 6, 2, 2
TAGS = ("O", "B-LOC", "E-LOC", "S-LOC")
WORDS = ("Castrel", "castrel", "lies", "in", "Arkessa")
LETTERS = ("a", "e", "i", "l", "n", "r", "s", "t")
PAIRS = ("Castrellies", "liesin", "inArkessa", "Arkessa\n")
TEXT = ("Castrel", "lies", "in", "Arkessa")
# Attention, parts beside words, year.
FORMS = {
  "2019": ("adatrans", "cnn", "bigrams"),
  "2020": ("adatrans", "adatrans"),
  "alone": ("adatrans", "bigrams"),
  "transformer 2019": ("transformer",),
  "transformer 2020": ("transformer", "bigrams"),
}


def theirs(form):
  """A state dict of a form, of random numbers, and what a program computes by itself."""
  rng, state = np.random.default_rng(7), {}
  kind, *parts = FORMS[form]
  later = "2020" in form

  def put(name, *shape):
    state[name] = rng.normal(0, 0.5, shape).astype(np.float32)

  def linear(name, rows, width, bias=True):
    put(f"{name}.weight", rows, width)
    if bias:
      put(f"{name}.bias", rows)

  def layer(start, width, heads, kind):
    if kind == "transformer":
      linear(f"{start}.self_attn.qkv_linear", 3 * width, width, bias=not later)
      linear(f"{start}.self_attn.fc", width, width)
    else:
      name = "qkv_linear" if later else "qv_linear"
      linear(f"{start}.self_attn.{name}", (2 + later) * width, width, bias=False)
      put(f"{start}.self_attn.r_r_bias", heads, width // heads)
      put(f"{start}.self_attn.r_w_bias", heads, width // heads)
      put(f"{start}.self_attn.pos_embed.weights", 9, width // heads)
      put(f"{start}.self_attn.pos_embed._float_tensor", 1)
    for norm in ("norm1", "norm2"):
      put(f"{start}.{norm}.weight", width)
      put(f"{start}.{norm}.bias", width)
    hidden = D if width == D else 2 * width
    linear(f"{start}.ffn.0", hidden, width)
    linear(f"{start}.ffn.3", width, hidden)

  characters = {"cnn", "adatrans"}.intersection(parts)
  words = "embed.embeds.0" if characters else "embed"
  # Both spellings of a word share a row.
  rows = [0, 1, 2, 2, 3, 4, 5]
  put(f"{words}.embedding.weight", 6, D - C * bool(characters) - 4 * ("bigrams" in parts))
  state[f"{words}.words_to_words"] = np.array(rows)
  if characters:
    put("embed.embeds.1.char_embedding.weight", len(LETTERS) + 2, C)
    state["embed.embeds.1.words_to_chars_embedding"] = np.zeros((7, 7), int)
    state["embed.embeds.1.word_lengths"] = np.zeros(7, int)
    linear("embed.embeds.1.fc", C, C)
  if "cnn" in parts:
    put("embed.embeds.1.convs.0.weight", C, C, 3)
    put("embed.embeds.1.convs.0.bias", C)
  elif characters:
    layer("embed.embeds.1.transformer.layers.0", C, 1, "adatrans")
  if "bigrams" in parts:
    put("bi_embed.embedding.weight", len(PAIRS) + 2, 4)
    state["bi_embed.words_to_words"] = np.arange(len(PAIRS) + 2)
  linear("in_fc", D, D)
  for i in range(LAYERS):
    layer(f"transformer.layers.{i}", D, HEADS, kind)
  linear("out_fc", len(TAGS), D)
  put("crf.trans_m", len(TAGS), len(TAGS))
  put("crf.start_scores", len(TAGS))
  put("crf.end_scores", len(TAGS))
  put("crf._constrain", len(TAGS) + 2, len(TAGS) + 2)
  return state


def written(folder, state, form, words=WORDS, **entries):
  folder.mkdir()
  save_file(
    {name: np.ascontiguousarray(x) for name, x in state.items()}, folder / "model.safetensors"
  )
  config = {"model_type": "tener", "id2label": dict(enumerate(TAGS))} | entries
  if "transformer" in form:
    config["num_attention_heads"] = HEADS
  (folder / "config.json").write_text(json.dumps(config))
  parts = FORMS[form]
  vocabularies = {"words": [*SPECIAL, *words]}
  if {"cnn", "adatrans"}.intersection(parts[1:]):
    vocabularies["characters"] = [*PLAIN, *LETTERS]
  if "bigrams" in parts:
    vocabularies["bigrams"] = [*PLAIN, *PAIRS]
  (folder / "words.json").write_text(json.dumps(vocabularies))
  return folder


def frequencies(width):
  half = width // 2
  return np.exp(-np.log(10000) * np.arange(half) / (half - 1))


def waves(k, width):
  return np.concatenate([np.sin(k * frequencies(width)), np.cos(k * frequencies(width))])


def softmax(x):
  e = np.exp(x - x.max())
  return e / e.sum()


def affine(state, name, x):
  return state[f"{name}.weight"] @ x + state.get(f"{name}.bias", 0)


def attention(state, start, xs, heads):
  """The states (L, D) after attention, a head and a pair of places at a time."""
  relative = f"{start}.r_r_bias" in state
  name = f"{start}.qv_linear" if f"{start}.qv_linear.weight" in state else f"{start}.qkv_linear"
  width, h = xs.shape[1], xs.shape[1] // heads
  joined = np.stack([affine(state, name, x) for x in xs])
  q, v = joined[:, :width], joined[:, -width:]
  k = joined[:, width : 2 * width] if name.endswith("qkv_linear") else xs
  out = np.zeros_like(xs)
  for n in range(heads):
    own = slice(n * h, (n + 1) * h)
    for t in range(len(xs)):
      scores = []
      for j in range(len(xs)):
        score = q[t, own] @ k[j, own]
        if relative:
          to, back = waves(j - t, h), waves(t - j, h)
          score += state[f"{start}.r_r_bias"][n] @ k[j, own] + q[t, own] @ to
          score += state[f"{start}.r_w_bias"][n] @ to
          score += k[j, own] @ back if name.endswith("qkv_linear") else 0
        else:
          score /= np.sqrt(h)
        scores.append(score)
      out[t, own] = softmax(np.array(scores)) @ v[:, own]
  return out if relative else np.stack([affine(state, f"{start}.fc", x) for x in out])


def norm(state, name, x):
  x = (x - x.mean()) / np.sqrt(x.var() + 1e-5)
  return x * state[f"{name}.weight"] + state[f"{name}.bias"]


def layer(state, start, xs, heads):
  xs = xs + attention(state, f"{start}.self_attn", xs, heads)
  xs = np.stack([norm(state, f"{start}.norm1", x) for x in xs])
  wide = [np.maximum(affine(state, f"{start}.ffn.0", x), 0) for x in xs]
  xs = xs + np.stack([affine(state, f"{start}.ffn.3", x) for x in wide])
  return np.stack([norm(state, f"{start}.norm2", x) for x in xs])


def of_characters(state, word):
  start = "embed.embeds.1"
  ids = [LETTERS.index(x) + 2 if x in LETTERS else 1 for x in word]
  xs = state[f"{start}.char_embedding.weight"][ids]
  if f"{start}.convs.0.weight" in state:
    kernel, around = state[f"{start}.convs.0.weight"], np.pad(xs, ((1, 1), (0, 0)))
    seen = [sum(kernel[:, :, i] @ around[t + i] for i in range(3)) for t in range(len(xs))]
    xs = np.stack(seen) + state[f"{start}.convs.0.bias"]
  else:
    xs = layer(state, f"{start}.transformer.layers.0", xs, 1)
  return affine(state, f"{start}.fc", np.maximum(xs, 0).max(0))


def emissions(state):
  """Scores of the tags of TEXT (L, C), before the chain."""
  words = "embed.embeds.0" if "embed.embeds.0.embedding.weight" in state else "embed"
  xs = []
  for i, word in enumerate(TEXT):
    row = state[f"{words}.words_to_words"][2 + WORDS.index(word)]
    parts = [state[f"{words}.embedding.weight"][row]]
    if words != "embed":
      parts.append(of_characters(state, word))
    if "bi_embed.embedding.weight" in state:
      parts.append(state["bi_embed.embedding.weight"][2 + i])
    xs.append(affine(state, "in_fc", np.concatenate(parts)))
  xs = np.stack(xs)
  if "transformer.layers.0.self_attn.r_r_bias" not in state:
    xs = xs + np.stack([waves(1 + t, D) for t in range(len(xs))])
  for i in range(LAYERS):
    xs = layer(state, f"transformer.layers.{i}", xs, HEADS)
  return np.stack([affine(state, "out_fc", x) for x in xs])


def path_score(state, scores, path):
  log_probs = np.stack([np.log(softmax(x)) for x in scores])
  total = state["crf.start_scores"][path[0]] + state["crf.end_scores"][path[-1]]
  total += sum(log_probs[t, tag] for t, tag in enumerate(path))
  return total + sum(state["crf.trans_m"][a, b] for a, b in itertools.pairwise(path))


def loss(state, scores, path):
  every = itertools.product(range(len(TAGS)), repeat=len(TEXT))
  return np.logaddexp.reduce([path_score(state, scores, x) for x in every]) - path_score(
    state, scores, path
  )


def row(model):
  return model.processor(" ".join(TEXT), padding="longest")


@pytest.mark.parametrize("form", FORMS)
def test_numbers_and_the_way_back(form, tmp_path):
  state = theirs(form)
  folder = written(tmp_path / "theirs", state, form)
  model = luke_jax.load(folder)
  assert str(model.report) == "every tensor found its place"
  assert (model.labels, model.architecture) == (TAGS, "TenerForTokenClassificationWithCrf")
  assert read_backbone(Path(folder)).config == model.config

  def check(model):
    outputs = model(**row(model))
    expected = emissions(state)
    np.testing.assert_allclose(outputs["logits"][0, 1:-1], expected, atol=2e-5)
    path = (1, 2, 0, 3)
    found = model.network.loss(outputs, np.array([[-100, *path, -100]]))
    np.testing.assert_allclose(found, loss(state, expected, path), atol=1e-4)

  check(model)
  assert main(["convert", str(folder), str(tmp_path / "ours")]) == 0
  ours = luke_jax.load(tmp_path / "ours")
  assert ours.config == model.config
  check(ours)
  again = dict(FASTNLP.write(torch_tensors(ours), ours.config))
  computed = ("words_to", "word_lengths", "pos_embed", "_constrain")
  assert again.keys() == {name for name in state if not any(x in name for x in computed)}
  for name, tensor in again.items():
    rows = state.get(name.replace("embedding.weight", "words_to_words"), slice(None))
    expected = state[name][rows] if name.endswith(".embedding.weight") else state[name]
    np.testing.assert_array_equal(tensor, expected, err_msg=name)


@pytest.mark.parametrize("form", ["2020", "transformer 2019"])
def test_archives_of_pytorch(form, tmp_path):
  torch = pytest.importorskip("torch")
  state = theirs(form)
  folder = written(tmp_path / "theirs", state, form)
  (folder / "model.safetensors").unlink()
  torch.save({name: torch.tensor(x) for name, x in state.items()}, folder / "pytorch_model.bin")
  assert main(["convert", str(folder), str(tmp_path / "back"), "--form", "fastnlp"]) == 0
  again = torch.load(tmp_path / "back" / "pytorch_model.bin", weights_only=True)
  assert again.keys() < state.keys()
  np.testing.assert_array_equal(again["in_fc.weight"], state["in_fc.weight"])
  # What was written says all itself.
  model = luke_jax.load(tmp_path / "back")
  np.testing.assert_allclose(model(**row(model))["logits"][0, 1:-1], emissions(state), atol=2e-5)


def test_what_is_missing_and_what_is_unused_is_reported(tmp_path):
  state = theirs("2020")
  del state["out_fc.bias"]
  state["embed.embeds.2.elmo.weight"] = np.zeros((2, 2), np.float32)
  folder = written(tmp_path / "model", state, "2020")
  with pytest.warns(UserWarning, match="1 initialised"):
    report = luke_jax.load(folder).report
  assert report.missing == ("classifier.bias",)
  assert report.unexpected == ("embed.embeds.2.elmo.weight",)
  del state["transformer.layers.1.norm2.bias"]
  with pytest.raises(
    InputError, match=r"layer\.1\.output\.LayerNorm\.bias: missing, but .*layer\.0"
  ):
    luke_jax.load(written(tmp_path / "odd", state, "2020"))


SHORT = np.zeros((5, D), np.float32)


@pytest.mark.parametrize(
  ("form", "changed", "entries", "message"),
  [
    (
      "2019",
      {},
      {"words": WORDS[1:]},
      "words.json: vocab_size of 9; expected 10, one for each row",
    ),
    (
      "2019",
      {},
      {"id2label": {"0": "O"}},
      "config.json: id2label: expected 4 tags, by the numbers",
    ),
    (
      "2019",
      {"in_fc.weight": np.zeros((D, 40), np.float32)},
      {},
      "in_fc: 40 inputs; expected 2 . 6 . 4,",
    ),
    (
      "2019",
      {"in_fc.weight": None},
      {},
      "tener.input.weight: missing; expected the tensors of a TENER",
    ),
    ("2019", {"embed.embeds.1.convs.0.weight": None}, {}, "embed.embeds.1: of another kind"),
    (
      "2020",
      {"transformer.layers.0.self_attn.qkv_linear.weight": SHORT},
      {},
      r"shape \(5, 12\); expected as many rows for each of q, k, v",
    ),
    ("alone", {"embed.words_to_words": np.array([0, 9])}, {}, "words_to_words: not rows of"),
    (
      "transformer 2020",
      {},
      {},
      "num_attention_heads: missing; expected it for a plain transformer",
    ),
  ],
)
def test_bad_files_are_one_line(form, changed, entries, message, tmp_path):
  state = {name: x for name, x in (theirs(form) | changed).items() if x is not None}
  folder = written(tmp_path / "model", state, form, **entries)
  config = json.loads((folder / "config.json").read_text())
  config.pop("num_attention_heads", None)
  (folder / "config.json").write_text(json.dumps(config))
  with pytest.raises(InputError, match=message) as fault:
    luke_jax.load(folder)
  assert str(folder) in str(fault.value) and "\n" not in str(fault.value)


def test_vocabularies_and_distances_are_asked_for(tmp_path):
  folder = written(tmp_path / "model", theirs("alone"), "alone")
  (folder / "words.json").rename(tmp_path / "words.json")
  with pytest.raises(InputError, match=r"model: no words\.json; expected the vocabularies"):
    luke_jax.load(folder)
  assert luke_jax.load(folder, tokenizer=tmp_path).tokenizer.piece_id("lies") == 7
  config = json.loads((folder / "config.json").read_text()) | {"vocab_size": 10}
  (folder / "config.json").write_text(json.dumps(config))
  with pytest.raises(InputError, match=r"rel_sign: 1; expected -1, as in the authors' code"):
    luke_jax.load(folder)


@pytest.mark.parametrize(
  ("fields", "message"),
  [
    ({}, "rel_sign: 1; expected -1"),
    ({"rel_sign": -1}, "freq: 'paper'; expected 'tener'"),
    ({"rel_sign": -1, "freq": "tener", "e_term": True}, "e_term: True; expected False"),
    ({"encoder": "transformer", "vector_size": 7}, "vector_size: 7; expected 0"),
  ],
)
def test_forms_that_the_authors_code_cannot_compute(fields, message):
  with pytest.raises(InputError, match=message):
    list(FASTNLP.write([], small(TenerConfig, **fields)))


def test_other_systems_have_no_such_names(tmp_path):
  luke = luke_jax.load("data/sample_model")
  with pytest.raises(InputError, match="form: 'fastnlp': a LUKE; expected one of transformers"):
    luke.save(tmp_path / "out", form="fastnlp")
