"""What is saved is what is loaded, to the bit, for every class."""

import dataclasses
import json

import numpy as np
import pytest
from safetensors.numpy import load_file
from tiny import LABELS, same_params, tiny_model

import luke_jax
from luke_jax.errors import InputError
from luke_jax.heads.kinds import class_names
from luke_jax.models import keys
from luke_jax.systems.luke import LukeConfig

# Those of "match" are saved as adapters alone: tests/tasks/labels.
VARIANTS = [(name, {}) for kind, name in class_names(LukeConfig).items() if kind != "match"] + [
  ("LukeForMaskedLM", {"use_entity_aware_attention": False}),
  ("LukeForMaskedLM", {"entity_emb_size": 64}),
  ("LukeForMaskedLM", {"tie_word_embeddings": False}),
  ("LukeForMaskedLM", {"tie_word_embeddings": False, "tie_entity_embeddings": False}),
  ("LukeForMaskedLM", {"cls_entity_prediction": True}),
  ("LukeForMaskedLM", {"word_positions": "bert", "pad_token_id": 0, "type_vocab_size": 2}),
  ("LukeForEntityPairClassification", {"bias": True}),
  ("LukeForEntitySpanClassification", {"independent_entities": True, "word_positions": "bert"}),
]


@pytest.mark.parametrize(("architecture", "fields"), VARIANTS)
def test_every_class(tmp_path, architecture, fields):
  model = tiny_model(architecture, **fields)
  model.save(tmp_path / "model")
  back = luke_jax.load(tmp_path / "model")
  assert same_params(back.params, model.params)
  assert back.config == model.config
  assert back.labels == (model.labels or ("LABEL_0", "LABEL_1"))
  assert back.architecture == architecture
  assert str(back.report).startswith("every tensor found its place")
  assert len(back.report.apart) == sum(name.startswith("tie_") for name in fields)


def test_saving_again_writes_the_same_bytes(tmp_path):
  tiny_model().save(tmp_path / "one")
  luke_jax.load(tmp_path / "one").save(tmp_path / "two")
  files = sorted(file.name for file in (tmp_path / "one").iterdir())
  assert files == sorted(file.name for file in (tmp_path / "two").iterdir())
  for name in files:
    assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name


def test_text_side_and_labels_come_back(tmp_path):
  model = tiny_model("LukeForEntityClassification")
  model.save(tmp_path)
  back = luke_jax.load(tmp_path)
  text, spans = "Beyoncé lives in Los Angeles.", [(0, 7), (17, 28)]
  expected = model(**model.processor(text, entity_spans=spans))
  found = back(**back.processor(text, entity_spans=spans, padding="longest"))
  np.testing.assert_array_equal(found["logits"], expected["logits"])
  assert back.label_id("place") == 1
  assert json.loads((tmp_path / "config.json").read_text())["id2label"] == dict(
    zip("012", LABELS, strict=True)
  )


def test_kernels_are_written_as_pytorch_holds_them(tmp_path):
  """safetensors writes bytes as they lie; a transposed view would come out scrambled."""
  model = tiny_model("LukeModel")
  model.save(tmp_path)
  written = load_file(tmp_path / "model.safetensors")
  layer = model.params["luke"]["encoder"]["layers"]
  up = np.asarray(layer["mlp"]["up"]["kernel"])[1]
  np.testing.assert_array_equal(written["encoder.layer.1.intermediate.dense.weight"], up.T)
  query = np.asarray(layer["attention"]["query"]["kernel"])[0, 1, 0]
  name = "encoder.layer.0.attention.self.e2w_query.weight"
  np.testing.assert_array_equal(written[name], query.reshape(64, 64).T)
  output = np.asarray(layer["attention"]["output"]["kernel"])[0].reshape(64, 64)
  np.testing.assert_array_equal(written["encoder.layer.0.attention.output.dense.weight"], output.T)


def test_a_fault_of_the_writer_is_noticed(tmp_path, monkeypatch):
  import safetensors.numpy

  save_file = safetensors.numpy.save_file

  def faulty(tensors, *rest, **more):
    save_file({name: -tensor for name, tensor in tensors.items()}, *rest, **more)

  monkeypatch.setattr(safetensors.numpy, "save_file", faulty)
  with pytest.raises(OSError, match="reads back different"):
    tiny_model().save(tmp_path / "model")
  assert not (tmp_path / "model").exists()
  assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_smaller_numbers_on_disk(tmp_path, dtype):
  model = tiny_model()
  model.save(tmp_path, dtype=dtype)
  back = luke_jax.load(tmp_path)
  for path, array in keys.flatten(back.params).items():
    assert array.dtype == np.float32
    np.testing.assert_allclose(array, keys.flatten(model.params)[path], rtol=0.01, atol=1e-4)
  assert json.loads((tmp_path / "config.json").read_text())["dtype"] == dtype


def test_unknown_fields_of_the_config_stay(tmp_path):
  tiny_model().save(tmp_path)
  path = tmp_path / "config.json"
  path.write_text(json.dumps(json.loads(path.read_text()) | {"entity_linker": {"name": "x"}}))
  luke_jax.load(tmp_path).save(tmp_path)
  assert json.loads(path.read_text())["entity_linker"] == {"name": "x"}


def test_other_files_in_the_directory_stay(tmp_path):
  (tmp_path / "notes.txt").write_text("mine")
  tiny_model().save(tmp_path)
  tiny_model().save(tmp_path)
  assert (tmp_path / "notes.txt").read_text() == "mine"


def test_what_a_model_left_behind_does_not_come_back(tmp_path):
  """Files of an older model in the same directory would be read instead of the new ones."""
  for name in ("model.safetensors.index.json", "tokenizer.json", "sentencepiece.bpe.model"):
    (tmp_path / name).write_text("old")
  model = tiny_model()
  model.save(tmp_path)
  assert same_params(luke_jax.load(tmp_path).params, model.params)
  assert not (tmp_path / "tokenizer.json").exists()


def test_labels_fit_the_config():
  with pytest.raises(InputError, match="labels: 2; expected 3"):
    dataclasses.replace(tiny_model("LukeForEntityClassification"), labels=("a", "b"))


def test_an_untied_decoder_leaves_the_entities_their_own(tmp_path):
  """Told that words are untied, transformers ties nothing, so both decoders must be in the file."""
  tiny_model(tie_word_embeddings=False).save(tmp_path)
  written = load_file(tmp_path / "model.safetensors")
  table = written["luke.entity_embeddings.entity_embeddings.weight"]
  np.testing.assert_array_equal(written["entity_predictions.decoder.weight"], table)


def test_the_card_says_what_it_is(tmp_path):
  tiny_model("LukeForEntityClassification").save(tmp_path)
  card = (tmp_path / "README.md").read_text()
  for said in (
    "LukeForEntityClassification",
    "person, place, work",
    "entity-aware",
    "from_pretrained",
  ):
    assert said in card
