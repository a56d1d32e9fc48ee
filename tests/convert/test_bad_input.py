"""Everything that can be wrong with a directory: one line with the place, and nothing written."""

import json
import os
import shutil
import warnings

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from sample_models import without_sums
from tiny import tiny_model

import luke_jax
from luke_jax.convert.card import card_facts
from luke_jax.convert.loading import read_model
from luke_jax.convert.text_side import add_entities
from luke_jax.errors import InputError


@pytest.fixture
def saved(tmp_path):
  tiny_model("LukeForEntityClassification").save(tmp_path / "model")
  return tmp_path / "model"


def config(saved, **changes):
  path = saved / "config.json"
  fields = json.loads(path.read_text()) | changes
  path.write_text(json.dumps({k: v for k, v in fields.items() if v != "drop"}))


def tensors(saved, change):
  path = saved / "model.safetensors"
  save_file(change(load_file(path)), path)


def truncate(saved):
  path = saved / "model.safetensors"
  path.write_bytes(path.read_bytes()[:-100])


def no_json(saved):
  (saved / "config.json").write_text("{")


def one_layer_short(held):
  return {k: v for k, v in held.items() if k != "luke.encoder.layer.1.output.dense.bias"}


def wrong_shape(held):
  return held | {"classifier.weight": np.zeros((3, 7), np.float32)}


FAULTS = {
  "no config": (lambda d: (d / "config.json").unlink(), "model: no config.json and no metadata"),
  "no weights": (lambda d: (d / "model.safetensors").unlink(), "model: no weights; expected"),
  "not fetched": (
    lambda d: (d / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\n"),
    "model.safetensors: a pointer of Git LFS; expected the file itself",
  ),
  "truncated": (truncate, "model.safetensors: not a whole safetensors file"),
  "not json": (no_json, "config.json: line 1 is not JSON"),
  "a list": (lambda d: (d / "config.json").write_text("[]"), "config.json: holds a list"),
  "model type": (lambda d: config(d, model_type="gpt"), "model_type: 'gpt'; expected one of luke"),
  "no type": (lambda d: config(d, model_type="drop"), "model_type: None; expected one of luke"),
  "no entities": (lambda d: config(d, entity_vocab_size="drop"), "entity_vocab_size: missing"),
  "missing": (lambda d: config(d, hidden_size="drop"), "hidden_size: missing; expected a number"),
  "null": (lambda d: config(d, layer_norm_eps=None), "layer_norm_eps: missing; expected a number"),
  "text": (lambda d: config(d, hidden_size="64"), "hidden_size: '64'; expected a whole number"),
  "negative": (lambda d: config(d, num_hidden_layers=-1), "num_hidden_layers: -1; expected"),
  "true": (lambda d: config(d, vocab_size=True), "vocab_size: True; expected a whole number"),
  "heads": (lambda d: config(d, num_attention_heads=5), "hidden_size: 64; expected a multiple"),
  "activation": (
    lambda d: config(d, hidden_act="prelu"),
    "hidden_act: 'prelu'; expected one of 'gelu', 'gelu_10'",
  ),
  "class": (lambda d: config(d, architectures=["Bert"]), "architecture 'Bert': unknown"),
  "classes": (lambda d: config(d, architectures=5), "architectures: 5; expected a list"),
  "dropout": (lambda d: config(d, hidden_dropout_prob=7), "7; expected a number from 0 to below 1"),
  "not a number": (lambda d: config(d, layer_norm_eps=float("nan")), "nan; expected a number"),
  "huge": (lambda d: config(d, vocab_size=10**12), "vocab_size: 1000000000000; expected"),
  "no heads": (lambda d: config(d, num_attention_heads=0), "num_attention_heads: 0; expected"),
  "too few entities": (
    lambda d: (d / "entity_vocab.json").write_text('{"[PAD]":0,"[UNK]":1,"[MASK]":2}'),
    "entity vocabulary of 3; expected 7",
  ),
  "a directory": (
    lambda d: (d / "entity_vocab.json").unlink() or (d / "entity_vocab.json").mkdir(),
    "entity_vocab.json: not a regular file; expected one",
  ),
  "labels": (lambda d: config(d, id2label={"1": "a"}), "id2label: expected names of the labels 0"),
  "shape": (lambda d: tensors(d, wrong_shape), "classifier.weight: shape (3, 7); expected (3, 64)"),
  "layer": (
    lambda d: tensors(d, one_layer_short),
    "luke.encoder.layer.1.output.dense.bias: missing",
  ),
  "hole": (
    lambda d: (d / "entity_vocab.json").write_text('{"[PAD]":0,"[UNK]":1,"[MASK]":2,"A":4}'),
    "entity_vocab.json: entity id 3: no title",
  ),
  "twice": (
    lambda d: (d / "entity_vocab.json").write_text('{"[PAD]":0,"[UNK]":1,"[MASK]":2,"[PAD]":3}'),
    "'[PAD]' stands twice",
  ),
  "too many entities": (
    lambda d: (d / "entity_vocab.json").write_text(
      json.dumps({t: i for i, t in enumerate(["[PAD]", "[UNK]", "[MASK]", *"abcdefgh"])})
    ),
    "entity vocabulary of 11; expected 7",
  ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_directories(saved, fault):
  make, message = FAULTS[fault]
  without_sums(saved)
  make(saved)
  with pytest.raises(InputError) as refused:
    luke_jax.load(saved)
  said = str(refused.value)
  assert message in said
  assert "\n" not in said
  assert "expected" in said or "whole" in said


def test_sizes_that_no_tensor_has_ask_for_no_memory(saved, monkeypatch):
  def aligned(shape, dtype):
    assert np.prod(shape, dtype=float) < 10**8
    return np.empty(shape, dtype)

  monkeypatch.setattr("luke_jax.models.keys.aligned", aligned)
  path = saved / "config.json"
  fields = json.loads(path.read_text())
  names = "vocab_size", "entity_vocab_size", "intermediate_size", "max_position_embeddings"
  for name in (*names, "type_vocab_size", "entity_emb_size"):
    path.write_text(json.dumps(fields | {name: 10**9}))
    with pytest.raises(InputError, match=r"model: luke\..*: shape \(.*\); expected \(.*10{9}.*\)"):
      read_model(saved)
  path.write_text(json.dumps(fields | {"num_hidden_layers": 10**9}))
  with pytest.raises(InputError, match=r"num_hidden_layers: 10{9}; expected 10000 at most"):
    read_model(saved)


def test_what_the_files_lack_has_to_fit_into_memory(saved, monkeypatch):
  tensors(saved, lambda held: {k: v for k, v in held.items() if "word_embeddings" not in k})
  monkeypatch.setattr("luke_jax.convert.loading.os.sysconf", lambda _: 8)
  with pytest.raises(InputError, match=r"embeddings/word/embedding: no tensor for it, and shape"):
    read_model(saved)


NOT_READ = {  # with the files that are read instead of each
  "model.safetensors": [],
  "adapter.safetensors": [],
  "pytorch_model.bin": ["model.safetensors"],
  "a.pdparams": ["model.safetensors"],
  "vocab.json": [],
  "tokenizer.json": ["vocab.json"],
  "vocab.txt": ["vocab.json"],
  "sentencepiece.bpe.model": [],
  "README.md": [],
}


def test_pipes_and_devices_among_the_files_are_not_waited_for(saved, tmp_path):
  without_sums(saved)
  for name, instead in NOT_READ.items():
    for make in (os.mkfifo, lambda path: path.symlink_to("/dev/zero")):
      copy = tmp_path / "copy"
      shutil.copytree(saved, copy)
      for other in (name, *instead):
        (copy / other).unlink(missing_ok=True)
      make(copy / name)
      with pytest.raises(InputError, match=rf"{name}: not a regular file; expected one$"):
        card_facts(copy)
        read_model(copy)
      shutil.rmtree(copy)


def test_an_archive_that_is_a_pipe_is_not_waited_for(tmp_path):
  os.mkfifo(tmp_path / "luke.tar.gz")
  with pytest.raises(InputError, match=r"luke.tar.gz: not a regular file; expected one$"):
    luke_jax.load(tmp_path / "luke.tar.gz")


def test_no_such_directory(tmp_path):
  with pytest.raises(InputError, match="no such file or directory"):
    luke_jax.load(tmp_path / "nothing")


def test_a_file_that_is_no_archive(tmp_path):
  (tmp_path / "x.bin").write_bytes(b"junk")
  with pytest.raises(InputError, match="expected a directory, an archive"):
    luke_jax.load(tmp_path / "x.bin")


def test_an_index_that_points_elsewhere(saved):
  (saved / "model.safetensors").unlink()
  index = {"weight_map": {"a": "../../etc/passwd"}}
  (saved / "model.safetensors.index.json").write_text(json.dumps(index))
  with pytest.raises(InputError, match="expected a file of the same directory"):
    luke_jax.load(saved)


def test_an_unknown_field_names_the_nearest(saved):
  with pytest.raises(InputError, match="perhaps hidden_dropout_prob"):
    luke_jax.load(saved, hidden_dropout=0.1)


def test_an_unknown_label_names_the_known(saved):
  with pytest.raises(InputError, match="'river': unknown; expected one of person, place, work"):
    luke_jax.load(saved).label_id("river")


def test_entities_that_are_there_or_vectors_that_do_not_fit(saved):
  model = luke_jax.load(saved)
  with pytest.raises(InputError, match="Tokyo"):
    add_entities(model, ["Tokyo"])
  with pytest.raises(InputError, match=r"shape \(1, 5\); expected \(1, 32\)"):
    add_entities(model, ["Kyoto"], vectors=np.ones((1, 5)))


@pytest.mark.parametrize(
  ("fields", "message"),
  [
    (
      {"attention": "foo"},
      "attention: 'foo'; expected one of 'einsum', 'blocks', 'pallas', 'fused'",
    ),
    ({"remat": "foo"}, "remat: 'foo'; expected one of"),
    ({"hidden_size": 65}, "hidden_size: 65; expected a multiple"),
    ({"labels": "abc"}, "labels: 'abc'; expected a list"),
    ({"labels": []}, "labels: []; expected a list"),
    ({"labels": ["a", "a"]}, "labels: a, a; expected each of them once"),
    ({"entity_vocab": "x.json"}, "entity_vocab: 'x.json'; expected an EntityVocab"),
  ],
)
def test_faults_of_arguments(saved, fields, message):
  with pytest.raises(InputError) as refused, warnings.catch_warnings():
    warnings.simplefilter("ignore")
    luke_jax.load(saved, **fields)
  assert message in str(refused.value)
  assert str(saved) in str(refused.value)


@pytest.mark.parametrize("titles", ["Lima", [5], [""], ["a\nb"], [None]])
def test_titles_that_are_none(saved, titles):
  with pytest.raises(InputError, match=r"titles?.*expected"):
    add_entities(luke_jax.load(saved), titles)


def test_vectors_that_are_no_numbers(saved):
  model = luke_jax.load(saved)
  for vectors in (np.full((1, 32), np.nan), [["x"] * 32]):
    with pytest.raises(InputError, match=r"vectors: .*expected"):
      add_entities(model, ["Kyoto"], vectors=vectors)


def test_saving_onto_a_file_or_a_folder_of_that_name(saved, tmp_path):
  model = luke_jax.load(saved)
  (tmp_path / "file").write_text("mine")
  with pytest.raises(InputError, match="expected a directory to write to"):
    model.save(tmp_path / "file")
  (tmp_path / "odd" / "vocab.json").mkdir(parents=True)
  with pytest.raises(InputError, match=r"vocab\.json: a directory; expected a file"):
    model.save(tmp_path / "odd")
  assert [path.name for path in (tmp_path / "odd").iterdir()] == ["vocab.json"]
  with pytest.raises(InputError, match="dtype: 'int8'; expected one of float32"):
    model.save(tmp_path / "int8", dtype="int8")
  assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "model", "odd"]


def inputs(**changes):
  given = {
    "input_ids": [[0, 5, 6, 2]],
    "attention_mask": [[1, 1, 1, 1]],
    "entity_ids": [[2, 4]],
    "entity_attention_mask": [[1, 1]],
    "entity_position_ids": [[[1, -1], [2, -1]]],
  }
  return {k: np.array(v) for k, v in (given | changes).items() if v is not None}


INPUTS = [
  ({"input_ids": [[0, 99999, 6, 2]]}, "input_ids: 99999; expected numbers from 0 to"),
  ({"input_ids": [[0, -5, 6, 2]]}, "input_ids: -5; expected numbers from 0"),
  ({"input_ids": [0, 5, 6, 2]}, "input_ids: shape (4,); expected (batch, words)"),
  ({"input_ids": [[5] * 600], "attention_mask": None}, "600 words; expected at most 512"),
  ({"attention_mask": [[1, 1]]}, "attention_mask: shape (1, 2); expected (1, 4)"),
  ({"token_type_ids": [[0, 5, 0, 0]]}, "token_type_ids: 5; expected numbers from 0 to 0"),
  ({"position_ids": [[2, 3, 4, 999]]}, "position_ids: 999; expected numbers from 0 to 513"),
  ({"entity_ids": [[2, 77]]}, "entity_ids: 77; expected numbers from 0 to 6"),
  ({"entity_ids": None}, "entity_ids: missing; expected 2 entities or more"),
  (
    {"entity_ids": [[2]], "entity_position_ids": [[[1]]], "entity_attention_mask": None},
    "entity_ids: 1 for each text; expected 2 or more",
  ),
  ({"entity_position_ids": None}, "entity_position_ids: missing; expected (1, 2, 'positions')"),
  ({"entity_position_ids": [[[9], [1]]]}, "entity_position_ids: 9; expected numbers from -1 to 3"),
  ({"entity_attention_mask": [[1]]}, "entity_attention_mask: shape (1, 1); expected (1, 2)"),
]


@pytest.mark.parametrize(("changes", "message"), INPUTS)
def test_inputs_that_would_be_read_wrong(changes, message):
  model = tiny_model("LukeForEntityPairClassification")
  with pytest.raises(InputError) as refused:
    model(**inputs(**changes))
  assert message in str(refused.value)


def test_nothing_is_left_of_a_save_that_fails(tmp_path, monkeypatch):
  def full(*_, **__):
    raise OSError("No space left on device")

  monkeypatch.setattr("luke_jax.convert.saving.save_processor", full)
  with pytest.raises(InputError, match="No space left"):
    tiny_model().save(tmp_path / "model")
  assert list(tmp_path.iterdir()) == []
