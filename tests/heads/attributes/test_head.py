"""Heads that read attributes of a text: what each form does with states of any system."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from networks import backbone
from small_systems import DISTINCT, small

from luke_jax.heads.attributes import Attributes, AttributesHead
from luke_jax.heads.kinds import class_names, kind_of
from luke_jax.models.keys import flatten
from luke_jax.models.network import Network, example_inputs
from luke_jax.models.system import States, Tables
from luke_jax.nn.layers import Numerics

ATTRIBUTES = Attributes(
  ("user", "shop"), (("ann", "bob"), ("x",)), layers=2, attribute_init="uniform25", dropout=0.99
)
RNG = np.random.default_rng(0)
WORDS = RNG.normal(size=(3, 5, 8)).astype(np.float32)
MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 1, 0, 0, 0]])
IDS = np.array([[1, 1], [2, 0], [0, 1]])


@pytest.fixture(scope="module", params="abcd")
def head(request):
  attributes = dataclasses.replace(ATTRIBUTES, form=request.param)
  module = AttributesHead(Numerics(), 3, attributes, heads=2, hidden=16)
  tables = Tables(jnp.zeros((5, 8)))
  run = jax.jit(
    lambda params, words, ids, mask, key: module.apply(
      {"params": params},
      States(words),
      tables,
      attribute_ids=ids,
      attention_mask=mask,
      rngs={"dropout": key},
    )["logits"]
  )
  still = jax.jit(
    lambda params, words, ids, mask: module.apply(
      {"params": params}, States(words), tables, attribute_ids=ids, attention_mask=mask
    )["logits"]
  )
  params = jax.eval_shape(
    lambda: module.init(jax.random.key(0), States(WORDS), tables, attribute_ids=IDS)
  )["params"]
  # Far from where they start, so that attributes matter.
  leaves, tree = jax.tree.flatten(params)
  params = jax.tree.unflatten(
    tree, [RNG.normal(size=x.shape).astype(np.float32) / 2 for x in leaves]
  )
  return module, params, still, run


def test_each_text_has_its_own_attributes(head):
  _, params, run, _ = head
  found = run(params, WORDS, IDS, MASK)
  assert np.isfinite(found).all() and found.shape == (3, 3)
  np.testing.assert_allclose(
    run(params, WORDS[::-1], IDS[::-1], MASK[::-1]), found[::-1], atol=1e-5
  )
  one_more = IDS.copy()
  one_more[0, 0] = 2
  other = run(params, WORDS, one_more, MASK)
  np.testing.assert_allclose(other[1:], found[1:], atol=1e-5)
  assert np.abs(other[0] - found[0]).max() > 1e-3
  words = WORDS.copy()
  words[MASK == 0] += 1  # padding is not read
  np.testing.assert_allclose(run(params, words, IDS, MASK), found, atol=1e-5)


def test_the_texts_own_attribute_is_in_layers_of_attributes_only(head):
  module, params, _, _ = head
  form = module.attributes.form
  assert ("text" in params) == ("attribute_layers" in params) == (form in "cd")
  assert ("fusion" in params) == ("plain_layers" in params) == (form == "a")
  assert params["usr_embed"]["embedding"].shape == (3, 8)
  assert params["shop_embed"]["embedding"].shape == (2, 8)


def test_training_reads_attributes_as_unknown_at_a_rate(head):
  _, params, still, run = head
  unknown = still(params, WORDS, np.zeros_like(IDS), MASK)
  np.testing.assert_allclose(run(params, WORDS, IDS, MASK, jax.random.key(1)), unknown, atol=1e-5)


def test_vectors_start_as_the_authors_code_or_as_they_meant():
  def table(**fields):
    attributes = dataclasses.replace(
      ATTRIBUTES, values=(tuple(map(str, range(999))), ()), form="b", **fields
    )
    module = AttributesHead(Numerics(), 3, attributes, heads=2, hidden=16)
    key, tables = jax.random.key(0), Tables(jnp.zeros((5, 8)))
    params = module.init(key, States(WORDS), tables, attribute_ids=IDS)["params"]
    return np.asarray(params["usr_embed"]["embedding"])

  assert abs(table(attribute_init="normal").std() - 0.02) < 1e-3
  wide = table()
  assert 0.24 < np.abs(wide).max() <= 0.25 and abs(wide.std() - 0.25 / 3**0.5) < 5e-3


def test_a_stream_for_the_text_and_the_papers_activation_are_choices():
  for fields, streams in (({"text_attribute": False, "act": "relu"}, 2), ({}, 3)):
    attributes = dataclasses.replace(ATTRIBUTES, **fields)
    module = AttributesHead(Numerics(), 3, attributes, heads=2, hidden=16)
    inputs = States(WORDS), Tables(jnp.zeros((5, 8)))
    params = jax.eval_shape(
      lambda: module.init(jax.random.key(0), *inputs, attribute_ids=IDS)  # noqa: B023
    )["params"]
    assert ("text" in params) == (streams == 3) and attributes.streams == streams
    assert params["attribute_layers"]["layers"]["mlp"]["up"]["kernel"].shape == (2, 8, 8 * streams)


@pytest.mark.parametrize(
  "system", [x for x in DISTINCT if "text" in class_names(x)], ids=lambda system: system.name
)
def test_every_system_that_labels_texts_has_layers_of_attributes_too(system):
  chosen = backbone(small(system))
  network = Network(chosen, AttributesHead.fresh(chosen, 3, ATTRIBUTES))
  assert kind_of(system, class_names(system)["attributes"]) == "attributes"
  outputs, variables = jax.eval_shape(
    lambda: network.init_with_output(jax.random.key(0), **example_inputs(network))
  )
  assert outputs["logits"].shape[1:] == (3,)
  params = variables["params"]
  assert params["attribute_layers"]["layers"]["attention"]["query"]["weights"].shape == (
    2,
    3,
    32,
    32,
  )
  names = [name for path in flatten(params) for name in system.keys("attributes").key(path).names]
  assert {"usr_embed.weight", "shop_embed.weight", "classifier.out_proj.weight"} <= set(names)
