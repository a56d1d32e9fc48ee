"""The experiment with a newer encoder: LUKE's own layers where nothing is new, and its windows."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.luke_modern import LukeModernConfig, LukeModernEncoder
from luke_jax.models.system import Backbone
from luke_jax.systems.luke import LukeConfig
from luke_jax.systems.luke.encoder import LukeEncoder

SIZES = {
  **{"vocab_size": 50, "entity_vocab_size": 20, "hidden_size": 16, "entity_emb_size": 8},
  **{"num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24},
  **{"max_position_embeddings": 60, "initializer_range": 0.3},
}


def inputs():
  draw = np.random.default_rng(0).integers
  words, entities = np.arange(21) < [[21], [15]], np.arange(5) < [[4], [5]]
  return {
    "input_ids": np.where(words, draw(2, 50, (2, 21)), 1),
    "attention_mask": words,
    "entity_ids": draw(1, 20, (2, 5)),
    "entity_attention_mask": entities,
    "entity_position_ids": np.where(draw(0, 2, (2, 5, 3)), draw(0, 15, (2, 5, 3)), -1),
  }


def states(config, params=None, encoder=LukeModernEncoder):
  made, given = encoder(Backbone(config), False), inputs()
  params = params or made.init(jax.random.key(0), **given)["params"]
  read = made.apply({"params": params}, **given)
  masks = given["attention_mask"], given["entity_attention_mask"]
  of_both = zip((read.words, read.entities), masks, strict=True)
  return params, jnp.concatenate([jnp.where(mask[..., None], x, 0) for x, mask in of_both], 1)


def test_without_its_parts_it_is_a_luke():
  params, ours = states(LukeModernConfig(**SIZES, rotary=False, pre_norm=False))
  layers = params["layers"]["layers"]
  attention = {name: layers[name] for name in ("query", "key", "value", "output")}
  layers = {"attention": attention, **{x: layers[x] for x in layers if x not in attention}}
  words = params["embeddings"] | {"type": {"embedding": jnp.zeros((1, 16))}}
  of_luke = {"embeddings": words, "entity_embeddings": params["entity_embeddings"]}
  _, theirs = states(LukeConfig(**SIZES), {**of_luke, "encoder": {"layers": layers}}, LukeEncoder)
  assert jnp.abs(ours - theirs).max() < 1e-6


@pytest.mark.parametrize("reach", [7, 20])
def test_windows_read_what_is_near_and_all_entities(reach):
  config = LukeModernConfig(**SIZES)
  params, whole = states(config)
  _, near = states(dataclasses.replace(config, reach=reach), params)
  assert (jnp.abs(whole - near).max() < 2e-5) == (reach == 20)
