import dataclasses
import math

import jax
import jax.numpy as jnp
import pytest
from luke_jax.config import SIZES

from luke_jax.nn.encoder import Encoder
from luke_jax.plan.flops import batch_sizes, encoder_flops, kernel_flops, step_flops
from luke_jax.tasks.synthetic import SyntheticPretraining
from luke_jax.training.optimizer import is_frozen

TINY = SIZES["tiny"]
B, W, E = 3, 10, 6


def products(jaxpr):
  """Multiplications and additions of all matrix products of a program."""
  total = 0
  for equation in jaxpr.eqns:
    if equation.primitive.name == "dot_general":
      (contracted, _), _ = equation.params["dimension_numbers"]
      shape = equation.invars[0].aval.shape
      total += 2 * equation.outvars[0].aval.size * math.prod(shape[i] for i in contracted)
    times = equation.params.get("length", 1) if equation.primitive.name == "scan" else 1
    for inner in jax.tree.leaves(equation.params, is_leaf=lambda x: hasattr(x, "eqns")):
      if hasattr(inner, "eqns"):
        total += times * products(getattr(inner, "jaxpr", inner))
  return total


@pytest.mark.parametrize("aware", [True, False])
def test_the_encoder_has_as_many(aware):
  config = dataclasses.replace(TINY, use_entity_aware_attention=aware)
  encoder = Encoder(config)
  inputs = jnp.zeros((B, W + E, config.hidden_size)), jnp.ones((B, W), bool), jnp.ones((B, E), bool)
  params = jax.eval_shape(encoder.init, jax.random.key(0), *inputs)

  def loss(params, x):
    return encoder.apply(params, x, *inputs[1:]).sum()

  expected = encoder_flops(config, sequences=B, words=W, entities=E)
  assert products(jax.make_jaxpr(loss)(params, inputs[0]).jaxpr) == expected
  gradient = jax.make_jaxpr(jax.grad(loss, argnums=(0, 1)))(params, inputs[0])
  again = 2 * B * (W + E) ** 2 * config.hidden_size * config.num_hidden_layers
  # The backward pass may compute the scores again, which is no work of the model's.
  assert products(gradient.jaxpr) in (3 * expected, 3 * expected + again)


def test_a_step_adds_the_projection_and_both_heads():
  sizes = {"sequences": B, "words": W, "entities": E}
  d, k = TINY.hidden_size, TINY.entity_emb_size
  forward = (
    encoder_flops(TINY, **sizes)
    + 2 * B * E * k * d
    + 2 * 5 * (d * d + d * TINY.vocab_size)
    + 2 * 4 * (d * k + k * TINY.entity_vocab_size)
  )
  assert step_flops(TINY, **sizes, masked_words=5, masked_entities=4) == 3 * forward
  page = dataclasses.replace(TINY, cls_entity_prediction=True)
  assert step_flops(page, **sizes, masked_words=5, masked_entities=4) == 3 * (
    forward + 2 * B * d * k
  )
  square = dataclasses.replace(TINY, entity_emb_size=d)
  assert step_flops(square, **sizes, masked_words=0, masked_entities=0) == 3 * encoder_flops(
    TINY, **sizes
  )


def test_frozen_weights_need_no_gradient():
  sizes = {"sequences": B, "words": W, "entities": E}
  masked = {"masked_words": 5, "masked_entities": 4}
  d, layers = TINY.hidden_size, TINY.num_hidden_layers
  between_tokens = layers * 2 * 2 * B * (W + E) ** 2 * d

  def saved(*patterns):
    frozen = lambda path: is_frozen(path, patterns)  # noqa: E731
    return step_flops(TINY, **sizes, **masked) - step_flops(TINY, **sizes, **masked, frozen=frozen)

  assert saved("luke/encoder") == encoder_flops(TINY, **sizes) - between_tokens
  assert saved("masked_words", "luke/embeddings") == 2 * 5 * (d * d + d * TINY.vocab_size)
  assert saved("luke/pooler") == 0


@pytest.mark.parametrize(
  ("attention", "remat", "count"),
  [("pallas", "dots", 7), ("pallas", "full", 9), ("blocks", "full", 0)],
)
def test_kernels(attention, remat, count):
  config = dataclasses.replace(TINY, attention=attention, remat=remat)
  one = 2 * B * (W + E) ** 2 * TINY.hidden_size * TINY.num_hidden_layers
  assert kernel_flops(config, sequences=B, words=W, entities=E) == count * one


def test_sizes_of_a_batch():
  task = SyntheticPretraining(words=40, entities=20, mention=5)
  assert batch_sizes(task.row_shapes(TINY), 8) == {
    "sequences": 8,
    "words": 40,
    "entities": 20,
    "masked_words": 8 * 6,
    "masked_entities": 8 * 3,
  }


def test_a_task_without_masked_tokens_is_its_encoder():
  rows = {name: jax.ShapeDtypeStruct((W,), jnp.int32) for name in ("input_ids", "labels")}
  sizes = batch_sizes(rows, B)
  expected = encoder_flops(TINY, sequences=B, words=W, entities=0)
  assert step_flops(TINY, **sizes) == 3 * expected
