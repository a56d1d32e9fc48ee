"""DistilBERT: its sizes, its files' own names of fields, and what its heads drop."""

import json
from pathlib import Path

import jax
import numpy as np
import pytest
from networks import network

import luke_jax
from luke_jax.errors import InputError
from luke_jax.models.network import abstract_params
from luke_jax.systems.distilbert import SIZES, DistilBertConfig

GOLDEN = Path(__file__).parents[2] / "goldens" / "bert" / "DistilBertForSequenceClassification"


def test_parameters_are_those_of_the_reference():
  params = abstract_params(network("DistilBertModel", SIZES["distilbert-base"]))
  assert sum(x.size for x in jax.tree.leaves(params)) == 66_362_880


def test_each_kind_of_head_drops_its_own_share():
  config = DistilBertConfig(hidden_dropout_prob=0.3, seq_classif_dropout=0.4, qa_dropout=0.5)
  found = {kind: config.head_dropout(kind) for kind in ("text", "choice", "token", "crf", "answer")}
  assert found == {"text": 0.4, "choice": 0.4, "token": 0.3, "crf": 0.3, "answer": 0.5}


def test_fields_are_written_under_the_references_names():
  raw = json.loads((GOLDEN / "config.json").read_text())
  # Programs that set a BERT's field leave both names behind; the reference reads its own.
  read = DistilBertConfig.described(raw | {"intermediate_size": 7}, Path("config.json"))
  assert (read.config.hidden_size, read.config.intermediate_size) == (16, 24)
  written = DistilBertConfig.write_config(read)
  assert {name: written[name] for name in raw} == raw
  assert not {"hidden_size", "intermediate_size", "layer_norm_eps", "type_vocab_size"} & {*written}


def test_token_types_are_no_input():
  model, ids = luke_jax.load(GOLDEN), np.full((1, 4), 5)
  assert "token_type_ids" not in model.config.inputs
  with pytest.raises(InputError, match=r"^token_type_ids: 0; expected none, for the model reads"):
    model(input_ids=ids, token_type_ids=np.zeros_like(ids))
