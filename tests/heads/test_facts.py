"""The head of facts: its loss is the adaptive threshold's, and names are read one by one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from luke_jax.heads.facts import ENTRY, MENTIONS_OF_NAME, FactHead
from luke_jax.models.head import States
from luke_jax.nn.layers import Numerics
from luke_jax.nn.losses import IGNORED

B, W, D, E, N, C = 2, 12, 8, 6, 4, 3
HEAD = FactHead(Numerics(init_std=0.5), C, 2)


def inputs(rng):
  mentions = np.zeros((B, N, MENTIONS_OF_NAME), np.int32)
  mentions[:, :3, 0] = [1, 2, 3]
  mentions[:, 1, 1] = 4
  return {
    "entity_start_positions": rng.integers(0, W - 2, (B, E)),
    "entity_end_positions": rng.integers(0, W - 2, (B, E)),
    "name_mentions": mentions,
    "name_types": np.array([[1, 2, 0, 0]] * B),
    "attention_mask": np.array([[1] * (W - 2) + [0] * 2] * B),
  }


@pytest.fixture(scope="module")
def made():
  rng = np.random.default_rng(0)
  states = States(jnp.asarray(rng.normal(size=(B, W, D)), jnp.float32))
  read = inputs(rng)
  params = HEAD.init(jax.random.key(0), states, None, **read)
  params = jax.tree.map(lambda x: x + 0.3 * np.sin(np.arange(x.size)).reshape(x.shape), params)
  apply = jax.jit(lambda states, read: HEAD.apply(params, states, None, **read)["logits"])
  return states, read, apply


def test_the_loss_is_that_of_a_threshold_that_right_ones_beat_and_wrong_ones_do_not():
  rng = np.random.default_rng(1)
  logits, threshold = rng.normal(size=(2, 3, 3, C)), rng.normal(size=(2, 3, 3, 1))
  labels = rng.choice([0, 1, IGNORED], size=(2, 3, 3, C))
  labels[0, 0] = IGNORED
  expected, count = 0.0, 0
  for pair in np.ndindex(2, 3, 3):
    own, th, told = logits[pair], threshold[pair][0], labels[pair]
    if (told == IGNORED).all():
      continue
    count += 1
    right = np.log(sum(np.exp(own[told == 1])) + np.exp(th))
    expected += sum(right - own[told == 1])
    expected += np.log(sum(np.exp(own[told == 0])) + np.exp(th)) - th
  found = HEAD.loss({"logits": jnp.asarray(logits - threshold)}, jnp.asarray(labels))
  assert float(found) == pytest.approx(expected / count, rel=1e-5)
  slopes = jax.grad(lambda x: HEAD.loss({"logits": x}, jnp.asarray(labels)))(jnp.asarray(logits))
  assert np.isfinite(slopes).all() and (np.asarray(slopes)[labels == IGNORED] == 0).all()


def test_the_order_of_names_changes_nothing_else(made):
  states, read, apply = made
  order = np.array([2, 0, 1, 3])
  turned = {**read, **{x: read[x][:, order] for x in ("name_mentions", "name_types")}}
  before, after = (np.asarray(apply(states, x)) for x in (read, turned))
  np.testing.assert_allclose(after, before[:, order][:, :, order], atol=2e-5)


def test_a_name_more_changes_nothing_for_the_others(made):
  states, read, apply = made
  fewer = {**read, "name_mentions": read["name_mentions"].copy()}
  fewer["name_mentions"][:, 2] = 0
  one, other = (np.asarray(apply(states, x)) for x in (read, fewer))
  np.testing.assert_allclose(one[:, :2, :2], other[:, :2, :2], atol=2e-5)
  assert np.abs(one[:, 2, :2] - other[:, 2, :2]).max() > 1e-3


def test_padding_of_words_is_not_read(made):
  states, read, apply = made
  changed = States(states.words.at[:, -2:].add(9.0))
  np.testing.assert_array_equal(apply(states, read), apply(changed, read))


def test_types_and_directions_count(made):
  states, read, apply = made
  one = np.asarray(apply(states, read))
  other = np.asarray(apply(states, {**read, "name_types": read["name_types"] * 0}))
  assert np.abs(one[:, 0, 1] - other[:, 0, 1]).max() > 1e-3
  assert np.abs(one[:, 0, 1] - one[:, 1, 0]).max() > 1e-3
  assert HEAD.write(None) == {ENTRY: 2}
