"""Sizes, words alone, dropout, rematerialisation and sharding of the whole model."""

import dataclasses
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cheap_programs import flags
from networks import TINY, applied, network, tiny

from luke_jax.models.network import abstract_params, initial_params
from luke_jax.models.table import SIZES

# The reference's LukeModel with its pooler: original attention, entity-aware, the entity block.
COUNTS = {
  "luke-base": (253_240_832, 274_502_144, 128_593_664),
  "luke-large": (484_153_344, 559_724_544, 128_791_552),
  "luke-base-lite": (125_241_856, 146_503_168, 594_688),
  "luke-large-lite": (356_154_368, 431_725_568, 792_576),
  "mluke-base": (585_839_104, 607_100_416, 307_793_920),
  "mluke-large": (867_884_288, 943_455_488, 307_991_808),
}
# The README of the authors' repository, in millions.
ROUNDED = {"mluke-base-lite": 279, "mluke-large-lite": 561}


def count(tree):
  return sum(x.size for x in jax.tree.leaves(tree))


def params_of(name, aware):
  config = dataclasses.replace(SIZES[name], use_entity_aware_attention=aware)
  return abstract_params(network(config=config))["luke"]


@pytest.mark.parametrize("name", COUNTS)
def test_parameter_counts(name):
  original, aware, block = COUNTS[name]
  params = params_of(name, False)
  assert count(params) == original
  assert count(params.get("entity_embeddings", {})) == block
  assert count(params_of(name, True)) == aware


@pytest.mark.parametrize("name", ROUNDED)
def test_rounded_parameter_counts(name):
  assert round(count(params_of(name, False)) / 1e6) == ROUNDED[name]


def test_counts_of_the_pretraining_heads():
  for name, words, entities in (
    ("luke-base", 642_395, 197_376),
    ("luke-large", 1_101_915, 262_912),
  ):
    config = dataclasses.replace(SIZES[name], vocab_size=50267)
    params = abstract_params(network("LukeForMaskedLM", config))
    assert count(params["masked_words"]) == words
    assert count(params["masked_entities"]) == entities + config.entity_vocab_size


def inputs(entities=4, seed=0):
  rng = np.random.default_rng(seed)
  words = {"input_ids": jnp.asarray(rng.integers(2, TINY.vocab_size, (4, 12)))}
  if not entities:
    return words
  return words | {
    "entity_ids": jnp.asarray(rng.integers(1, TINY.entity_vocab_size, (4, entities))),
    "entity_position_ids": jnp.asarray(rng.integers(-1, 12, (4, entities, 3))),
  }


@pytest.fixture(scope="module")
def params():
  return initial_params(network(), jax.random.key(0))


def test_no_entities_is_zero_entities(params):
  empty = {"entity_ids": jnp.zeros((4, 0), int), "entity_position_ids": jnp.zeros((4, 0, 3), int)}
  model = network()
  words, none = applied(model, params, inputs(0)), applied(model, params, inputs(0) | empty)
  np.testing.assert_allclose(words["last_hidden_state"], none["last_hidden_state"], atol=1e-6)
  assert none["entity_last_hidden_state"].shape == (4, 0, TINY.hidden_size)


def test_a_vector_stands_in_place_of_a_row(params):
  model, given = network(), inputs()
  table = params["luke"]["entity_embeddings"]["entity"]["embedding"]
  chosen = jnp.arange(4) % 2 == 0  # of the entities; the others are read by id
  vectors = jnp.where(chosen[:, None], table[given["entity_ids"]], 0)
  masked = given | {"entity_ids": jnp.where(chosen, 2, given["entity_ids"])}
  by_row, by_vector, by_mask = (
    applied(model, params, x)["entity_last_hidden_state"]
    for x in (given, masked | {"entity_vectors": vectors}, masked)
  )
  np.testing.assert_array_equal(by_vector, by_row)
  assert np.abs(by_mask - by_row).max() > 1e-3


def test_independent_entities_change_neither_words_nor_each_other(params):
  model, given = network(config=tiny(independent_entities=True)), inputs()
  fewer = given | {name: x[:, 2:3] for name, x in given.items() if name.startswith("entity")}
  states = applied(model, params, given)
  words, alone = applied(model, params, inputs(0)), applied(model, params, fewer)
  np.testing.assert_allclose(words["last_hidden_state"], states["last_hidden_state"], atol=1e-6)
  entity, among = alone["entity_last_hidden_state"], states["entity_last_hidden_state"][:, 2:3]
  np.testing.assert_allclose(entity, among, atol=1e-6)
  paper = applied(network(), params, given)["entity_last_hidden_state"][:, 2:3]
  assert np.abs(paper - entity).max() > 1e-3


def test_padding_changes_nothing(params):
  model, given = network(), inputs()
  ones = {"attention_mask": jnp.ones((4, 12), int), "entity_attention_mask": jnp.ones((4, 4), int)}
  padded = {
    name: jnp.pad(x, ((0, 0), (0, 3), *[(0, 0)] * (x.ndim - 2)), constant_values=fill)
    for name, x, fill in ((n, x, _PADDING[n]) for n, x in (given | ones).items())
  }
  plain, wide = (applied(model, params, i) for i in (given, padded))
  np.testing.assert_allclose(
    wide["last_hidden_state"][:, :12], plain["last_hidden_state"], atol=1e-5
  )
  np.testing.assert_allclose(
    wide["entity_last_hidden_state"][:, :4], plain["entity_last_hidden_state"], atol=1e-5
  )


_PADDING = {
  "input_ids": TINY.pad_token_id,
  "attention_mask": 0,
  "entity_ids": 0,
  "entity_attention_mask": 0,
  "entity_position_ids": -1,
}


def test_every_layer_drops_by_a_key_of_its_own(params):
  """With one layer's parameters in both layers, equal masks would repeat themselves."""
  model = network(config=tiny(attention_probs_dropout_prob=0.0))

  @jax.jit
  def captured(seed):
    _, state = model.apply(
      {"params": params},
      **inputs(),
      rngs={"dropout": jax.random.key(seed)},
      capture_intermediates=lambda module, _: type(module).__name__ == "Dropout",
      mutable=["intermediates"],
    )
    return state["intermediates"]["luke"]["encoder"]["layers"]

  def dropped(seed):
    return [np.asarray(x[0]) == 0 for name, x in _named(captured(seed)) if "Dropout" in name]

  first, again, other = dropped(0), dropped(0), dropped(1)
  assert first
  for zeros, same, different in zip(first, again, other, strict=True):
    if zeros.mean() == 0:  # attention's, whose rate is zero here
      continue
    np.testing.assert_array_equal(zeros, same)
    assert not np.array_equal(zeros, different)
    assert not np.array_equal(zeros[0], zeros[1])
    assert 0.07 < zeros.mean() < 0.13


def _named(tree, name=""):
  for key, value in tree.items():
    if isinstance(value, dict):
      yield from _named(value, f"{name}/{key}")
    else:
      yield name, value


@pytest.mark.slow
@pytest.mark.parametrize("remat", ["dots", "full"])
def test_rematerialisation_keeps_dropout(params, remat):
  def gradient(model):
    def loss(params):
      outputs = model.apply({"params": params}, **inputs(), rngs={"dropout": jax.random.key(3)})
      return jnp.square(outputs["last_hidden_state"][..., 0]).sum()

    return jax.jit(jax.grad(loss))(params)

  plain, again = gradient(network()), gradient(network(remat=remat))
  jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-4), plain, again)


def test_bfloat16_arithmetic_keeps_float32_parameters(params):
  model = network(dtype="bfloat16")
  outputs, exact = applied(model, params, inputs()), applied(network(), params, inputs())
  assert outputs["last_hidden_state"].dtype == jnp.bfloat16
  np.testing.assert_allclose(
    outputs["last_hidden_state"].astype(float), exact["last_hidden_state"], atol=0.15
  )


SHARDED = """
import jax, jax.numpy as jnp, numpy as np
from luke_jax.models.table import SIZES
from luke_jax.models.system import Backbone
from luke_jax.models.network import Network, initial_params
model = Network(Backbone(SIZES["tiny"]))
params = initial_params(model, jax.random.key(0))
ids = np.random.default_rng(0).integers(2, 1000, (8, 12))
rngs = {"dropout": jax.random.key(1)}
run = jax.jit(lambda p, x: model.apply({"params": p}, input_ids=x, rngs=rngs)["last_hidden_state"])
expected = run(params, ids)
auto = (jax.sharding.AxisType.Auto,) * 2
mesh = jax.make_mesh((2, 4), ("replica", "data"), axis_types=auto)
with jax.set_mesh(mesh):
  wide = lambda x: x.ndim > 1 and x.shape[-1] % 4 == 0
  spec = lambda x: jax.P(*[None] * (x.ndim - 1), "data") if wide(x) else jax.P()
  split = jax.device_put(params, jax.tree.map(lambda x: jax.NamedSharding(mesh, spec(x)), params))
  batch = jax.device_put(ids, jax.NamedSharding(mesh, jax.P(("replica", "data"))))
  found = run(split, batch)
np.testing.assert_allclose(found, expected, atol=2e-5)
assert found.sharding.spec[0] == ("replica", "data"), found.sharding
print("same")
"""


@pytest.mark.slow
def test_dropout_and_states_are_the_same_on_eight_devices():
  """Weights sharded over `data` do not leak into the layout of the activations."""
  environment = {"XLA_FLAGS": flags(devices=8), "JAX_PLATFORMS": "cpu"}
  done = subprocess.run(
    [sys.executable, "-c", SHARDED], env=environment, capture_output=True, text=True, check=False
  )
  assert done.stdout == "same\n", done.stderr
