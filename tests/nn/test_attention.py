"""The forms of attention agree, whatever the order of words and entities."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from luke_jax.nn import attention as forms
from luke_jax.nn.attention import fused_attention
from luke_jax.nn.block_attention import block_attention
from luke_jax.nn.layers import Numerics
from luke_jax.nn.queries import AttentionSizes, Projections, query_blocks

HEADS, HEAD_SIZE = 2, 64  # which fill the kernel's lanes
WIDTH = HEADS * HEAD_SIZE


def normal(rng, *shape):
  return jnp.asarray(rng.normal(size=shape), jnp.float32)


def operands(seed, kinds, b=2, w=5, e=3, d=12, n=2, h=6):
  rng = np.random.default_rng(seed)
  kernel, bias = normal(rng, kinds, kinds, d, n, h), normal(rng, kinds, kinds, n, h)
  return normal(rng, b, w + e, d), normal(rng, b, w + e, n, h), Projections(kernel, bias)


def one_hot(w, e, kinds, b=2):
  return forms.kinds(w, e, kinds).repeat(b, 0)


@given(order=st.permutations(range(8)), seed=st.integers(0, 2**32 - 1))
def test_the_definition_takes_any_order(order, seed):
  """Shuffling tokens with their kinds shuffles the scores and changes nothing else."""
  x, key, projections = operands(seed, 2)
  kind, order = one_hot(5, 3, 2), np.asarray(order)
  plain = forms.einsum_scores(x, key, kind, projections)
  shuffled = forms.einsum_scores(x[:, order], key[:, order], kind[:, order], projections)
  np.testing.assert_allclose(shuffled, plain[:, :, order][..., order], atol=1e-4)


def test_the_definition_is_what_the_paper_says():
  """Token by token: the query of the two kinds, times the key."""
  x, key, (kernel, bias, _) = operands(1, 2)
  scores = forms.einsum_scores(x, key, one_hot(5, 3, 2), Projections(kernel, bias))
  kind = [0] * 5 + [1] * 3
  for q in range(8):
    for k in range(8):
      query = jnp.einsum("bd,dnh->bnh", x[:, q], kernel[kind[q], kind[k]]) + bias[kind[q], kind[k]]
      expected = (query * key[:, k]).sum(-1)
      np.testing.assert_allclose(scores[:, :, q, k], expected, atol=1e-4)


def test_equal_queries_make_original_attention():
  x, key, (kernel, bias, _) = operands(2, 1)
  copies = Projections(jnp.tile(kernel, (2, 2, 1, 1, 1)), jnp.tile(bias, (2, 2, 1, 1)))
  original = forms.einsum_scores(x, key, one_hot(5, 3, 1), Projections(kernel, bias))
  aware = forms.einsum_scores(x, key, one_hot(5, 3, 2), copies)
  np.testing.assert_allclose(aware, original, atol=1e-6 * np.abs(original).max())


def test_masked_keys_get_nothing():
  scores = normal(np.random.default_rng(3), 2, 2, 8, 8)
  mask = (jnp.arange(8)[None] < jnp.array([[3], [8]]))[:, None]
  probs = forms.probabilities(scores, mask, 16)
  assert (probs[0, :, :, 3:] == 0).all()
  np.testing.assert_allclose(probs.sum(-1), 1, atol=1e-6)


def layer(form, *, aware=True, dropout=0.1, independent=False):
  sizes = AttentionSizes(
    HEADS,
    HEAD_SIZE,
    kinds=2 if aware else 1,
    dropout=dropout,
    form=form,
    independent_entities=independent,
  )
  return forms.Attention(Numerics(), sizes)


@functools.partial(jax.jit, static_argnames="module")
def run(module, params, x, words, entities, key=None):
  rngs = {"dropout": key} if key is not None else None
  return module.apply({"params": params}, x, words, entities, rngs=rngs)


@pytest.fixture
def sequence():
  rng = np.random.default_rng(4)
  words = jnp.arange(16)[None] < jnp.array([[16], [11]])
  entities = jnp.arange(16)[None] < jnp.array([[9], [16]])
  return normal(rng, 2, 32, WIDTH), words, entities


MORE = [pytest.param(*shape, marks=pytest.mark.slow) for shape in ((16, 16), (1, 31))]
SHAPES = [(13, 19), (32, 0), *MORE]


@pytest.mark.parametrize("dropout", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.parametrize(
  ("aware", "independent"),
  [(True, False), (False, False), (True, True), pytest.param(False, True, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize(("w", "e"), SHAPES)
def test_blocks_equal_the_definition(sequence, w, e, aware, independent, dropout):
  """Values and gradients, with padding on both streams and the same probabilities dropped."""
  x, mask = sequence[0], jnp.concatenate(sequence[1:], axis=1)
  given = x, mask[:, :w], mask[:, w:]
  key = jax.random.key(5) if dropout else None
  params = layer("blocks", aware=aware).init(jax.random.key(0), *given)["params"]

  def value_and_gradient(form):
    module = layer(form, aware=aware, independent=independent)

    def value(params, x):
      out = run(module, params, x, *given[1:], key)
      return (out * jnp.cos(jnp.arange(out.size).reshape(out.shape))).sum(), out

    return jax.jit(jax.value_and_grad(value, (0, 1), has_aux=True))(params, x)

  found, expected = value_and_gradient("blocks"), value_and_gradient("einsum")
  jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=2e-5), found, expected)


@pytest.mark.parametrize(("w", "aware"), [(16, True), (16, False), (13, False), (32, True)])
def test_pallas_is_blocks_off_the_tpu(sequence, w, aware):
  """Without a warning, for the kernel takes all of these: words alone too."""
  x, mask = sequence[0], jnp.concatenate(sequence[1:], axis=1)
  given = x, mask[:, :w], mask[:, w:]
  params = layer("blocks", aware=aware).init(jax.random.key(0), *given)["params"]
  for key in (None, jax.random.key(6)):
    one, other = (run(layer(f, aware=aware), params, *given, key) for f in ("pallas", "blocks"))
    np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize(
  ("w", "aware", "independent"),
  [(13, True, False), (32, True, False), (13, False, False), (13, True, True), (13, False, True)],
)
def test_a_stock_attention_equals_blocks(sequence, w, aware, independent):
  """Values and gradients, by XLA's form of the attention that cuDNN computes on GPUs."""
  x, mask = sequence[0], jnp.concatenate(sequence[1:], axis=1)
  params = layer("blocks", aware=aware).init(jax.random.key(0), x, mask[:, :w], mask[:, w:])[
    "params"
  ]
  key, value = (normal(np.random.default_rng(i), 2, 32, HEADS, HEAD_SIZE) for i in (7, 8))
  kernel, bias = (params["query"][name] for name in ("kernel", "bias"))
  projections = Projections(kernel.reshape(*kernel.shape[:3], -1), bias)

  def fused(queries, key, value):
    keys = forms.asked(mask, w, independent)
    return fused_attention(queries, key, value, keys, implementation="xla")

  @functools.partial(jax.jit, static_argnums=0)
  def value_and_gradient(attend, *inputs):
    out, gradient = jax.vjp(attend, *inputs)
    return out, gradient(jnp.cos(out))

  queries = query_blocks(x, w, projections, independent_entities=independent)
  blocks = functools.partial(block_attention, mask=mask)
  found, expected = (value_and_gradient(f, queries, key, value) for f in (fused, blocks))
  jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=2e-5), found, expected)


def test_fused_says_once_why_it_cannot(sequence, monkeypatch):
  """Here JAX finds no cuDNN; where it does, this attention has no dropout."""
  monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
  module = layer("fused")
  params = layer("blocks").init(jax.random.key(0), *sequence)["params"]
  forms._warn_once.cache_clear()
  with pytest.warns(UserWarning, match="attention 'fused' runs as 'blocks': cuDNN"):
    found = run(module, params, *sequence)
  with pytest.warns(UserWarning, match="drops no probabilities; attention_probs_dropout_prob"):
    run(module, params, *sequence, jax.random.key(1))
  np.testing.assert_array_equal(found, run(layer("blocks"), params, *sequence))
  forms._warn_once.cache_clear()


def test_pallas_says_once_that_it_cannot(sequence):
  x, words, entities = sequence
  module = layer("pallas")
  params = layer("blocks").init(jax.random.key(0), *sequence)["params"]
  forms._warn_once.cache_clear()
  with pytest.warns(UserWarning, match="runs as 'blocks'") as said:
    for rows in (1, 2):  # each of which is traced
      run(module, params, x[:rows, :31], words[:rows, :15], entities[:rows])
  assert len(said) == 1
  forms._warn_once.cache_clear()


def test_dropout_drops_when_a_key_is_given(sequence):
  module = layer("blocks", dropout=0.5)
  params = module.init(jax.random.key(0), *sequence)["params"]
  plain = run(module, params, *sequence)
  one, two = (run(module, params, *sequence, jax.random.key(i)) for i in (1, 2))
  assert not np.allclose(plain, one)
  assert not np.allclose(one, two)
  np.testing.assert_array_equal(one, run(module, params, *sequence, jax.random.key(1)))
