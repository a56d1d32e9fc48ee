"""Fields of config files that change what is computed are refused by name."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from small_systems import small

import luke_jax
from luke_jax.cli import main
from luke_jax.errors import InputError
from luke_jax.heads.kinds import class_names
from luke_jax.models.system import Described
from luke_jax.models.table import system_named, systems
from luke_jax.systems.luke import LukeConfig

GOLDENS = Path(__file__).parents[1] / "goldens" / "bert"
OTHERS = {  # values of other models
  "is_decoder": True,
  "add_cross_attention": True,
  "is_encoder_decoder": True,
  "position_embedding_type": "relative_key",
  "pruned_heads": {"0": [1]},
  "per_layer_config": {"0": {"intermediate_size": 8}},
  "quantization_config": {"quant_method": "bitsandbytes"},
  "use_task_id": True,
  "pool_act": "relu",
  "hidden_act": "gelu",
  "summary_type": "mean",
  "summary_use_proj": False,
  "summary_activation": "tanh",
  "summary_proj_to_labels": True,
  "summary_first_dropout": 0.1,
  "z_steps": 2,
  "conv_groups": 2,
  **dict.fromkeys(("norm_bias", "attention_bias", "mlp_bias", "classifier_bias"), True),
  "decoder_bias": False,
  "attention_dropout": 0.1,
  "num_hidden_groups": 2,
  "inner_group_num": 2,
  "relative_attention_num_buckets": 64,
  **{"fuse_layers": True, "subtoken_pooling": "mean", "words_splitter_type": "spacy"},
  **{"post_fusion_schema": "l2l", "precomputed_prompts_mode": True, "represent_spans": True},
  "span_encoder_config": {"model_type": "rnn"},
}
FIXED = [(system, name) for system in systems() for name in system.fixed]


def config_of(system):
  """What a config.json of a small model of the system says."""
  return system.write_config(Described(small(system), class_names(system)["none"]))


@pytest.mark.parametrize(
  ("system", "name"), FIXED, ids=[f"{system.name}-{name}" for system, name in FIXED]
)
def test_a_field_that_would_change_what_is_computed_is_refused(system, name):
  raw, file = config_of(system), Path("config.json")
  for value in (None, system.fixed[name]):
    assert type(system.described(raw | {name: value}, file).config) is system
  with pytest.raises(InputError) as refused:
    system.described(raw | {name: OTHERS[name]}, file)
  said, computed = json.dumps(OTHERS[name]), json.dumps(system.fixed[name])
  assert str(refused.value).startswith(f"config.json: {name}: {said:.40}; expected {computed}, as")


def test_what_a_luke_starts_from_is_looked_at_as_well():
  raw = config_of(system_named("roberta")) | {"position_embedding_type": "relative_key_query"}
  with pytest.raises(InputError, match='position_embedding_type: "relative_key_query"; expected'):
    LukeConfig.described(raw, Path("config.json"))


def test_metadata_of_an_archive_is_looked_at_as_well():
  raw = {"model_config": {"is_decoder": True, "entity_vocab_size": 9}}
  with pytest.raises(InputError, match=r"^metadata.json: model_config.is_decoder: true; expected"):
    LukeConfig.read_archive(raw, Path("metadata.json"))


def test_an_ernie_without_an_activation_has_that_of_its_program():
  """transformers and PaddleNLP have gelu; the authors' own files are of models with relu."""
  system, file = system_named("ernie_baidu"), Path("config.json")
  raw = {name: x for name, x in config_of(system).items() if name != "hidden_act"}
  assert system.described(raw, file).config.hidden_act == "gelu"
  del raw["model_type"]
  assert system.described(raw, file).config.hidden_act == "relu"


def decoder(folder, **fields):
  """A RoBERTa that reads from left to right, with another class's parameters."""
  shutil.copytree(GOLDENS / "RobertaForMaskedLM", folder)
  config = json.loads((folder / "config.json").read_text())
  fields = {"architectures": ["RobertaForCausalLM"], **fields}
  (folder / "config.json").write_text(json.dumps(config | fields))
  return folder


def test_a_decoder_is_an_encoder_by_request_only(tmp_path):
  folder = decoder(tmp_path / "decoder", is_decoder=True, add_cross_attention=True)
  with pytest.raises(InputError, match=r"is_decoder: true; expected false, .*as_encoder=True"):
    luke_jax.load(folder)
  model = luke_jax.load(folder, as_encoder=True)
  assert model.architecture == "RobertaForMaskedLM"
  with np.load(GOLDENS / "RobertaForMaskedLM" / "expected.npz") as record:
    inputs = {name[6:]: record[name] for name in record if name.startswith("input:")}
    logits = record["output:logits"]
  np.testing.assert_allclose(model(**inputs)["logits"], logits, atol=1e-5)
  model.save(tmp_path / "encoder")
  written = json.loads((tmp_path / "encoder" / "config.json").read_text())
  assert (written["is_decoder"], written["architectures"]) == (False, ["RobertaForMaskedLM"])
  assert luke_jax.load(tmp_path / "encoder").kind == "masked"


@pytest.mark.parametrize("head", [None, "span"])
def test_a_class_that_reads_from_left_to_right_is_refused(head, tmp_path):
  """Under another head as well, as where a task begins with it."""
  folder = decoder(tmp_path / "decoder")
  fault = (
    "'RobertaForCausalLM': reads from left to right; expected .*`luke-jax convert --as-encoder`"
  )
  with pytest.raises(InputError, match=fault):
    luke_jax.load(folder, head=head)


def test_the_command_line_converts_a_decoder_by_request_only(tmp_path, capsys):
  folder = decoder(tmp_path / "decoder", is_decoder=True)
  arguments = ["convert", str(folder), str(tmp_path / "encoder")]
  assert main(arguments) == 2
  line = capsys.readouterr().err
  assert "is_decoder: true; expected false, " in line and "`luke-jax convert --as-encoder`" in line
  assert main([*arguments, "--as-encoder"]) == 0
  written = json.loads((tmp_path / "encoder" / "config.json").read_text())
  assert (written["is_decoder"], written["architectures"]) == (False, ["RobertaForMaskedLM"])
