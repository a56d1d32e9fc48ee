import dataclasses

import jax
import jax.numpy as jnp
import pytest
from networks import TINY, backbone, tiny
from small_systems import DISTINCT, small

from benchmarks.figures import encoder_flops
from luke_jax.heads.kinds import class_names, make_head
from luke_jax.models.network import Network, abstract_params
from luke_jax.models.shapes import attention_sizes, traced_products
from luke_jax.models.system import System, TokenCounts
from luke_jax.nn.encoder import Encoder
from luke_jax.plan.plan import step_flops, token_counts
from luke_jax.tasks.synthetic import SyntheticPretraining
from luke_jax.training.optimizer import is_frozen

B, W, E = 3, 10, 6
MASKED = [system for system in DISTINCT if "masked" in class_names(system)]
SIZES = {"sequences": B, "words": W, "entities": E}
COUNTS = TokenCounts(**SIZES, masked_words=5, masked_entities=4)
UNMASKED = TokenCounts(**SIZES)


@pytest.mark.parametrize(("aware", "independent"), [(True, False), (False, False), (True, True)])
def test_the_encoder_has_as_many(aware, independent):
  config = tiny(use_entity_aware_attention=aware, independent_entities=independent)
  chosen = backbone(config)
  attention = attention_sizes(config, chosen.running, kinds=2 if aware else 1)
  attention = dataclasses.replace(attention, independent_entities=independent)
  layers = config.num_hidden_layers
  encoder = Encoder(chosen.numerics, attention, config.intermediate_size, layers)
  inputs = jnp.zeros((B, W + E, config.hidden_size)), jnp.ones((B, W), bool), jnp.ones((B, E), bool)
  params = jax.eval_shape(encoder.init, jax.random.key(0), *inputs)

  def loss(params, x):
    return encoder.apply(params, x, *inputs[1:]).sum()

  expected = encoder_flops(chosen, **SIZES)
  assert traced_products(jax.make_jaxpr(loss)(params, inputs[0]).jaxpr) == expected
  gradient = jax.make_jaxpr(jax.grad(loss, argnums=(0, 1)))(params, inputs[0])
  again = 2 * B * (W + E) * (W if independent else W + E) * config.hidden_size * layers
  # The backward pass may compute the scores again, which is no work of the model's.
  assert traced_products(gradient.jaxpr) in (3 * expected, 3 * expected + again)


def test_a_step_adds_the_projection_and_both_heads():
  d, k = TINY.hidden_size, TINY.entity_emb_size
  forward = (
    encoder_flops(backbone(), **SIZES)
    + 2 * B * E * k * d
    + 2 * 5 * (d * d + d * TINY.vocab_size)
    + 2 * 4 * (d * k + k * TINY.entity_vocab_size)
  )
  assert step_flops(backbone(), COUNTS) == 3 * forward
  page = backbone(tiny(cls_entity_prediction=True))
  assert step_flops(page, COUNTS) == 3 * (forward + 2 * B * d * k)
  square = backbone(tiny(entity_emb_size=d))
  assert step_flops(square, UNMASKED) == 3 * encoder_flops(backbone(), **SIZES)


def test_frozen_weights_need_no_gradient():
  d, layers = TINY.hidden_size, TINY.num_hidden_layers
  between_tokens = layers * 2 * 2 * B * (W + E) ** 2 * d

  def saved(*patterns):
    frozen = lambda path: is_frozen(path, patterns)  # noqa: E731
    return step_flops(backbone(), COUNTS) - step_flops(backbone(), COUNTS, frozen)

  assert saved("luke/encoder") == encoder_flops(backbone(), **SIZES) - between_tokens
  assert saved("masked_words", "luke/embeddings") == 2 * 5 * (d * d + d * TINY.vocab_size)
  assert saved("luke/pooler") == 0


def test_sizes_of_a_batch():
  task = SyntheticPretraining(words=40, entities=20, mention=5)
  assert token_counts(task.engine().row_shapes(backbone()), 8) == TokenCounts(
    sequences=8, words=40, entities=20, masked_words=8 * 6, masked_entities=8 * 3
  )


def test_a_task_without_masked_tokens_is_its_encoder():
  rows = {name: jax.ShapeDtypeStruct((W,), jnp.int32) for name in ("input_ids", "labels")}
  expected = encoder_flops(backbone(), sequences=B, words=W, entities=0)
  assert step_flops(backbone(), token_counts(rows, B)) == 3 * expected


@pytest.mark.parametrize("system", MASKED, ids=lambda system: system.name)
def test_a_forward_pass_of_any_system_has_as_many(system):
  """With the heads of pretraining, on all tokens: what is counted is what the program does."""
  config = small(system, tie_word_embeddings=True)
  chosen = backbone(config)
  entities = E if chosen.entities else 0
  counts = TokenCounts(B, W, entities, B * W, B * entities)
  made = Network(chosen, make_head("masked", chosen))
  inputs = {"input_ids": jnp.zeros((B, W), int)}
  if entities:
    inputs["entity_ids"] = jnp.zeros((B, E), int)
    inputs["entity_position_ids"] = jnp.zeros((B, E, 1), int)

  def outputs(params):
    return made.apply({"params": params}, **inputs)

  found = traced_products(jax.make_jaxpr(outputs)(abstract_params(made)).jaxpr)
  assert found == step_flops(chosen, counts) / 3 + uncounted(made, entities)


def uncounted(made, entities):
  """The pooler, and the positions of mentions as a product: no work worth counting."""
  config = made.backbone.config
  d = config.hidden_size
  mentions = 2 * B * entities * config.max_position_embeddings * d
  pooler = 2 * B * d * d if config.pooled(made.head) else 0
  return mentions + pooler


@pytest.mark.parametrize("system", [x for x in DISTINCT if x.name in ("bert", "roberta")])
def test_products_that_a_system_does_not_give_are_traced(system):
  config = small(system)
  counts = TokenCounts(B, W, 0)
  assert sum(System.products(config, counts).values()) == sum(config.products(counts).values())
