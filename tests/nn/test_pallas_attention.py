"""The kernels against the definition, in interpret mode, and their compilation for TPUs."""

import functools
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from luke_jax.nn.layers import KEPT
from luke_jax.nn.pallas_attention import pallas_attention, unsupported
from luke_jax.nn.repeatable_dropout import dropout_mask, kept_where, key_hash, query_hash

SEQUENCES = 2
RATE = 0.1


def definition(queries, key, value, mask, kept=None, rate=0.0):
  keys = jnp.split(key, [queries[0][0].shape[1]], axis=1)[: len(queries)]
  blocks = [
    [jnp.einsum("bqnh,bknh->bnqk", query, asked) for query, asked in zip(pair, keys, strict=True)]
    for pair in queries
  ]
  scores = jnp.block(blocks).astype(jnp.float32) * key.shape[-1] ** -0.5
  scores = jnp.where(mask[:, None, None], scores, jnp.finfo(jnp.float32).min)
  probabilities = jax.nn.softmax(scores)
  if kept is not None:
    probabilities = jnp.where(kept, probabilities / (1 - rate), 0.0)
  return jnp.einsum("bnqk,bknh->bqnh", probabilities.astype(value.dtype), value)


def arrays(num_words, num_entities, num_heads, head_size, dtype=jnp.float32):
  """Queries, key, value, a mask with padding in both streams, and a gradient of the output."""
  generator = np.random.default_rng(0)

  def normal(length):
    shape = (SEQUENCES, length, num_heads, head_size)
    return jnp.asarray(generator.normal(size=shape), dtype)

  num_tokens = num_words + num_entities
  lengths = (num_words, num_entities)[: 2 if num_entities else 1]  # no entities, no blocks of them
  queries = tuple(tuple(normal(length) for _ in lengths) for length in lengths)
  mask = np.ones((SEQUENCES, num_tokens), bool)
  mask[0, num_words - 5 : num_words] = False
  mask[1, num_words + 3 :] = False
  key, value, d_out = normal(num_tokens), normal(num_tokens), normal(num_tokens)
  return queries, key, value, jnp.asarray(mask), d_out


def seeds_for(num_heads, start=0):
  return jax.random.bits(jax.random.key(start), (SEQUENCES, num_heads), jnp.uint32)


def value_and_gradients(attend, queries, key, value, d_out):
  out, gradients = jax.vjp(attend, queries, key, value)
  return out, gradients(d_out)


def computed(attend, *inputs):
  # Compiling takes these tests' time, not running.
  quickly = {"xla_backend_optimization_level": 0}
  function = functools.partial(value_and_gradients, attend)
  return jax.jit(function, compiler_options=quickly)(*inputs)


def assert_equal_trees(found, expected, tolerance):
  for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
    np.testing.assert_allclose(
      np.asarray(one, np.float32), np.asarray(other, np.float32), atol=tolerance, rtol=tolerance
    )


def compare(inputs, tolerance, rate=0.0):
  queries, key, value, mask, d_out = inputs
  seeds = seeds_for(key.shape[2]) if rate else None
  kept = dropout_mask(seeds, key.shape[1], rate) if rate else None
  kernel = functools.partial(
    pallas_attention, mask=mask, dropout_rate=rate, seeds=seeds, interpret=True
  )
  plain = functools.partial(definition, mask=mask, kept=kept, rate=rate)
  found = computed(kernel, queries, key, value, d_out)
  expected = computed(plain, queries, key, value, d_out)
  assert_equal_trees(found, expected, tolerance)


@pytest.mark.parametrize(
  ("num_words", "num_entities", "num_heads", "head_size", "rate"),
  [
    pytest.param(144, 48, 2, 64, 0.0, marks=pytest.mark.slow),
    pytest.param(16, 144, 2, 64, RATE, marks=pytest.mark.slow),
    (48, 16, 4, 32, RATE),
    pytest.param(128, 16, 1, 128, RATE, marks=pytest.mark.slow),
    pytest.param(144, 0, 2, 64, RATE, marks=pytest.mark.slow),
  ],
)
def test_values_and_gradients_are_the_definitions(
  num_words, num_entities, num_heads, head_size, rate
):
  compare(arrays(num_words, num_entities, num_heads, head_size), 2e-5, rate)


@pytest.mark.slow
def test_bfloat16():
  compare(arrays(32, 16, 2, 64, jnp.bfloat16), 4e-2, RATE)


def test_equal_queries_are_one_query_for_all():
  queries, key, value, mask, d_out = arrays(32, 16, 2, 64)
  query = jnp.concatenate([words for words, _ in queries], axis=1)
  attend = functools.partial(
    pallas_attention, mask=mask, dropout_rate=RATE, seeds=seeds_for(2), interpret=True
  )

  def pairs(query, key, value):
    words, entities = jnp.split(query, [32], axis=1)
    return attend(((words, words), (entities, entities)), key, value)

  def single(query, key, value):
    return attend(((query,),), key, value)

  found = computed(single, query, key, value, d_out)
  expected = computed(pairs, query, key, value, d_out)
  assert_equal_trees(found, expected, 2e-5)


def test_large_scores_do_not_overflow():
  queries, key, value, mask, d_out = arrays(32, 16, 2, 64)
  queries = jax.tree.map(lambda x: 100 * x, queries)
  compare((queries, key, value, mask, d_out), 2e-3)


def test_a_sequence_of_padding_gets_the_mean_and_no_gradient():
  queries, key, value, mask, d_out = arrays(32, 16, 2, 64)
  attend = functools.partial(pallas_attention, mask=mask.at[1].set(False), interpret=True)
  out, gradients = computed(attend, queries, key, value, d_out)
  np.testing.assert_allclose(out[1], jnp.broadcast_to(value[1].mean(0), out[1].shape), atol=1e-6)
  for gradient in jax.tree.leaves(gradients):
    assert np.isfinite(gradient).all()
    assert not gradient[1].any()
    assert gradient[0].any()


def test_dropout_needs_seeds():
  queries, key, value, mask, _ = arrays(32, 16, 2, 64)
  with pytest.raises(ValueError, match="dropout needs seeds"):
    pallas_attention(queries, key, value, mask, dropout_rate=RATE, interpret=True)


# Masks of this many tokens and heads; each test below allows four standard deviations.
TOKENS, HEADS = 256, 16


@pytest.fixture(scope="module", params=["random", "counted"])
def masks(request):
  """Standardised dropout masks (heads, queries, keys): each entry has mean 0 and variance 1."""
  counted = jnp.arange(SEQUENCES * HEADS, dtype=jnp.uint32).reshape(SEQUENCES, HEADS)
  seeds = counted if request.param == "counted" else seeds_for(HEADS)
  kept = np.asarray(dropout_mask(seeds, TOKENS, RATE)).reshape(-1, TOKENS, TOKENS)
  return (kept - (1 - RATE)) / np.sqrt(RATE * (1 - RATE))


def assert_standard(sums, sigmas=4.0):
  """That numbers are as independent normal ones would be: spread 1, and none far out."""
  count = sums.size
  far = max(sigmas, np.sqrt(2 * np.log(count)) + 2)
  assert abs(sums.mean()) < sigmas / np.sqrt(count)
  assert abs(sums.std() - 1) < max(2 * sigmas / np.sqrt(2 * count), 0.02)
  assert np.abs(sums).max() < far


def test_the_rate_of_dropout(masks):
  assert abs(masks.sum() / np.sqrt(masks.size)) < 4
  for axis in (1, 2):
    assert_standard(masks.sum(axis) / np.sqrt(TOKENS))


def test_queries_and_keys_are_dropped_independently(masks):
  pairs = np.triu_indices(TOKENS, 1)
  for products in (masks @ masks.transpose(0, 2, 1), masks.transpose(0, 2, 1) @ masks):
    assert_standard(products[:, *pairs] / np.sqrt(TOKENS))


def test_heads_and_sequences_are_dropped_independently(masks):
  flat = masks.reshape(len(masks), -1)
  products = (flat @ flat.T)[np.triu_indices(len(masks), 1)]
  assert_standard(products / TOKENS)


def test_the_mask_is_a_function_of_the_seed():
  one, same, other = (dropout_mask(seeds_for(2, start), 64, RATE) for start in (0, 0, 1))
  assert (one == same).all()
  assert (one != other).any(axis=(2, 3)).all()


@pytest.mark.parametrize("tokens", [7, *(pytest.param(x, marks=pytest.mark.slow) for x in (1, 6))])
def test_the_mask_is_that_of_the_kernels(tokens):
  """Which compute it for half of the keys at a time."""
  seeds = seeds_for(2)
  kept = dropout_mask(seeds, tokens, RATE)
  for sequence, head in np.ndindex(seeds.shape):
    queries = query_hash(seeds[sequence, head], slice(0, tokens))
    half = kept_where(key_hash(tokens), queries, RATE)
    assert (kept[sequence, head] == half[:tokens].T).all()


@pytest.mark.parametrize("rate", [0.0, 0.5, 0.9])
def test_other_rates(rate):
  kept = dropout_mask(seeds_for(8), 256, rate)
  assert abs(kept.mean() - (1 - rate)) <= 4 * np.sqrt(rate * (1 - rate) / kept.size) + 1e-9


@pytest.mark.parametrize(
  ("shapes", "reason"),
  [
    (((512, 128), 16, 64, jnp.bfloat16), None),
    (((16, 16), 12, 64, jnp.float32), None),
    (((1920, 128), 16, 64, jnp.bfloat16), None),
    (((512,), 16, 64, jnp.bfloat16), None),
    (((0, 512), 16, 64, jnp.bfloat16), "number of words"),
    (((500, 16), 16, 64, jnp.bfloat16), "number of words"),
    (((512, 12), 16, 64, jnp.bfloat16), "number of entities"),
    (((524,), 16, 64, jnp.bfloat16), "number of tokens"),
    (((512, 16), 3, 64, jnp.bfloat16), "lanes"),
    (((512, 16), 16, 48, jnp.bfloat16), "wide"),
    (((512, 16), 16, 64, jnp.float16), "float16"),
    (((1920, 144), 16, 64, jnp.bfloat16), "VMEM holds 2048 tokens"),
    (((896, 144), 16, 64, jnp.float32), "VMEM holds 1024 tokens"),
  ],
)
def test_unsupported(shapes, reason):
  found = unsupported(*shapes)
  assert found is None if reason is None else reason in found


def test_what_is_unsupported_raises():
  queries, key, value, mask, _ = arrays(40, 16, 2, 64)
  with pytest.raises(ValueError, match="number of words"):
    pallas_attention(queries, key, value, mask, interpret=True)


def mesh_of(devices):
  automatic = (jax.sharding.AxisType.Auto,) * 2
  return jax.sharding.Mesh(
    np.array(devices).reshape(2, 4), ("replica", "data"), axis_types=automatic
  )


def compare_on_a_mesh():
  """Run as a script on 8 CPU devices: shards compute what one device does, each its own."""
  queries, key, value, mask, d_out = jax.tree.map(
    lambda x: jnp.concatenate([x] * 4), arrays(32, 16, 2, 64)
  )
  seeds = jax.random.bits(jax.random.key(0), (len(key), 2), jnp.uint32)

  def attend(queries, key, value, mask, seeds, d_out):
    kernel = functools.partial(
      pallas_attention, mask=mask, dropout_rate=RATE, seeds=seeds, interpret=True
    )
    return value_and_gradients(kernel, queries, key, value, d_out)

  inputs = (queries, key, value, mask, seeds, d_out)
  expected = jax.jit(attend)(*inputs)
  mesh = mesh_of(jax.devices())
  batch = jax.sharding.NamedSharding(mesh, jax.P(("replica", "data")))
  with jax.set_mesh(mesh):
    compiled = jax.jit(attend).lower(*jax.device_put(inputs, batch)).compile()
    found = compiled(*jax.device_put(inputs, batch))
  assert "all-gather" not in compiled.as_text()
  assert all(x.sharding.is_equivalent_to(batch, x.ndim) for x in jax.tree.leaves(found))
  assert_equal_trees(found, expected, 1e-6)


@pytest.mark.slow
def test_a_mesh_splits_the_sequences():
  variables = os.environ | {"JAX_PLATFORMS": "cpu"}  # and the suite's eight devices
  done = subprocess.run([sys.executable, __file__], env=variables, capture_output=True, text=True)
  assert done.returncode == 0, done.stderr


def training_shapes(sharding, batch, num_words, num_entities, num_heads, head_size):
  def shape(*dims, dtype=jnp.bfloat16):
    return jax.ShapeDtypeStruct((batch, *dims), dtype, sharding=sharding)

  num_tokens = num_words + num_entities
  tokens = shape(num_tokens, num_heads, head_size)
  lengths = (num_words, num_entities)[: 2 if num_entities else 1]
  queries = tuple((shape(length, num_heads, head_size),) * len(lengths) for length in lengths)
  mask, seeds = shape(num_tokens, dtype=jnp.bool_), shape(num_heads, dtype=jnp.uint32)
  return queries, tokens, tokens, mask, seeds, tokens


def compiled_text(shapes, rate):
  def train(queries, key, value, mask, seeds, d_out):
    kernel = functools.partial(pallas_attention, mask=mask, dropout_rate=rate, seeds=seeds)
    return value_and_gradients(kernel, queries, key, value, d_out)

  return jax.jit(train).lower(*shapes).compile().as_text()


LUKE_LARGE = (8, 512, 128, 16, 64)


@pytest.mark.tpu_aot
@pytest.mark.parametrize("chips", ["v5e:2x2", "v5p:2x2x1", "v6e:2x2"])
@pytest.mark.parametrize(
  ("shape", "rate"),
  [(LUKE_LARGE, 0.0), (LUKE_LARGE, RATE), ((8, 640, 0, 16, 64), RATE), ((3, 144, 48, 4, 32), RATE)],
)
def test_compiles_for_a_tpu(topology, chips, shape, rate):
  sharding = jax.sharding.SingleDeviceSharding(topology(chips)[0])
  assert compiled_text(training_shapes(sharding, *shape), rate).count("tpu_custom_call") >= 2


@pytest.mark.tpu_aot
@pytest.mark.parametrize(("saved", "kernels"), [(KEPT, 2), ("nothing", 3)])
def test_rematerialisation_can_save_the_forward_kernel(topology, saved, kernels):
  policy = jax.checkpoint_policies.save_only_these_names(saved)

  def loss(queries, key, value, mask, seeds, d_out):
    attend = functools.partial(pallas_attention, mask=mask)
    layer = jax.checkpoint(lambda *inputs: jnp.sin(attend(*inputs)), policy=policy)
    return (layer(queries, key, value) * d_out).sum()

  sharding = jax.sharding.SingleDeviceSharding(topology("v5e:2x2")[0])
  shapes = training_shapes(sharding, 2, 32, 16, 2, 64)
  text = jax.jit(jax.value_and_grad(loss)).lower(*shapes).compile().as_text()
  assert text.count('custom_call_target="tpu_custom_call"') == kernels


@pytest.mark.tpu_aot
def test_compiles_for_the_longest_sequences(topology):
  sharding = jax.sharding.SingleDeviceSharding(topology("v5p:2x2x1")[0])
  compiled_text(training_shapes(sharding, 2, 1024 - 128, 128, 2, 64), RATE)


@pytest.mark.tpu_aot
def test_a_tpu_mesh_gathers_nothing(topology):
  mesh = mesh_of(topology("v5e:2x4"))
  sharding = jax.sharding.NamedSharding(mesh, jax.P(("replica", "data")))
  with jax.set_mesh(mesh):
    text = compiled_text(training_shapes(sharding, 16, 128, 32, 4, 64), RATE)
  for collective in ("all-gather", "all-reduce", "all-to-all", "collective-permute"):
    assert collective not in text


if __name__ == "__main__":
  compare_on_a_mesh()
