"""The optimizer against PyTorch's recorded runs, and what the engine builds on."""

import dataclasses
import functools
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from goldens.training.replay import distances, read, replay
from hypothesis import given
from hypothesis import strategies as st
from networks import network
from small_systems import TRAINED, small

from luke_jax.errors import InputError
from luke_jax.heads.kinds import class_names, kind_of
from luke_jax.models import keys
from luke_jax.models.network import abstract_params
from luke_jax.systems.luke import LukeConfig
from luke_jax.training.optimizer import (
  Length,
  Optimizer,
  Schedule,
  decays,
  is_frozen,
  learning_rate,
  make_optimizer,
  merge,
  split_frozen,
)

GOLDENS = Path(__file__).parent.parent / "goldens" / "training"
RECORDINGS = sorted(path.stem for path in GOLDENS.glob("*.npz"))
CHANGE = 2e-4  # of what a parameter changes by in all


@functools.cache
def recording(name):
  return read(GOLDENS / f"{name}.npz")


def rates(peak, schedule, steps):
  """The rate of a run by the number of the update."""
  length = Length.of(schedule, steps)
  return lambda number: learning_rate(Optimizer(learning_rate=peak), schedule, number, length)


@pytest.mark.parametrize(
  "name",
  [pytest.param(x, marks=() if x == "pretraining" else pytest.mark.slow) for x in RECORDINGS],
)
def test_twenty_steps_are_pytorchs(name):
  """Both orders of decay: of transformers' old AdamW, and in fine-tuning of torch.optim's."""
  recorded = recording(name)
  params, losses = replay(recorded)
  np.testing.assert_allclose(losses, recorded.losses, rtol=1e-5)
  found = distances(recorded, params)
  assert len(found) == {"entities-only": 11}.get(name, 65)
  for tensor, distance in found.items():
    assert distance.value <= 1e-5, tensor
    assert distance.change <= CHANGE, tensor


@pytest.mark.parametrize(
  ("name", "changes", "schedule"),
  [
    ("pretraining", {"bias_correction": True}, {}),
    ("pretraining", {"beta2": 0.998}, {}),
    ("pretraining", {"epsilon": 2e-6}, {}),
    ("pretraining", {"weight_decay": 0.0}, {}),
    ("pretraining", {}, {"warmup_steps": 4}),
    ("pretraining", {}, {"decay": "constant"}),
    ("fine-tuning", {"max_gradient_norm": None}, {}),
    ("fine-tuning", {"weight_decay": 0.09}, {}),
  ],
)
@pytest.mark.slow
def test_other_settings_would_be_seen(name, changes, schedule):
  assert furthest(recording(name), changes, schedule) > 5 * CHANGE


def test_another_choice_of_what_decays_would_be_seen():
  assert furthest(recording("pretraining"), {}, {}, decayed=()) > 5 * CHANGE


def furthest(recorded, changes, schedule, **choice):
  params, _ = replay(
    recorded,
    dataclasses.replace(recorded.optimizer, **changes),
    dataclasses.replace(recorded.schedule, **schedule),
    **choice,
  )
  return max(distance.change for distance in distances(recorded, params).values())


@pytest.mark.parametrize(
  ("peak", "schedule", "steps", "expected"),
  [
    (
      5e-4,
      Schedule(warmup_steps=4),
      10,
      [0, 1.25e-4, 2.5e-4, 3.75e-4, 5e-4, 4.16667e-4, 3.33333e-4, 2.5e-4, 1.66667e-4],
    ),
    (2e-5, Schedule(warmup_steps=3, decay="constant"), 6, [0, 6.66667e-6, 1.33333e-5, *[2e-5] * 3]),
    (1.0, Schedule(warmup_steps=0), 4, [1, 0.75, 0.5, 0.25, 0, 0]),
    (1.0, Schedule(warmup_ratio=0.0), 4, [1, 0.75, 0.5, 0.25, 0]),
    (1.0, Schedule(warmup_ratio=0.5, warmup_steps=0), 4, [1, 0.75, 0.5, 0.25, 0]),
    (1.0, Schedule(warmup_ratio=0.19), 11, [0, 0.5, 1, 0.888889, 0.777778]),
    (1.0, Schedule(warmup_steps=8), 4, [0, 0.125, 0.25, 0.375, 0.5]),
  ],
)
def test_rates_are_those_of_torch_lambda_lr(peak, schedule, steps, expected):
  rate = jax.jit(rates(peak, schedule, steps))
  found = [rate(number) for number in range(len(expected))]
  np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_baidus_rate_falls_as_if_from_the_first_step():
  schedule = Schedule(warmup_steps=5000, decay="linear_from_0")
  rate = rates(1e-4, schedule, 1_000_000)
  found = [rate(number) for number in (2500, 5000, 500_000)]
  np.testing.assert_allclose(found, [5e-5, 9.95e-5, 5e-5], rtol=1e-6)


def test_the_ratio_of_the_papers_warm_up():
  rate = rates(1e-5, Schedule(), 50)
  found = [rate(number) for number in range(0, 51, 10)]
  expected = [0, 8.510638e-6, 6.382979e-6, 4.255319e-6, 2.12766e-6, 0]
  np.testing.assert_allclose(found, expected, rtol=1e-5)


@given(st.integers(1, 10**6), st.integers(0, 10**6), st.integers(0, 2 * 10**6), st.booleans())
def test_rates_of_any_schedule(steps, warmup, number, constant):
  """As transformers computes them, without rounding."""
  expected = 1.0 if constant else max(0.0, (steps - number) / max(1, steps - warmup))
  if number < warmup:
    expected = number / warmup
  schedule = Schedule(warmup_steps=warmup, decay="constant" if constant else "linear")
  found = rates(1.0, schedule, steps)(number)
  assert float(found) == pytest.approx(expected, rel=1e-6)
  assert 0 <= found <= 1


@pytest.mark.parametrize(
  ("gradient", "limit", "expected"),
  [
    ([3.0, 4.0], 1.0, [3 / 5, 4 / 5]),
    ([3e-6, 4e-6], 1e-6, [3e-6 / 6, 4e-6 / 6]),  # PyTorch adds 1e-6 to the norm
    ([3.0, 4.0], 5.1, [3.0, 4.0]),
    ([0.0, 0.0], 1.0, [0.0, 0.0]),
    ([3.0, 4.0], None, [3.0, 4.0]),
  ],
)
def test_clipping_by_the_norm_of_all(gradient, limit, expected):
  first = Optimizer(beta1=0.0, max_gradient_norm=limit)
  tx = make_optimizer(first, Schedule(warmup_steps=0))
  gradients = {"a": {"kernel": jnp.array(gradient[:1])}, "b": {"bias": jnp.array(gradient[1:])}}
  state = tx.update(gradients, tx.init(gradients), gradients, length=Length(1, 0))[1]
  (adam,) = (part for part in state if isinstance(part, optax.ScaleByAdamState))
  np.testing.assert_allclose(jnp.concatenate(jax.tree.leaves(adam.mu)), expected, rtol=1e-6)


def test_sgd_with_momentum_and_cut_gradients_is_pytorchs():
  settings = Optimizer(0.1, kind="sgd", weight_decay=0.0, max_gradient=5.0)
  tx = make_optimizer(settings, Schedule(warmup_steps=2))
  params = {"a": {"kernel": jnp.array([1.0, -2.0])}}
  state, weights, momentum = tx.init(params), np.array([1.0, -2.0]), np.zeros(2)
  for number in range(8):
    gradient = np.array([number - 3.0, 7.0 * (-1) ** number])
    gradients = {"a": {"kernel": jnp.asarray(gradient)}}
    updates, state = tx.update(gradients, state, params, length=Length(8, 2))
    params = optax.apply_updates(params, updates)
    # As torch.optim.SGD after torch.nn.utils.clip_grad_value_, and the schedule of TENER's authors.
    momentum = 0.9 * momentum + np.clip(gradient, -5, 5)
    weights = weights - 0.1 * (number / 2 if number < 2 else (8 - number) / 6) * momentum
    np.testing.assert_allclose(params["a"]["kernel"], weights, rtol=1e-5)


@pytest.mark.parametrize(
  ("schedule", "expected"),
  [
    pytest.param(Schedule(warmup_ratio=0.01), {5: 0.5, 10: 1.0, 505: 0.5}, id="TENER"),
    pytest.param(Schedule(warmup_ratio=0.1), {50: 0.5, 100: 1.0, 550: 0.5}, id="MA-BERT"),
    pytest.param(
      Schedule(warmup_ratio=0.1, decay="wsd"),
      {50: 0.5, 100: 1.0, 899: 1.0, 900: 1.0, 925: 0.5, 999: 1 - 0.99**0.5, 1000: 0.0},
      id="late",
    ),
    pytest.param(
      Schedule(warmup_steps=0, decay="wsd", decay_steps=4),
      {0: 1.0, 996: 1.0, 997: 0.5, 999: 1 - 0.75**0.5},
      id="later",
    ),
    pytest.param(
      Schedule(warmup_ratio=0.1, decay="constant"), {50: 0.5, 100: 1.0, 900: 1.0}, id="Tsinghua"
    ),
  ],
)
def test_rates_of_other_systems(schedule, expected):
  rate = rates(1.0, schedule, 1000)
  found = {number: float(rate(number)) for number in expected}
  assert found == pytest.approx(expected, abs=1e-6)


def test_sgd_has_nothing_to_correct():
  with pytest.raises(InputError, match="bias_correction: true; expected false, for sgd has no"):
    Optimizer(kind="sgd", bias_correction=True)


FORMS = {
  "aware": {},
  "original": {"use_entity_aware_attention": False},
  "untied": {
    "cls_entity_prediction": True,
    "tie_word_embeddings": False,
    "tie_entity_embeddings": False,
  },
}
# One form of each class, that with all parameters there may be, and all of LUKE's pretraining.
CLASSES = [
  (system, name, form)
  for system in TRAINED
  for name in class_names(system).values()
  for form in (FORMS if name == "LukeForMaskedLM" else ["untied"])
]


@pytest.mark.parametrize(
  ("system", "name", "form"),
  [
    pytest.param(*x, id=f"{x[1]}-{x[2]}", marks=() if x[0] is LukeConfig else pytest.mark.slow)
    for x in CLASSES
  ],
)
def test_what_decays_is_what_the_references_names_say(system, name, form):
  table = system.keys(kind_of(system, name))
  made = network(name, small(system, **FORMS[form]), bias=form == "untied")
  for path in keys.flatten(abstract_params(made)):
    for theirs in table.key(path).names:
      norms = "LayerNorm.weight", "name_norm.", "candidate_norm.", "prior_scale.", "span_norm."
      norms += ("attn_norm.", "mlp_norm.", "final_norm.", "s.norm.", "head.norm.")  # ModernBERT's
      free = any(part in theirs for part in ("bias", *norms))
      assert decays(path, system.layout.decayed) != free, path


def test_the_one_norm_that_decays():
  decayed = LukeConfig.layout.decayed
  assert decays("masked_words/norm/scale", decayed)
  assert not decays("masked_entities/norm/scale", decayed)
  assert not decays("luke/embeddings/norm/scale", decayed)


SOME = {
  "luke": {
    "embeddings": {"norm": {"scale": 1, "bias": 2}},
    "pooler": {"dense": {"kernel": 3, "bias": 4}},
    "pooler_of_another": {"kernel": 5},
  },
  "masked_words": {"bias": 6},
}


@pytest.mark.parametrize(
  ("pattern", "still"),
  [
    ("luke/pooler/", {3, 4}),
    ("luke/pooler", {3, 4}),
    ("luke/pooler/dense/bias", {4}),
    ("luke/pooler*", {3, 4, 5}),
    ("luke/*/*/bias", {2, 4}),
    ("*/bias", {6}),
    ("luke", {1, 2, 3, 4, 5}),
  ],
)
def test_patterns(pattern, still):
  trained, frozen = split_frozen(SOME, (pattern,))
  assert set(jax.tree.leaves(frozen)) == still
  assert set(jax.tree.leaves(trained)) == {1, 2, 3, 4, 5, 6} - still


@pytest.mark.parametrize(
  ("patterns", "message"),
  [
    (("luke/poolr/",), "'luke/poolr/' names no parameter; .*, perhaps 'luke/pooler'$"),
    (("luke", "pooler"), "'pooler' names no parameter"),
    (("luke/pooler/dense/bias/more",), "perhaps 'luke/pooler/dense/bias'$"),
    (("luke", "masked_words"), "'luke', 'masked_words' name every parameter; expected some"),
  ],
)
def test_patterns_that_leave_nothing(patterns, message):
  with pytest.raises(InputError, match=f"^frozen: .*{message}"):
    split_frozen(SOME, patterns)


NAMES = st.sampled_from(["luke", "norm", "bias", "kernel", "dense"])
TREES = st.dictionaries(
  NAMES, st.recursive(st.integers(), lambda x: st.dictionaries(NAMES, x, min_size=1)), min_size=1
)


@given(TREES, st.data())
def test_parting_and_merging(params, data):
  paths = sorted(keys.flatten(params))
  folders = {path.rpartition("/")[0] for path in paths} - {""}
  patterns = data.draw(st.lists(st.sampled_from([*paths, *sorted(folders)])))
  still = {path for path in paths if is_frozen(path, patterns)}
  if len(still) == len(paths):
    with pytest.raises(InputError, match="every parameter"):
      split_frozen(params, patterns)
    return
  trained, frozen = split_frozen(params, patterns)
  assert set(keys.flatten(frozen)) == still
  assert not still & set(keys.flatten(trained))
  assert merge(trained, frozen) == params


SETTINGS = (
  Optimizer(),
  Optimizer(bias_correction=True, max_gradient_norm=1.0),
  Optimizer(weight_decay=0.0),
)


@pytest.mark.parametrize("settings", SETTINGS)
def test_state_has_float32_moments_at_the_paths_of_what_trains(settings):
  """So that it can be sharded by path, and one structure serves the checkpoints of all runs."""
  abstract = abstract_params(network("LukeForMaskedLM"))
  trained, frozen = split_frozen(abstract, ("luke/encoder", "luke/pooler"))
  tx = make_optimizer(settings, Schedule())
  state = jax.eval_shape(jax.jit(tx.init), trained)
  shapes, still = keys.flatten(trained), set(keys.flatten(frozen))
  seen = []
  for place, leaf in keys.flatten(state).items():
    if leaf.shape == ():
      assert leaf.dtype == jnp.int32
      continue
    (path,) = (path for path in shapes if place.endswith(f"u/{path}"))  # mu and nu
    assert leaf.shape == shapes[path].shape
    assert leaf.dtype == jnp.float32
    assert not any(place.endswith(path) for path in still)
    seen.append(path)
  assert sorted(seen) == sorted([*shapes, *shapes])
  plain = jax.eval_shape(make_optimizer(Optimizer(), Schedule()).init, trained)
  assert jax.tree.structure(state) == jax.tree.structure(plain)


def test_a_step_inside_jit_keeps_types_and_structure():
  tx = make_optimizer(Optimizer(max_gradient_norm=1.0), Schedule())
  trained, _ = split_frozen(jax.tree.map(jnp.float32, SOME), ("luke/pooler",))
  state = jax.jit(tx.init)(trained)
  updates, after = jax.jit(tx.update)(trained, state, trained, length=Length(10, 0))
  assert jax.tree.map(jnp.result_type, updates) == jax.tree.map(jnp.result_type, trained)
  assert jax.tree.map(jnp.result_type, after) == jax.tree.map(jnp.result_type, state)


@pytest.mark.parametrize(
  ("kind", "name", "value"),
  [
    (Optimizer, "kind", "adam"),
    (Optimizer, "max_gradient", -5.0),
    (Optimizer, "learning_rate", 0),
    (Optimizer, "learning_rate", float("nan")),
    (Optimizer, "learning_rate", "1e-5"),
    (Optimizer, "beta1", 1.0),
    (Optimizer, "beta2", -0.1),
    (Optimizer, "epsilon", 0.0),
    (Optimizer, "weight_decay", -0.01),
    (Optimizer, "weight_decay", True),
    (Optimizer, "bias_correction", 1),
    (Optimizer, "max_gradient_norm", 0.0),
    (Optimizer, "frozen", "luke/pooler/"),
    (Optimizer, "frozen", ("/",)),
    (Schedule, "warmup_steps", -1),
    (Schedule, "warmup_steps", 2.5),
    (Schedule, "warmup_ratio", 1.5),
    (Schedule, "decay", "cosine"),
    (Schedule, "decay_steps", -1),
  ],
)
def test_settings_out_of_range(kind, name, value):
  with pytest.raises(InputError) as caught:
    kind(**{name: value})
  message = str(caught.value)
  assert message.startswith(f"{name}: {value!r}; expected ")
  assert "\n" not in message
