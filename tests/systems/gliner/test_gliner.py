"""GLiNER's models without the package: what is read, refused and written again."""

import json
from pathlib import Path

import numpy as np
import pytest
from small_systems import small
from tiny import TEXTS

import luke_jax
from luke_jax.cli import export_program
from luke_jax.convert.tensors import write_safetensors
from luke_jax.errors import InputError
from luke_jax.heads.kinds import make_head
from luke_jax.inference import text_vectors
from luke_jax.models import keys
from luke_jax.models.network import Network, abstract_params
from luke_jax.models.system import Backbone, Described
from luke_jax.systems.bert import BertConfig
from luke_jax.systems.gliner.config import GlinerConfig, GlinerLabelsConfig
from luke_jax.tasks.ner.documents import words_of
from luke_jax.text import load_tokenizer, save_tokenizer

SENTENCE = "Los Angeles and Tokyo are cities . Beyoncé sang there ."
LABELS = ["person", "place"]


def drawn(network, rng):
  """The tensors of a network, random."""
  leaves = keys.flatten(abstract_params(network))
  arrays = {path: rng.normal(0, 0.2, x.shape).astype(np.float32) for path, x in leaves.items()}
  table = network.backbone.config.keys(network.kind)
  return dict(keys.to_torch(keys.unflatten(arrays), table))


def write(folder, *, two):
  """Writes a random GLiNER of one encoder or of two, as its package does."""
  tokenizer = load_tokenizer(TEXTS / "word_piece")
  uni = tokenizer.with_words(("[FLERT]", "<<ENT>>", "<<SEP>>"))
  words, rng = tokenizer if two else uni, np.random.default_rng(0)
  sizes = {"vocab_size": words.vocab_size, "hidden_size": 16, "max_position_embeddings": 64}
  encoder = small(BertConfig, **sizes, pad_token_id=tokenizer.special.pad)
  config = GlinerConfig(encoder, encoder if two else None, 12, 4, lstm_layers=0 if two else 1)
  backbone = Backbone(config)
  tensors = drawn(Network(backbone, make_head("match", backbone)), rng)
  raw = {"hidden_size": 12, "max_width": 4, "span_mode": "markerV0", "num_rnn_layers": 1}
  entries = BertConfig.write_config(Described(encoder, "BertModel"))
  raw |= {"encoder_config": entries, "model_name": "a/b", "relations_layer": None}
  if two:
    of_labels = Backbone(GlinerLabelsConfig(encoder, None, 12, lstm_layers=0))
    tensors |= drawn(Network(of_labels), rng)
    raw |= {"labels_encoder": "c/d", "labels_encoder_config": entries}
    save_tokenizer(tokenizer, folder / "labels_tokenizer")
  save_tokenizer(words, folder)
  write_safetensors(folder / "model.safetensors", tensors.items())
  (folder / "gliner_config.json").write_text(json.dumps(raw))
  return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
  return {x: write(tmp_path_factory.mktemp("gliner"), two=x == "two") for x in ("two", "one")}


@pytest.fixture(scope="module")
def models(folders):
  return {name: luke_jax.load(folder) for name, folder in folders.items()}


@pytest.mark.parametrize("kind", ["two", "one"])
def test_names_are_read_and_written_again(models, kind, tmp_path):
  model = models[kind]
  assert not (model.report.missing or model.report.unexpected)
  found = model.predict(SENTENCE, labels=LABELS, threshold=0.0)
  assert found and all(SENTENCE[x.start : x.end] == x.text for x in found)
  spans = model.predict(SENTENCE, labels=LABELS, threshold=0.0, nested=True, several=True)
  assert len(spans) > 2 * len(found) and {x.label for x in spans} == {*LABELS}
  assert max(len(x.text.split()) for x in spans) == 4
  model.save(tmp_path)
  assert {"config.json", "gliner_config.json"} < {x.name for x in tmp_path.iterdir()}
  again = luke_jax.load(tmp_path).predict(SENTENCE, labels=LABELS, threshold=0.0)
  assert again == found


def test_labels_of_two_encoders_are_read_once(models, monkeypatch):
  first = models["two"].predict(SENTENCE, labels=LABELS, threshold=0.0)
  monkeypatch.setattr(text_vectors, "encode", None)
  assert models["two"].predict(SENTENCE, labels=LABELS[::-1], threshold=0.0) == first


def test_long_texts_are_read_in_windows(models):
  text = " ".join([SENTENCE] * 12)
  found = models["one"].predict(text, labels=LABELS, threshold=0.0)
  assert found[-1].end > len(text) - 20


def test_words_are_those_of_gliner():
  text = "Vega-2's well_known, (e-mail) 北京"
  words = [text[slice(*x)] for x in words_of(text, 0, len(text), hyphenated=True)]
  assert words == ["Vega-2", "'", "s", "well_known", ",", "(", "e-mail", ")", "北京"]


@pytest.mark.parametrize(
  ("labels", "fault"),
  [
    (["a <<SEP>> b"], "has <<SEP>> in it; expected a label without"),
    ([], "labels: none; expected some"),
    ([f"person {'place ' * i}" for i in range(12)], "word pieces; expected at most 32: fewer"),
  ],
)
def test_labels_that_cannot_be_asked_for(models, labels, fault):
  with pytest.raises(InputError, match=fault):
    models["one"].predict(SENTENCE, labels=labels)


@pytest.mark.parametrize(
  ("entries", "fault"),
  [
    ({"relations_layer": "biaffine"}, "relations_layer: a GLiNER of relations; expected a GLiNER"),
    ({"labels_decoder": "gpt2"}, "a GLiNER that writes labels itself; expected a GLiNER of names"),
    ({"span_mode": "conv_share"}, "span_mode: 'conv_share'; expected 'markerV0' or 'token_level'"),
    ({"model_type": "gliner_streaming_span"}, "model_type: 'gliner_streaming_span'; expected"),
    ({"fuse_layers": True}, "fuse_layers: true; expected false"),
    ({"encoder_config": None}, "encoder_config: missing; expected the config.json of a/b as it"),
    ({"encoder_config": {"model_type": "t5"}}, "model_type: 't5'; expected one of bert"),
  ],
)
def test_other_kinds_are_refused(entries, fault):
  encoder = BertConfig.write_config(Described(small(BertConfig), "BertModel"))
  raw = {"encoder_config": encoder, "model_name": "a/b", "max_width": 4}
  with pytest.raises(InputError, match=fault):
    GlinerConfig.described(raw | entries, Path("gliner_config.json"))


def test_sizes_of_a_published_encoder():
  raw = {"model_name": "microsoft/deberta-v3-large", "max_width": 12, "num_rnn_layers": 0}
  described = GlinerConfig.described(raw, Path("x"))
  read, written = described.config, GlinerConfig.write_config(described)
  assert GlinerConfig.described(written, Path("x")).config == read
  assert (read.encoder.hidden_size, read.hidden_size, read.lstm_layers) == (1024, 512, 0)


def test_without_a_tokenizer_of_labels_the_command_is_named(folders, tmp_path):
  raw = (folders["two"] / "gliner_config.json").read_text()
  with pytest.raises(InputError, match=r"expected the one that `hf download c/d .* fetches"):
    GlinerLabelsConfig.described(json.loads(raw), tmp_path / "gliner_config.json")


def test_it_is_not_trained_or_exported_here(models, folders):
  with pytest.raises(InputError, match="a GlinerForLabelMatching is not exported; expected"):
    export_program.run(folders["one"], form=None)
  with pytest.raises(InputError, match="a GLiNER: read, and not trained here"):
    _ = models["one"].config.for_fine_tuning
