"""Adapters change what a model computes as their product with the kernels does."""

import jax
import numpy as np
import pytest
from networks import applied, network
from small_systems import DISTINCT, small
from tiny import same_params

from luke_jax.errors import InputError
from luke_jax.heads.kinds import class_names
from luke_jax.models.adapters import add_adapters, is_adapter, merge_adapters, stays
from luke_jax.models.keys import flatten
from luke_jax.models.network import initial_params, prepared

QUICK = ("luke",)  # which has the most kinds of kernels
INPUTS = {"input_ids": np.array([[4, 5, 6, 7, 9]])}
ENTITIES = {"entity_ids": np.array([[3, 4]]), "entity_position_ids": np.array([[[0, 1], [2, -1]]])}


@pytest.fixture(
  scope="module",
  params=[
    pytest.param(x, id=x.name, marks=() if x.name in QUICK else pytest.mark.slow)
    for x in DISTINCT
    if x.adapters and x.name not in ("distilbert", "electra")  # whose layers are BERT's
  ],
)
def adapted(request):
  """A small network of each system, its parameters, and the same with adapters of rank 3."""
  system = request.param
  made = network(f"{system.prefix}Model", small(system))
  params = initial_params(made, jax.random.key(0))
  return made, params, add_adapters(params, system, 3, jax.random.key(1))


def inputs(made):
  return INPUTS | (ENTITIES if made.backbone.entities else {})


def trained(params):
  """Adapters as after training: none of them is zero."""
  keys = iter(jax.random.split(jax.random.key(2), 100))
  return jax.tree_util.tree_map_with_path(
    lambda path, x: (
      jax.random.normal(next(keys), x.shape) * 0.1 if path[-1].key == "adapter_out" else x
    ),
    params,
  )


def test_new_ones_change_nothing(adapted):
  made, params, with_adapters = adapted
  expected = applied(made, params, inputs(made))
  outputs = applied(made, with_adapters, inputs(made))
  for name, x in outputs.items():
    np.testing.assert_allclose(x, expected[name], atol=1e-6)
  assert same_params(merge_adapters(with_adapters, made.backbone.config), params)


@pytest.mark.parametrize("form", ["blocks", "einsum"])
def test_they_are_their_product_with_the_kernels(adapted, form):
  made, params, with_adapters = adapted
  if form == "einsum" and not made.backbone.entities:
    pytest.skip("words alone have one form")
  made = network(
    class_names(type(made.backbone.config))["none"], made.backbone.config, attention=form
  )
  changed = trained(with_adapters)
  merged = merge_adapters(changed, made.backbone.config)
  assert not any(map(is_adapter, flatten(merged)))
  expected = applied(made, merged, inputs(made))
  plain = applied(made, params, inputs(made))
  for way, form_of in ((made, changed), prepared(made, changed)):
    for name, x in applied(way, form_of, inputs(made)).items():
      np.testing.assert_allclose(x, expected[name], atol=1e-5)
      assert np.abs(x - plain[name]).max() > 1e-3


def test_they_take_little_room_and_train_alone(adapted):
  made, params, with_adapters = adapted
  system, leaves = made.backbone.config, flatten(with_adapters)
  kernels = [path for path in flatten(params) if path.startswith(f"{system.name}/encoder/")]
  kernels = [path for path in kernels if path.endswith("/kernel")]
  assert len(leaves) - len(flatten(params)) == 2 * len(kernels) >= 12
  assert all(stays(path, system) for path in kernels)
  words = [path for path in leaves if stays(path, system) and path not in kernels]
  names = ("distance", "position", "type", "word")
  tables = [f"{system.name}/embeddings/{x}/embedding" for x in names]
  assert words == [path for path in tables if path in leaves] and tables[-1] in words


def test_a_system_whose_layers_read_none_is_refused(adapted):
  made, params, _ = adapted
  other = type("Other", (type(made.backbone.config),), {"adapters": False})
  with pytest.raises(InputError, match=r"optimizer.adapter: 3; expected 0, as the layers of"):
    add_adapters(params, other, 3, jax.random.key(1))
