"""Models of every origin, with what they lack and what they have left over."""

import dataclasses
import io
import json
import shutil
import tarfile
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tiny import TEXTS, TITLES, same_params, tiny_model, tiny_processor

import luke_jax
from luke_jax.errors import InputError
from luke_jax.models import keys
from luke_jax.systems.luke.keys import KEYS
from luke_jax.text import EntityVocab

MASKED = Path(__file__).parents[1] / "goldens" / "bert" / "RobertaForMaskedLM"


def edit(directory, change):
  """Rewrites the tensors of a saved model."""
  path = directory / "model.safetensors"
  tensors = load_file(path)
  save_file({k: np.ascontiguousarray(v) for k, v in change(tensors).items()}, path)


@pytest.fixture
def saved(tmp_path):
  tiny_model().save(tmp_path / "model")
  return tmp_path / "model"


def test_missing_queries_are_copies_of_the_first(saved):
  extra = ("w2e_query", "e2w_query", "e2e_query")
  edit(saved, lambda t: {k: v for k, v in t.items() if not any(q in k for q in extra)})
  model = luke_jax.load(saved)
  original = luke_jax.load(saved, use_entity_aware_attention=False)
  assert len(model.report.copied) == 3 * 2 * 2
  inputs = model.processor("Tokyo and Los Angeles", entity_spans=[(0, 5), (10, 21)])
  for name, expected in original(**inputs).items():
    np.testing.assert_allclose(model(**inputs)[name], expected, atol=1e-6)


def test_independent_entities_are_no_luke_to_transformers(saved, tmp_path):
  model = luke_jax.load(saved, independent_entities=True)
  assert same_params(model.params, luke_jax.load(saved).params)
  model.save(tmp_path / "other")
  raw = json.loads((tmp_path / "other" / "config.json").read_text())
  assert raw["model_type"] == "luke-independent"
  assert "independent_entities" not in json.loads((saved / "config.json").read_text())


def test_other_labels_make_a_new_head(tmp_path):
  tiny_model("LukeForEntityClassification").save(tmp_path)
  with pytest.warns(UserWarning, match=r"initialised.*classifier.*2 left over"):
    model = luke_jax.load(tmp_path, labels=["a", "b"])
  assert model.params["classifier"]["kernel"].shape == (64, 2)


def test_a_new_head_is_initialised_and_said(saved):
  with pytest.warns(UserWarning, match=r"2 initialised.*classifier\.weight.*11 left over"):
    model = luke_jax.load(saved, head="entity", labels=["a", "b", "c"])
  assert model.report.missing == ("classifier.bias", "classifier.weight")
  assert "lm_head.dense.weight" in model.report.unexpected
  assert model.params["classifier"]["kernel"].shape == (64, 3)
  assert same_params(model.params["luke"], tiny_model().params["luke"])
  assert model.labels == ("a", "b", "c")


def test_the_seed_decides_what_is_initialised(saved):
  def head(seed):
    with pytest.warns(UserWarning, match="initialised"):
      model = luke_jax.load(saved, head="entity", seed=seed)
    return model.params["classifier"]["kernel"]

  np.testing.assert_array_equal(head(1), head(1))
  assert not np.array_equal(head(1), head(2))


def test_config_fields_can_be_changed(saved):
  model = luke_jax.load(saved, dtype="bfloat16", hidden_dropout_prob=0.2)
  assert model.backbone.running.dtype == "bfloat16"
  assert model.config.hidden_dropout_prob == 0.2


def test_a_decoder_trained_apart_stays_apart(saved):
  changed = "lm_head.decoder.weight"
  edit(saved, lambda t: t | {changed: t[changed] + 1})
  model = luke_jax.load(saved)
  assert not model.config.tie_word_embeddings
  table = model.params["luke"]["embeddings"]["word"]["embedding"]
  np.testing.assert_array_equal(model.params["word_decoder"]["embedding"], table + 1)


def test_a_decoder_that_an_untied_model_lacks_is_named(saved):
  edit(saved, lambda t: {name: x for name, x in t.items() if name != "lm_head.decoder.weight"})
  config = json.loads((saved / "config.json").read_text()) | {"tie_word_embeddings": False}
  (saved / "config.json").write_text(json.dumps(config))
  with pytest.warns(UserWarning, match=r"1 initialised, .* \(lm_head\.decoder\.weight\)"):
    luke_jax.load(saved)


APART = ("entity_predictions.decoder.weight", "lm_head.decoder.bias")


@pytest.fixture
def apart(saved):
  """A directory in which transformers 5 trained two parts of decoders that it usually ties."""
  entities = load_file(saved / "model.safetensors")[
    "luke.entity_embeddings.entity_embeddings.weight"
  ]
  edit(saved, lambda t: t | {APART[0]: entities + 1, APART[1]: t["lm_head.bias"] + 1})
  return saved


def test_other_parts_of_decoders_stay_apart(apart, tmp_path):
  model, tied = luke_jax.load(apart), tiny_model()
  assert model.report.apart == APART and not model.report.unexpected
  assert str(model.report).endswith(f"2 apart from the embeddings or bias ({', '.join(APART)})")
  assert model.config.tie_word_embeddings and not model.config.tie_entity_embeddings
  np.testing.assert_array_equal(model.params["entity_decoder"]["embedding"], tied.entity_table + 1)
  bias = model.params["masked_words"]["bias"]
  np.testing.assert_array_equal(bias, tied.params["masked_words"]["bias"] + 1)
  inputs = model.processor("Tokyo and Los Angeles", entity_spans=[(0, 5), (10, 21)])
  found, before = model(**inputs), tied(**inputs)
  np.testing.assert_allclose(found["logits"], before["logits"] + 1, atol=1e-6)
  assert np.abs(found["entity_logits"] - before["entity_logits"]).max() > 0.1
  model.save(tmp_path / "again")
  again = luke_jax.load(tmp_path / "again")
  assert same_params(again.params, model.params) and again.config == model.config
  written = json.loads((tmp_path / "again" / "config.json").read_text())
  assert not written["tie_word_embeddings"]  # one entry says both


def test_what_a_head_does_not_read_is_no_surprise(saved):
  """No warning, for a known part of the system is left over; the report names it."""
  model = luke_jax.load(saved, head="none")
  assert {"lm_head.bias", "lm_head.decoder.bias"} < set(model.report.unexpected)


def test_decoders_apart_are_left_over_where_nothing_decodes(apart):
  with pytest.warns(UserWarning, match="initialised"):
    model = luke_jax.load(apart, head="entity", labels=["a", "b"])
  assert set(APART) < set(model.report.unexpected) and not model.report.apart


def test_sharded_safetensors(saved):
  tensors = load_file(saved / "model.safetensors")
  (saved / "model.safetensors").unlink()
  names = sorted(tensors)
  parts = {"a.safetensors": names[::2], "b.safetensors": names[1::2]}
  for file, held in parts.items():
    save_file({name: tensors[name] for name in held}, saved / file)
  index = {"weight_map": {name: file for file, held in parts.items() for name in held}}
  (saved / "model.safetensors.index.json").write_text(json.dumps(index))
  assert same_params(luke_jax.load(saved).params, tiny_model().params)


def roberta(directory, tokenizer="byte_level"):
  """A RoBERTa directory as transformers writes it: no markers, no entities, a buffer or two."""
  model = tiny_model()
  size = model.config.vocab_size - 2
  directory.mkdir()
  tensors = {}
  for name, x in keys.to_torch(model.params, KEYS):
    if "entity" in name or "2e_" in name or "2w_" in name:
      continue
    cut = x[:size] if "word_embeddings" in name or name == "lm_head.bias" else x
    tensors[name.replace("luke.", "roberta.")] = np.ascontiguousarray(cut)
  tensors["roberta.embeddings.position_ids"] = np.arange(514)[None]
  save_file(tensors, directory / "model.safetensors")
  config = {
    "model_type": "roberta",
    "architectures": ["RobertaForMaskedLM"],
    "vocab_size": size,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 128,
    "max_position_embeddings": 514,
    "type_vocab_size": 1,
    "layer_norm_eps": 1e-5,
    "pad_token_id": 1,
  }
  (directory / "config.json").write_text(json.dumps(config))
  for file in (TEXTS / tokenizer).iterdir():
    shutil.copyfile(file, directory / file.name)
  return directory


def test_roberta_alone_is_words_alone(tmp_path):
  model = luke_jax.load(roberta(tmp_path / "roberta"))
  assert (model.architecture, model.backbone.entities) == ("RobertaForMaskedLM", 0)
  assert not model.report.added
  assert model.params["masked_words"]["bias"].shape == (model.tokenizer.vocab_size,)
  outputs = model(**model.processor("Tokyo"))
  assert outputs["logits"].shape[-1] == model.tokenizer.vocab_size


def test_roberta_is_where_pretraining_starts(tmp_path):
  vocab = EntityVocab({title: i for i, title in enumerate(TITLES)})
  with pytest.warns(UserWarning, match="initialised") as said:
    model = luke_jax.load(roberta(tmp_path / "roberta"), entity_vocab=vocab)
  assert len(said) == 1
  assert all("entity" in name for name in model.report.missing)
  assert not model.report.unexpected
  table = model.params["luke"]["embeddings"]["word"]["embedding"]
  pieces = [model.tokenizer.piece_id(piece) for piece in ("@", "#")]
  np.testing.assert_array_equal(table[-2:], table[pieces])
  outputs = model(**model.processor("Tokyo", entity_spans=[(0, 5)]))
  assert outputs["entity_logits"].shape == (1, 1, len(TITLES))
  model.save(tmp_path / "luke")
  assert same_params(luke_jax.load(tmp_path / "luke").params, model.params)


def archive(path, mode, *, tsv=True, listed=False):
  """An archive as the authors' code makes it: three specials, no markers, original attention."""
  torch = pytest.importorskip("torch")
  titles = [t for t in TITLES if listed or t != "[MASK2]"]
  entities = len(titles)
  model = tiny_model(use_entity_aware_attention=False, entity_vocab_size=entities)
  size = model.config.vocab_size - 2
  state = {}
  for name, x in keys.to_torch(model.params, KEYS):
    cut = x[:size] if "word_embeddings" in name or name == "lm_head.bias" else x
    state[name.removeprefix("luke.")] = torch.tensor(cut)
  state["lm_head.decoder.weight"] = state["embeddings.word_embeddings.weight"]
  weights = io.BytesIO()
  torch.save(state, weights)
  config = model.config
  metadata = {
    "model_config": {
      name: getattr(config, name)
      for name in ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")
    }
    | {"vocab_size": size, "entity_vocab_size": entities, "entity_emb_size": 32}
    | {"max_position_embeddings": 514, "type_vocab_size": 1, "layer_norm_eps": 1e-5}
    | {"bert_model_name": "roberta-base"},
    "max_mention_length": 30,
  }
  rows = [json.dumps({"id": i, "entities": [[t, None]], "count": 9}) for i, t in enumerate(titles)]
  files = {
    "metadata.json": json.dumps(metadata).encode(),
    "pytorch_model.bin": weights.getvalue(),
    "entity_vocab.tsv" if tsv else "entity_vocab.jsonl": (
      "".join(f"{t}\t9\n" for t in titles) if tsv else "\n".join(rows) + "\n"
    ).encode(),
    "../escaped.txt": b"no",
  }
  with tarfile.open(path, mode) as tar:
    for name, content in files.items():
      member = tarfile.TarInfo(name)
      member.size = len(content)
      tar.addfile(member, io.BytesIO(content))
  return model


@pytest.mark.parity
def test_a_second_mask_that_pretraining_left_as_it_was(tmp_path):
  made = archive(tmp_path / "luke.tar", "w", listed=True)
  model = luke_jax.load(tmp_path / "luke.tar", tokenizer=TEXTS / "byte_level")
  ids = model.processor.entity_vocab.ids
  assert model.report.added == ("<ent>", "<ent2>") and ids["[MASK2]"] == 3
  before, after = (x.params["luke"]["entity_embeddings"]["entity"] for x in (made, model))
  expected = np.array(before["embedding"])
  expected[3] = expected[2]
  np.testing.assert_array_equal(after["embedding"], expected)


@pytest.mark.parity
@pytest.mark.parametrize(("mode", "tsv"), [("w:gz", True), ("w:bz2", False), ("w", True)])
def test_archives_of_the_authors(tmp_path, mode, tsv):
  folder = tmp_path / "deep"
  folder.mkdir()
  made = archive(folder / "luke.tar", mode, tsv=tsv)
  model = luke_jax.load(folder / "luke.tar", tokenizer=TEXTS / "byte_level")
  assert model.report.added == ("<ent>", "<ent2>", "[MASK2]")
  assert not model.report.missing
  assert not model.report.unexpected
  assert same_params(model.params["luke"]["encoder"], made.params["luke"]["encoder"])
  table = model.params["luke"]["entity_embeddings"]["entity"]["embedding"]
  np.testing.assert_array_equal(table[6], table[2])
  assert model.processor.entity_vocab.ids["[MASK2]"] == 6
  assert not (tmp_path / "escaped.txt").exists()
  model.save(tmp_path / "saved")
  assert same_params(luke_jax.load(tmp_path / "saved").params, model.params)


@pytest.mark.parity
def test_an_archive_without_a_tokenizer_keeps_its_words(tmp_path):
  made = archive(tmp_path / "luke.tar", "w")
  with pytest.warns(UserWarning, match="no tokenizer, so its entity vocabulary is left out"):
    model = luke_jax.load(tmp_path / "luke.tar")
  assert model.config.vocab_size == made.config.vocab_size - 2
  assert model.processor is None


def test_adding_entities_keeps_the_old_ones(saved):
  from luke_jax.convert.text_side import add_entities

  model = luke_jax.load(saved)
  vectors = np.ones((2, 32), np.float32)
  grown = add_entities(model, ["Kyoto", "Ōsaka"], vectors=vectors)
  inputs = model.processor("Tokyo and Los Angeles", entity_spans=[(0, 5), (10, 21)])
  before, after = model(**inputs), grown(**inputs)
  old = len(TITLES)
  # A product with more columns may be summed in another order.
  np.testing.assert_allclose(after["entity_logits"][..., :old], before["entity_logits"], atol=1e-6)
  np.testing.assert_array_equal(after["logits"], before["logits"])
  assert grown.processor.entity_vocab.id("Kyoto") == old
  table = grown.params["luke"]["entity_embeddings"]["entity"]["embedding"]
  np.testing.assert_array_equal(table[old:], vectors)
  np.testing.assert_array_equal(table[:old], model.entity_table)
  like_mask = add_entities(model, ["Kyoto"])
  table = like_mask.params["luke"]["entity_embeddings"]["entity"]["embedding"]
  np.testing.assert_array_equal(table[old], table[2])


def test_lite_gives_the_same_for_masked_entities(saved, tmp_path):
  from luke_jax.convert.text_side import lite

  model = luke_jax.load(saved)
  small = lite(model)
  text, spans = "Tokyo and Los Angeles", [(0, 5), (10, 21)]
  expected = model(**model.processor(text, entity_spans=spans))
  found = small(**small.processor(text, entity_spans=spans))
  for name in ("last_hidden_state", "entity_last_hidden_state", "logits"):
    np.testing.assert_array_equal(found[name], expected[name])
  assert small.processor.entity_vocab.ids == {"[MASK]": 0, "[UNK]": 1, "[PAD]": 2, "[MASK2]": 3}
  assert small.config.entity_padding_id == 2
  small.save(tmp_path / "small")
  assert luke_jax.load(tmp_path / "small").config.entity_padding_id == 2


def test_rows_are_no_longer_than_positions(tmp_path):
  tiny_model(max_position_embeddings=32).save(tmp_path)
  assert luke_jax.load(tmp_path).processor.max_length == 30


def test_processor_of_tests_is_what_it_says():
  assert tiny_processor().entity_vocab.id("Tokyo") == 6


def test_constants_among_the_tensors_are_no_parameters(saved):
  name = "luke.embeddings.position_ids"
  edit(saved, lambda t: t | {name: np.arange(514)[None]})
  model = luke_jax.load(saved)
  assert same_params(model.params, tiny_model().params)
  assert str(model.report) == "every tensor found its place"


def test_whole_numbers_are_no_weights(saved):
  """Quantised weights, read without their scales, would be a model of noise."""
  name = "luke.encoder.layer.0.output.dense.weight"
  edit(saved, lambda t: t | {name: t[name].astype(np.int8)})
  with pytest.raises(InputError) as refused:
    luke_jax.load(saved)
  assert str(refused.value) == f"{saved}: {name}: numbers of type int8; expected floating point"


def test_a_report_stays_as_it_was_made(tmp_path):
  model = luke_jax.load(roberta(tmp_path / "roberta"))
  with pytest.raises(dataclasses.FrozenInstanceError):
    model.report.added = ()
  assert isinstance(model.report.added, tuple)


def test_a_decoder_without_its_weights_is_the_encoder_that_it_came_from(tmp_path):
  """As encoders of sentences are saved, by the class of what they went on from."""
  shutil.copytree(MASKED, tmp_path, dirs_exist_ok=True)
  tensors = load_file(tmp_path / "model.safetensors")
  kept = {name: x for name, x in tensors.items() if not name.startswith("lm_head.")}
  save_file(kept, tmp_path / "model.safetensors")
  with pytest.warns(UserWarning, match="2 initialised"):  # its pooler
    model = luke_jax.load(tmp_path)
  assert model.architecture == "RobertaModel" and not model.report.unexpected
  with pytest.warns(UserWarning, match=r"lm_head\.bias"):
    assert luke_jax.load(tmp_path, head="masked").architecture == "RobertaForMaskedLM"
