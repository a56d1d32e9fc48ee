"""ELECTRA: its sizes, what its heads drop, and discriminators, whose head serves pretraining."""

import json
import shutil
from pathlib import Path

import jax
import numpy as np
import pytest
from networks import network
from safetensors.numpy import load_file, save_file

import luke_jax
from luke_jax.models.network import abstract_params
from luke_jax.systems.electra import SIZES, ElectraConfig

GOLDEN = Path(__file__).parents[2] / "goldens" / "bert" / "ElectraForMaskedLM"
COUNTS = {"electra-small": 13_483_008, "electra-base": 108_891_648}
HEAD = {  # of a discriminator
  "discriminator_predictions.dense.weight": np.ones((16, 16), np.float32),
  "discriminator_predictions.dense_prediction.weight": np.ones((1, 16), np.float32),
}


@pytest.mark.parametrize("name", COUNTS)
def test_parameters_are_those_of_the_reference(name):
  params = abstract_params(network("ElectraModel", SIZES[name]))
  assert sum(x.size for x in jax.tree.leaves(params)) == COUNTS[name]


def test_each_kind_of_head_drops_its_own_share():
  rates = {"hidden_dropout_prob": 0.2, "summary_last_dropout": 0.3}
  kinds = ("text", "token", "choice", "answer")
  found = [ElectraConfig(**rates).head_dropout(kind) for kind in kinds]
  assert found == [0.2, 0.2, 0.3, 0.0]
  own = ElectraConfig(**rates, classifier_dropout=0.4)
  assert [own.head_dropout(kind) for kind in kinds] == [0.4, 0.4, 0.3, 0.0]


def test_a_discriminator_is_read_as_an_encoder(tmp_path):
  shutil.copytree(GOLDEN, tmp_path, dirs_exist_ok=True)
  config = json.loads((GOLDEN / "config.json").read_text())
  config["architectures"] = ["ElectraForPreTraining"]
  (tmp_path / "config.json").write_text(json.dumps(config))
  tensors = load_file(GOLDEN / "model.safetensors")
  encoder = {name: x for name, x in tensors.items() if name.startswith("electra.")}
  save_file(encoder | HEAD, tmp_path / "model.safetensors")
  with pytest.warns(UserWarning, match=r"2 left over \(discriminator_predictions\.dense\.weight"):
    model = luke_jax.load(tmp_path)
  assert (model.architecture, model.report.missing) == ("ElectraModel", ())
  with pytest.warns(UserWarning, match="classifier.*; 2 left over"):
    text = luke_jax.load(tmp_path, head="text", labels=["a", "b"])
  assert text.architecture == "ElectraForSequenceClassification"
  assert len(text.report.missing) == 4 and text.report.unexpected == tuple(sorted(HEAD))
