"""Attention conditioned on attributes: worked numbers, its definition, and what it must not do."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from luke_jax.heads.attributes.head import AttributeAttention, AttributeLayers, AttributeSizes
from luke_jax.nn.layers import Numerics

NUMERICS = Numerics(epsilon=1e-12)


def filler(shape, start):
  """The numbers that the worked examples are made of."""
  return (0.5 * np.sin(0.37 * np.arange(np.prod(shape)) + start)).reshape(shape).astype(np.float32)


def arrays(streams=3, width=4):
  """The parameters of a layer, as the worked example fills them, in the order of its numbers."""
  g = iter(range(10, 200, 2))

  def pair(shape):
    first = next(g)
    return filler(shape, first), filler(shape[-1:], first + 1)

  square = (width, width)
  streams_of = [[pair(square) for _ in range(3)] for _ in range(streams)]
  output = [pair(square) for _ in range(streams)]
  stacked = lambda pairs: [np.stack(x) for x in zip(*pairs, strict=True)]  # noqa: E731
  attention = {}
  for i, name in enumerate(("query", "key", "value")):
    weights, bias = stacked([one[i] for one in streams_of])
    attention[name] = {"weights": weights, "bias": bias}
  kernel, bias = stacked(output)
  joined, joined_bias = pair((streams * width, width))
  up, down = pair((width, streams * width)), pair((streams * width, width))
  norm = {"scale": np.ones(width, np.float32), "bias": np.zeros(width, np.float32)}
  return {
    "attention": attention,
    "output": {"kernel": kernel, "bias": bias},
    "combination": {"kernel": joined.reshape(streams, width, width), "bias": joined_bias},
    "attention_norm": norm,
    "mlp": {"up": {"kernel": up[0], "bias": up[1]}, "down": {"kernel": down[0], "bias": down[1]}},
    "mlp_norm": norm,
  }


def attention_arrays():
  """Those of the worked example of attention, for one stream."""
  return {
    name: {"weights": filler((4, 4), 2 + i)[None], "bias": filler((4,), 5 + i)[None]}
    for i, name in enumerate(("query", "key", "value"))
  }


@pytest.fixture(scope="module")
def attend():
  module = AttributeAttention(NUMERICS, AttributeSizes(2, 1))
  return jax.jit(lambda params, *inputs: module.apply({"params": params}, *inputs))


X, MASK = filler((1, 3, 4), 0), np.ones((1, 3), bool)


def test_attention_has_the_worked_numbers(attend):
  found = attend(attention_arrays(), X, filler((1, 1, 4), 1), MASK)
  expected = [
    [0.304544, 0.422507, 0.488187, 0.486254],
    [0.304658, 0.422633, 0.487310, 0.485711],
    [0.305096, 0.423129, 0.487646, 0.485917],
  ]
  np.testing.assert_allclose(found[0, :, 0], expected, atol=1e-5)


def test_values_may_be_plain():
  """Form c: attributes change the scores alone."""
  params = attention_arrays()
  params["value"] = {"kernel": params["value"]["weights"], "bias": params["value"]["bias"]}
  module = AttributeAttention(NUMERICS, AttributeSizes(2, 1, values=False))
  found = module.apply({"params": params}, X, filler((1, 1, 4), 1), MASK)
  np.testing.assert_allclose(found[0, 0, 0], [0.271572, 0.401616, 0.479370, 0.489648], atol=1e-5)


def test_ones_are_plain_attention_and_zeros_without_biases_are_nothing(attend):
  params = attention_arrays()
  q, k, v = (
    (X[0] @ params[name]["weights"][0] + params[name]["bias"][0]).reshape(3, 2, 2)
    for name in ("query", "key", "value")
  )
  probs = jax.nn.softmax(jnp.einsum("qnh,knh->nqk", q, k) / np.sqrt(2))
  plain = jnp.einsum("nqk,knh->qnh", probs, v).reshape(3, 4)
  np.testing.assert_allclose(attend(params, X, np.ones((1, 1, 4)), MASK)[0, :, 0], plain, atol=1e-6)
  for part in params.values():
    part["bias"] = np.zeros_like(part["bias"])
  assert not np.any(attend(params, X, np.zeros((1, 1, 4)), MASK))


@pytest.fixture(scope="module")
def stack():
  module = AttributeLayers(NUMERICS, AttributeSizes(2, 1))
  return jax.jit(lambda params, *inputs: module.apply({"params": params}, *inputs))


def test_a_layer_has_the_worked_numbers(stack):
  params = {"layers": jax.tree.map(lambda x: x[None], arrays())}
  attributes = np.stack([filler((4,), i) for i in (1, 2, 3)])[None]
  mask = np.array([[True, True, False]])
  expected = [
    [-1.097341, -0.664360, 0.247339, 1.514362],
    [1.303952, 0.496496, -0.435255, -1.365193],
    [1.421739, 0.371876, -0.556339, -1.237276],
  ]
  np.testing.assert_allclose(stack(params, X, attributes, mask)[0], expected, atol=1e-5)


def test_attributes_of_other_texts_and_padding_change_nothing(stack):
  params = {"layers": jax.tree.map(lambda x: x[None], arrays())}
  rng = np.random.default_rng(0)
  x, attributes = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 3, 4))
  mask = np.array([[True, True, True], [True, True, False]])
  found = stack(params, x, attributes, mask)
  swapped = stack(params, x[::-1], attributes[::-1], mask[::-1])
  np.testing.assert_allclose(found, swapped[::-1], atol=1e-6)
  changed = x.copy()
  changed[1, 2] += 1
  np.testing.assert_allclose(found[1, :2], stack(params, changed, attributes, mask)[1, :2])
  assert np.abs(found - stack(params, x, attributes[::-1], mask)).max() > 0.01


def made(width, heads, values, make):
  """The parameters of a layer, or their shapes."""
  module = AttributeLayers(NUMERICS, AttributeSizes(heads, 1, values))
  inputs = (jnp.ones((1, 2, width)), jnp.ones((1, 3, width)), jnp.ones((1, 2), bool))
  return make(module.init, jax.random.key(0), *inputs)["params"]["layers"]


def test_a_layer_of_the_paper_has_so_many_parameters():
  for values in (True, False):
    shapes = made(768, 12, values, jax.eval_shape)
    assert sum(x.size for x in jax.tree.leaves(shapes)) == 12_402_432


def test_a_layer_starts_as_the_authors_do():
  width = 64
  params = made(width, 4, True, lambda init, *inputs: jax.jit(init)(*inputs))
  query, bound = params["attention"]["query"], width**-0.5
  for x in (query["weights"], query["bias"]):
    assert bound * 0.95 < np.abs(x).max() <= bound
    assert abs(np.std(x) - bound / 3**0.5) < 0.05 * bound
  assert abs(np.std(params["mlp"]["up"]["kernel"]) - 0.02) < 1e-3
