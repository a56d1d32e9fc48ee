"""BERT, RoBERTa and XLM-R against directories that transformers wrote, and their sizes."""

import json
import warnings
from pathlib import Path

import jax
import numpy as np
import pytest
from networks import network
from safetensors.numpy import load_file, save_file
from small_wikis import write_dump
from tiny import same_params

import luke_jax
from luke_jax.cli import main
from luke_jax.errors import InputError
from luke_jax.models.network import abstract_params
from luke_jax.models.table import SIZES
from luke_jax.text import EntityVocab
from luke_jax.text.tokenizer import SPECIAL

pytestmark = pytest.mark.usefixtures("one_device")

GOLDENS = sorted((Path(__file__).parents[2] / "goldens" / "bert").iterdir())
TEXTS = Path(__file__).parents[2] / "goldens" / "text"
# Of the reference's models with their poolers.
COUNTS = {
  "bert-base": 109_482_240,
  "bert-large": 335_141_888,
  "roberta-base": 124_645_632,
  "roberta-large": 355_359_744,
  "xlm-roberta-base": 278_043_648,
  "xlm-roberta-large": 559_890_432,
  "albert-base": 11_683_584,
  "mpnet-base": 109_486_464,  # with the 514 positions of the published one
  "modernbert-base": 149_014_272,
}


@pytest.mark.parametrize("name", COUNTS)
def test_parameter_counts(name):
  params = abstract_params(network(f"{SIZES[name].prefix}Model", SIZES[name]))
  assert sum(x.size for x in jax.tree.leaves(params)) == COUNTS[name]


ROOM = 64


@pytest.mark.parametrize("folder", GOLDENS)
def test_outputs_and_both_directions(folder, tmp_path):
  model = luke_jax.load(folder)
  assert (model.architecture, str(model.report)) == (folder.name, "every tensor found its place")
  with np.load(folder / "expected.npz") as record:
    inputs = {k[6:]: record[k] for k in record if k.startswith("input:")}
    expected = {k[7:]: record[k] for k in record if k.startswith("output:")}
  outputs = model(**inputs)
  for name, value in expected.items():
    found = np.asarray(outputs[name]).reshape(value.shape)
    np.testing.assert_allclose(found, value, atol=1e-5, err_msg=name)
  model.save(tmp_path)
  before, after = (load_file(where / "model.safetensors") for where in (folder, tmp_path))
  assert before.keys() <= after.keys()  # tied tensors are written under both of their names
  for name, tensor in before.items():
    np.testing.assert_array_equal(after[name], tensor, err_msg=name)
  assert same_params(luke_jax.load(tmp_path).params, model.params)
  config, again = (json.loads((w / "config.json").read_text()) for w in (folder, tmp_path))
  assert config["model_type"] == again["model_type"]
  assert config["architectures"] == again["architectures"]


@pytest.fixture
def masked(tmp_path):
  """A BERT of a hub's oldest kind: no class in its config, gamma and beta, words in vocab.txt."""
  folder = Path(tmp_path / "bert")
  folder.mkdir()
  (source,) = (path for path in GOLDENS if path.name == "BertForPreTraining")
  words = (TEXTS / "word_piece" / "vocab.txt").read_text(encoding="utf-8")
  (folder / "vocab.txt").write_text(words, encoding="utf-8")
  count, rng = len(words.splitlines()), np.random.default_rng(0)
  tensors = load_file(source / "model.safetensors")
  renamed = {}
  for name, tensor in tensors.items():
    rows = {40: count, 20: ROOM}.get(tensor.shape[0])  # other words, and more positions
    if rows:
      tensor = rng.normal(size=(rows, *tensor.shape[1:])).astype(np.float32)
    norm = "LayerNorm" in name
    old = name.replace("weight", "gamma").replace("bias", "beta") if norm else name
    renamed[old] = tensor
  save_file(renamed, folder / "model.safetensors")
  config = json.loads((source / "config.json").read_text())
  config |= {"architectures": ["BertForMaskedLM"], "vocab_size": count}
  config |= {"max_position_embeddings": ROOM}
  (folder / "config.json").write_text(json.dumps(config))
  return folder


def test_an_old_directory_of_the_hub_loads(masked):
  """Its pooler and its head of next sentences serve nothing of its class: no warning."""
  model = luke_jax.load(masked)
  assert model.architecture == "BertForMaskedLM" and not model.report.missing
  inputs = model.processor("a word", "another")
  assert inputs["token_type_ids"].max() == 1
  assert model(**inputs)["logits"].shape[-1] == model.tokenizer.vocab_size


def test_a_luke_starts_from_a_bert(masked, tmp_path):
  """Words and layers are BERT's, positions are counted as in BERT, the rest is fresh."""
  vocab = EntityVocab({title: i for i, title in enumerate((*SPECIAL, "Tokyo"))})
  with pytest.warns(UserWarning, match="initialised") as warned:
    luke = luke_jax.load(masked, entity_vocab=vocab, use_entity_aware_attention=True)
  assert len(warned) == 1 and luke.config.name == "luke"
  assert luke.config.word_positions == "bert" and luke.backbone.entities == 5
  assert all("entity" in name for name in luke.report.missing)
  bert = luke_jax.load(masked)
  np.testing.assert_array_equal(
    luke.params["luke"]["encoder"]["layers"]["mlp"]["up"]["kernel"],
    bert.params["bert"]["encoder"]["layers"]["mlp"]["up"]["kernel"],
  )
  text = "a word"
  same = luke(**luke.processor(text)), bert(**bert.processor(text))
  np.testing.assert_allclose(same[0]["last_hidden_state"], same[1]["last_hidden_state"], atol=1e-6)
  luke.save(tmp_path / "luke")
  assert same_params(luke_jax.load(tmp_path / "luke").params, luke.params)


def test_a_file_of_no_known_system_is_refused(masked):
  config = json.loads((masked / "config.json").read_text())
  (masked / "config.json").write_text(json.dumps(config | {"model_type": "gpt2"}))
  with pytest.raises(InputError, match=r"model_type: 'gpt2'; expected one of luke, .*bert"):
    luke_jax.load(masked)


PAGES = {
  "Ana": "The word of [[Oto]] is a word, and [[Oto]] is in a town. " * 8,
  "Oto": "The town of [[Ana]] is near a river, and [[Ana]] is there. " * 8,
}
PRETRAINING = """
from luke_jax.systems.luke import LukeConfig
from luke_jax.pipeline.batches import Data
from luke_jax.tasks.pretraining import Pretraining
from luke_jax.training.experiment import Experiment, Run

def config():
  return Experiment(
    model=LukeConfig(**{model!r}),
    task=Pretraining(({records!r},), 64, 8, 4, held_out=0.5, dev_records=4),
    data=Data(batch_size=8, evaluation_batch_size=8),
    run=Run(steps=1, start={start!r}),
  )
"""


@pytest.mark.slow
def test_lukes_pretraining_starts_from_a_bert(masked, tmp_path, capsys):
  """From a wiki in word pieces to a saved LUKE, by the commands."""
  dump, folder = write_dump(tmp_path / "wiki.xml", PAGES), str(tmp_path / "wiki")
  limits = [
    "--max-words",
    str(ROOM),
    "--max-entities",
    "8",
    "--max-mention",
    "4",
    "--entities",
    "5",
  ]
  build = ["wiki", "build", str(dump), "--tokenizer", str(masked), "--output", folder]
  assert main([*build, *limits, "--workers", "1"]) == 0
  records = f"{folder}/pretraining"
  special = luke_jax.load(masked).tokenizer.special
  sizes = json.loads((tmp_path / "wiki/pretraining/metadata.json").read_text())
  bert = json.loads((masked / "config.json").read_text())
  names = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")
  names += ("max_position_embeddings", "type_vocab_size", "layer_norm_eps")
  model = {name: bert[name] for name in names} | {"word_positions": "bert", "entity_emb_size": 8}
  model |= {name: sizes[name] for name in ("vocab_size", "entity_vocab_size")}
  model |= {"pad_token_id": special.pad, "bos_token_id": special.start}
  model |= {"eos_token_id": special.end}
  experiment = tmp_path / "experiment.py"
  text = PRETRAINING.format(model=model, records=records, start=str(masked))
  experiment.write_text(text, encoding="utf-8")
  with warnings.catch_warnings():
    warnings.simplefilter("always")
    assert main(["train", str(experiment), "--output", str(tmp_path / "run")]) == 0
  warned = [x for x in capsys.readouterr().err.splitlines() if "warning" in x]
  assert len(warned) == 1 and "entity_embeddings" in warned[0] and "begin fresh" in warned[0]
  assert main(["export", str(tmp_path / "run"), str(tmp_path / "luke")]) == 0
  luke = luke_jax.load(tmp_path / "luke")
  assert luke.config.name == "luke" and luke.config.word_positions == "bert"
  inputs = luke.processor("Ana is a word", entity_spans=[(0, 3)])
  assert inputs["input_ids"][0, 0] == special.start
  assert luke(**inputs)["entity_logits"].shape[-1] == luke.backbone.entities
