"""What systems say of their parameters is so: which are tables, which decay, which may freeze."""

import jax
import numpy as np
import pytest
from networks import backbone
from small_systems import DISTINCT, ENTITIES, OF_WORDS, WORDS, drawn, small

from luke_jax.heads.kinds import class_names, make_head
from luke_jax.models.keys import flatten
from luke_jax.models.network import Network, abstract_params, example_inputs
from luke_jax.models.system import Backbone, Running, TokenCounts
from luke_jax.systems.luke import NOT_OF_ENTITIES, LukeConfig
from luke_jax.tasks.known import task_class
from luke_jax.training.optimizer import is_frozen, split_frozen

WITH_ALL = {
  "tie_word_embeddings": False,
  "tie_entity_embeddings": False,
  "cls_entity_prediction": True,
}
# Systems that predict masked words; a TENER is not pretrained.
MASKED = [system for system in DISTINCT if "masked" in class_names(system)]
NEW = [system for system in DISTINCT if system.name in OF_WORDS]
RECIPES = [(system, task) for system in DISTINCT for task in system.recipes]


def params_of(system, kind):
  """The shapes of a network's parameters by their paths, with every part that there may be."""
  chosen = backbone(small(system, **WITH_ALL))
  return abstract_params(Network(chosen, make_head(kind, chosen)))


def ends(paths, patterns):
  return {path for path in paths if path.endswith(patterns)} if patterns else set()


@pytest.mark.parametrize("system", MASKED, ids=lambda system: system.name)
def test_the_arrays_of_a_layout_are_all_there_are_of_their_kind(system):
  shapes = {path: x.shape for path, x in flatten(params_of(system, "masked")).items()}
  layout = system.layout
  for rows, patterns in ((WORDS, layout.words), (ENTITIES, layout.entities)):
    assert ends(shapes, patterns) == {path for path, x in shapes.items() if x[0] == rows}
  for pattern in (*layout.words, *layout.entities, *layout.decayed):
    assert ends(shapes, (pattern,)), pattern
  assert all(path.endswith("/scale") for path in ends(shapes, layout.decayed))


@pytest.mark.parametrize(
  "system",
  [pytest.param(x, marks=[] if x.name == "mpnet" else [pytest.mark.slow], id=x.name) for x in NEW],
)
def test_gradients_are_finite_in_bfloat16_where_layers_compute_again(system):
  chosen = Backbone(small(system), Running(dtype="bfloat16", remat="dots"))
  made = Network(chosen, make_head("masked", chosen))
  params, rng = drawn(system, "masked").params, jax.random.key(0)
  inputs = example_inputs(made)

  def loss(params):
    outputs = made.apply({"params": params}, **inputs, rngs={"dropout": rng})
    return made.loss(outputs, inputs["input_ids"] * 0 + 5)

  gradients = jax.jit(jax.grad(loss))(params)
  assert all(np.isfinite(x).all() for x in jax.tree.leaves(gradients))


@pytest.mark.parametrize("system", MASKED, ids=lambda system: system.name)
def test_products_are_of_parameters_that_may_freeze(system):
  paths = flatten(params_of(system, "masked"))
  counts = TokenCounts(2, words=8, entities=4, masked_words=3, masked_entities=2)
  products = system.products(small(system, **WITH_ALL), counts)
  for path, number in products.items():
    assert number > 0
    assert not path or any(is_frozen(name, (path,)) for name in paths), path


@pytest.mark.parametrize(
  ("system", "task"),
  [
    pytest.param(*x, id=f"{x[0].name}-{x[1]}", marks=() if x[0] is LukeConfig else pytest.mark.slow)
    for x in RECIPES
  ],
)
def test_what_a_recipe_freezes_is_there(system, task):
  patterns = system.recipes[task].frozen
  for kind in task_class(task).heads:
    _, frozen = split_frozen(params_of(system, kind), patterns)
    assert bool(frozen) == bool(patterns)


def test_the_first_stage_of_pretraining_trains_what_is_of_entities():
  trained, _ = split_frozen(params_of(LukeConfig, "masked"), NOT_OF_ENTITIES)
  decoders = {"word_decoder", "entity_decoder"}
  assert set(trained) == {"luke", "masked_entities", "page_entity", *decoders}
  assert set(trained["luke"]) == {"entity_embeddings"}
