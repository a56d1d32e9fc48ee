"""A network as it predicts computes what the network computes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from networks import network, tiny

from luke_jax.models.network import abstract_params, initial_params, prepared
from luke_jax.nn.encoder import stack_sown

INPUTS = {
  "input_ids": np.array([[4, 5, 6, 7, 1]]),
  "attention_mask": np.array([[1, 1, 1, 1, 0]]),
  "entity_ids": np.array([[3, 4]]),
  "entity_position_ids": np.array([[[0, 1, -1], [2, -1, -1]]]),
}


def test_shapes_are_those_of_fresh_parameters_which_stay_random():
  made = network("LukeForMaskedLM")
  shapes, fresh = abstract_params(made), initial_params(made, jax.random.key(0))
  assert shapes == jax.eval_shape(lambda: fresh)
  assert np.ptp(fresh["luke"]["encoder"]["layers"]["mlp"]["up"]["kernel"]) > 0.01


# In bfloat16 values round elsewhere where programs differ.
@pytest.mark.parametrize(
  ("dtype", "apart"), [("float32", 1e-6), pytest.param("bfloat16", 0.05, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("architecture", ["LukeForMaskedLM"])
def test_outputs_are_the_same(architecture, dtype, apart):
  made = network(architecture, dtype=dtype)
  params = initial_params(made, jax.random.key(0))
  expected = jax.jit(lambda params: made.apply({"params": params}, **INPUTS))(params)
  ready, weights = prepared(made, params)
  outputs = jax.jit(lambda params: ready.apply({"params": params}, **INPUTS))(weights)
  assert outputs.keys() == expected.keys()
  for name, x in outputs.items():
    np.testing.assert_allclose(x, expected[name], atol=apart, err_msg=name)


def test_weights_are_cast_once_and_statistics_stay_wide():
  made = network("LukeForSequenceClassification", dtype="bfloat16")
  _, weights = prepared(made, initial_params(made, jax.random.key(0)))
  layer = weights["luke"]["encoder"]["layers_0"]
  assert layer["mlp"]["up"]["kernel"].dtype == jnp.bfloat16
  assert layer["mlp_norm"]["scale"].dtype == jnp.float32
  assert weights["classifier"]["kernel"].dtype == jnp.float32  # a head may be a user's own


def test_sown_layers_are_stacked_in_their_order():
  sown = {"input": np.ones(2)} | {f"layers_{i}": {"output": np.full(3, i)} for i in range(12)}
  stacked = stack_sown(sown)
  assert stacked.keys() == {"input", "layers"}
  np.testing.assert_array_equal(stacked["layers"]["output"][:, 0], np.arange(12))


def test_layers_are_traced_once_however_many_there_are():
  def products(layers):
    made = network(config=tiny(num_hidden_layers=layers))
    ready, weights = prepared(made, abstract_zeros(made))
    lowered = jax.jit(lambda params: ready.apply({"params": params}, **INPUTS)).lower(weights)
    return lowered.as_text().count("stablehlo.dot_general")

  assert products(2) == products(4)


def abstract_zeros(made):
  """Parameters that are zeros, which take no time to make."""
  return jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), abstract_params(made))
