"""Heads compute in the type of the run, and give logits and losses in float32."""

import dataclasses
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from networks import TINY, backbone, tiny
from tiny import tiny_model

import luke_jax
from luke_jax.heads.kinds import HEADS, make_head
from luke_jax.models.network import Network, abstract_params, example_inputs
from luke_jax.models.system import OF_PAIRS
from luke_jax.nn.layers import Dense, Numerics
from luke_jax.systems.bert import SIZES as BERT_SIZES

STATES = ("last_hidden_state", "entity_last_hidden_state", "pooler_output")


@pytest.mark.parametrize("kind", HEADS)
def test_logits_are_float32_where_products_are_bfloat16(kind):
  config = BERT_SIZES["bert-base"] if kind in OF_PAIRS else tiny(cls_entity_prediction=True)
  base = backbone(dataclasses.replace(config, num_hidden_layers=1), dtype="bfloat16")
  made = Network(base, make_head(kind, base, labels=3))
  params = abstract_params(made)
  outputs = jax.eval_shape(lambda p: made.apply({"params": p}, **example_inputs(made)), params)
  assert outputs["last_hidden_state"].dtype == jnp.bfloat16
  predicted = {name: x.dtype for name, x in outputs.items() if name not in STATES}
  assert predicted and set(predicted.values()) == {jnp.dtype("float32")}


def test_sums_of_products_are_not_rounded():
  layer = Dense(Numerics(dtype="bfloat16"), (400,), output="float32")
  x = jax.random.normal(jax.random.key(0), (1, TINY.hidden_size), jnp.bfloat16)
  logits = layer.apply(layer.init(jax.random.key(1), x), x)
  assert len(np.unique(logits)) > 390


def test_several_numbers_have_a_squared_error(tmp_path):
  model = tiny_model("LukeForSequenceClassification")
  model.save(tmp_path)
  config = json.loads((tmp_path / "config.json").read_text("utf-8"))
  (tmp_path / "config.json").write_text(json.dumps(config | {"problem_type": "regression"}))
  logits, labels = np.array([[0.5, -1, 2], [1, 0, 0]]), np.array([[0, 1, 1], [1, 0, 1]])
  loss = luke_jax.load(tmp_path).network.loss({"logits": logits}, labels)
  np.testing.assert_allclose(loss, np.square(logits - labels).mean(), rtol=1e-6)
  assert model.network.loss({"logits": logits}, labels) != loss


@pytest.mark.parametrize("kind", ["text", "mean_text", "attributes"])
def test_heads_of_texts_have_one_loss(kind):
  logits = np.array([[0.5, -1], [1, 0]])
  loss = make_head(kind, backbone(), labels=2).loss({"logits": logits}, np.array([1, 0]))
  odds = np.exp(logits[[0, 1], [1, 0]]) / np.exp(logits).sum(-1)
  np.testing.assert_allclose(loss, -np.log(odds).mean(), rtol=1e-6)
  number = make_head(kind, backbone(), labels=1).loss({"logits": logits[:, :1]}, np.array([1.0, 3]))
  np.testing.assert_allclose(number, (0.5**2 + 2**2) / 2, rtol=1e-6)
