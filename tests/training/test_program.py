"""The step: the same numbers on every mesh, with what each device holds under control."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from networks import network
from tiny_runs import TINY, arrays, experiment, program, same, trained

from luke_jax.errors import InputError
from luke_jax.models.keys import flatten, unflatten
from luke_jax.models.network import abstract_params, initial_params
from luke_jax.systems.luke import LukeConfig
from luke_jax.tasks.pretraining import Pretraining
from luke_jax.training.mesh import MeshShape, make_mesh, shardings
from luke_jax.training.program import Program, quick_options, scored

MESHES = {
  "8": (8, MeshShape()),
  "8, entities": (8, MeshShape(fsdp="entities")),
  "8, none": (8, MeshShape(fsdp="none")),
  "2 x 4": (8, MeshShape(replica=2)),
  "4 x 2, entities": (8, MeshShape(replica=4, data=2, fsdp="entities")),
}


@pytest.fixture(scope="module")
def alone():
  chosen = program(experiment())
  return trained(chosen, chosen.fresh_state(), 5)


QUICK = ("2 x 4",)  # both axes


@pytest.mark.parametrize(
  "mesh", [pytest.param(x, marks=() if x in QUICK else pytest.mark.slow) for x in MESHES]
)
def test_a_mesh_changes_nothing(mesh, alone, monkeypatch):
  """Dropout included. Every array above a few kilobytes is spread, small as the model is."""
  monkeypatch.setattr("luke_jax.nn.layers.LEAST_SHARDED", 256)
  chosen = program(experiment(), *MESHES[mesh])
  state, losses = trained(chosen, chosen.fresh_state(), 5)
  np.testing.assert_allclose(losses, alone[1], rtol=1e-5)
  expected, found = arrays(alone[0]["trained"]), arrays(state["trained"])
  for name in expected:
    np.testing.assert_allclose(found[name], expected[name], atol=2e-5, err_msg=name)


def test_every_array_stays_where_the_table_of_shardings_puts_it(monkeypatch):
  monkeypatch.setattr("luke_jax.nn.layers.LEAST_SHARDED", 256)
  chosen = program(experiment(), *MESHES["2 x 4"])
  state, _ = trained(chosen, chosen.fresh_state(), 2)
  places = jax.tree.map(lambda x: x.sharding, chosen.state_shapes)
  jax.tree.map(lambda x, place: x.sharding.is_equivalent_to(place, x.ndim) or 1 / 0, state, places)
  named = {name: jax.tree.leaves(x) for name, x in state["moments"][1].mu["luke"].items()}
  assert all(named.values())
  table = state["moments"][1].mu["luke"]["entity_embeddings"]["entity"]["embedding"]
  assert table.sharding.shard_shape(table.shape) == (128, 32)


@pytest.mark.parametrize(
  ("path", "shape", "fsdp", "expected"),
  [
    ("moments/1/mu/luke/entity_embeddings/entity/embedding", (512, 256), "all", ("data",)),
    ("trained/masked_entities/bias", (512,), "entities", ("data",)),
    ("trained/masked_entities/bias", (512,), "none", ()),
    ("trained/luke/encoder/layers/mlp/up/kernel", (24, 1024, 4096), "all", (None, None, "data")),
    ("trained/luke/encoder/layers/mlp/up/kernel", (24, 1024, 4096), "entities", ()),
    # Layers are never spread, though there were more of them than of anything else.
    ("trained/luke/encoder/layers/mlp/up/kernel", (4096, 1024, 512), "all", (None, "data")),
    ("trained/luke/encoder/layers/mlp/up/bias", (24, 4096), "all", ()),  # small
    ("trained/luke/embeddings/word/embedding", (50267, 1024), "all", (None, "data")),
    ("trained/luke/embeddings/word/embedding", (50267, 1023), "all", ()),  # nothing divides
  ],
)
def test_specs(path, shape, fsdp, expected):
  tree = unflatten({path: jax.ShapeDtypeStruct(shape, jnp.float32)})
  found = shardings(tree, make_mesh(MeshShape()), fsdp, LukeConfig.layout.entities)
  assert flatten(found)[path].spec == jax.P(*expected)


@pytest.fixture(scope="module")
def heads_alone():
  """The encoder stays, and nothing is dropped."""
  model = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
  return program(experiment(model=model, optimizer={"frozen": ("luke",)}))


def test_micro_batches_add_up_to_the_batch(heads_alone):
  """Without dropout the number of micro-batches changes nothing, though their targets differ."""
  whole, one = heads_alone, heads_alone.experiment
  parts = program(dataclasses.replace(one, run=dataclasses.replace(one.run, accumulation=2)))
  _, losses = trained(whole, whole.fresh_state(), 3)
  micro_state, micro_losses = trained(parts, parts.fresh_state(), 3)
  assert losses[0] != losses[1]
  np.testing.assert_allclose(micro_losses, losses, rtol=1e-6)
  assert int(micro_state["step"]) == 3


def test_a_loss_that_is_not_finite_changes_nothing():
  chosen = program(experiment())
  batches = chosen.training_batches(chosen.experiment.task.records(chosen.backbone, "train"))
  state = chosen.fresh_state()
  state["trained"]["masked_words"]["bias"] = (
    state["trained"]["masked_words"]["bias"].at[0].set(jnp.nan)
  )
  before = arrays(state)
  after, metrics = chosen.step(state, chosen.placed(batches(0)))
  assert not metrics["finite"] and int(metrics["skipped"]) == 1
  changed = {name for name, x in arrays(after).items() if x.tobytes() != before[name].tobytes()}
  assert changed == {"step", "skipped"}


def test_frozen_parameters_have_no_moments_and_stay(heads_alone):
  chosen, fresh = heads_alone, heads_alone.fresh_state()
  before = arrays(fresh)
  state, _ = trained(chosen, fresh, 2)
  after = arrays(state)
  moments = {name for name in after if "/mu/" in name}
  assert moments and all("/masked_" in name for name in moments)
  frozen = [name for name in after if name.startswith("frozen")]
  assert frozen and all(after[name].tobytes() == before[name].tobytes() for name in frozen)


@pytest.fixture(scope="module")
def averaged():
  """Adapters of all but one layer of two train, and what trains is averaged."""
  options = {"frozen": ("luke/pooler", "luke/encoder/layers[0:1]"), "weight_decay": 0.5}
  return program(experiment(optimizer={**options, "average": 0.9, "adapter": 2}))


def test_adapters_train_in_place_of_kernels_and_words(averaged):
  chosen, fresh = averaged, averaged.fresh_state()
  before = arrays(fresh)
  state, losses = trained(chosen, fresh, 2)
  after = arrays(state)
  stay = [name for name in after if name.startswith("frozen")]
  assert all(after[name].tobytes() == before[name].tobytes() for name in stay)
  ends = {name.rpartition("/")[2] for name in stay if "/pooler/" not in name}  # frozen anyway
  assert ends == {"kernel", "embedding"} and not any("entity" in name for name in stay)
  second = [name for name in after if name.startswith("trained") and "adapter_out" in name]
  assert len(second) == 6 and all(after[name].any() and not before[name].any() for name in second)
  # The start has none of them, which is as it should be.
  plain = program(experiment())
  params = jax.device_get(plain.fresh_state()["trained"])
  del params["luke"]["entity_embeddings"]["entity"], params["masked_entities"]  # padded
  began, missing = chosen.state_from(params)
  assert not any("adapter" in path for path in missing)
  assert np.isfinite(losses).all() and int(began["step"]) == 0


def test_starting_from_parameters_resets_all_else():
  chosen = program(experiment())
  state, _ = trained(chosen, chosen.fresh_state(), 2)
  tables = state["trained"]["luke"]["entity_embeddings"]["entity"]["embedding"]
  params = jax.device_get({**state["trained"], "extra": {"kernel": np.zeros(3)}})
  params["luke"]["entity_embeddings"]["entity"]["embedding"] = np.asarray(tables)[:50]
  params["masked_entities"]["bias"] = params["masked_entities"]["bias"][:50]
  began, fresh = program(experiment(), 8).state_from(params)
  assert fresh == ["luke/pooler/dense/bias", "luke/pooler/dense/kernel"]
  assert int(began["step"]) == 0 and not np.asarray(jax.tree.leaves(began["moments"])[3]).any()
  found = arrays(began["trained"])
  for name, x in arrays(state["trained"]).items():
    known = 50 if "entity_embeddings/entity/" in name or name == "masked_entities/bias" else None
    np.testing.assert_array_equal(found[name][:known], x[:known])


def test_a_whole_start_needs_no_fresh_parameters(monkeypatch):
  """And the rest of its state is that of a fresh one, to the bit."""
  chosen = program(experiment(optimizer={"average": 0.9}), 8)
  fresh = chosen.fresh_state()
  params = jax.device_get(fresh["trained"] | {"luke": {**fresh["trained"]["luke"]}})
  params["luke"]["pooler"] = jax.device_get(fresh["frozen"]["luke"]["pooler"])
  params["luke"]["entity_embeddings"]["entity"]["embedding"] = np.ones((50, 32), np.float32)
  params["masked_entities"]["bias"] = params["masked_entities"]["bias"][:50]
  expected = {name: fresh[name] for name in ("moments", "step", "skipped", "key", "frozen")}
  monkeypatch.setattr(type(chosen), "fresh_state", None)
  began, missing = chosen.state_from(params)
  assert not missing and same({name: began[name] for name in expected}, expected)
  assert same(began["trained"], began["average"])
  assert jax.tree.map(jnp.shape, began) == jax.tree.map(jnp.shape, fresh)
  assert jax.tree.map(lambda x: x.sharding, began) == jax.tree.map(lambda x: x.sharding, fresh)


@pytest.mark.parametrize("path", LukeConfig.layout.entities)
@pytest.mark.parametrize("rows", [49, 51, 512])
def test_a_start_of_another_number_of_entities_is_refused(path, rows):
  """Also of those that the padding of the table would hold: their ids mean other entities."""
  chosen = program(experiment(model={"tie_entity_embeddings": False}))
  params = abstract_params(network("LukeForMaskedLM", chosen.experiment.model))
  tree = flatten(jax.tree.map(lambda x: np.zeros(x.shape, np.float32), params))
  tree[path] = np.zeros((rows, *tree[path].shape[1:]), np.float32)
  with pytest.raises(InputError, match=f"^{path}: {rows} rows; expected 50, one for each entity$"):
    chosen.state_from(unflatten(tree))


def test_a_model_of_words_starts_from_one_of_entities():
  words_only = {"entity_vocab_size": 0, "use_entity_aware_attention": False}
  chosen = experiment(model=words_only)
  chosen = program(dataclasses.replace(chosen, task=Pretraining(("nowhere",), words=32)))
  params = initial_params(network("LukeForMaskedLM", TINY), jax.random.key(1))
  params["luke"]["encoder"]["layers"]["attention"]["query"] = jax.tree.map(
    lambda x: x[:, :1, :1], params["luke"]["encoder"]["layers"]["attention"]["query"]
  )
  state, fresh = chosen.state_from(params)
  assert not fresh
  found = arrays({"luke": state["trained"]["luke"]})
  assert found and not any("entit" in name for name in found)
  expected = arrays(params)
  assert all(x.tobytes() == expected[name].tobytes() for name, x in found.items())


def test_the_same_seed_gives_the_same_state():
  one, other = program(experiment()), program(experiment(), 8)
  assert same(one.fresh_state(), other.fresh_state())
  assert not same(one.fresh_state(), program(experiment(run={"seed": 1})).fresh_state())


@pytest.mark.parametrize(
  ("shape", "message"),
  [
    (MeshShape(replica=3), "mesh: 3 x ? on 8 devices; expected"),
    (MeshShape(data=4), "mesh: 1 x 4 on 8 devices; expected"),
  ],
)
def test_meshes_that_do_not_fit_are_refused(shape, message):
  with pytest.raises(InputError, match=message.replace("?", r"\?")):
    make_mesh(shape)


def test_batches_that_do_not_divide_are_refused():
  chosen = experiment(data={"batch_size": 12})
  with pytest.raises(InputError, match=r"data.batch_size: 12; expected a multiple"):
    Program(chosen, make_mesh(MeshShape()), steps=1)


def test_the_average_is_scored_and_follows_the_weights(averaged):
  chosen = averaged
  state = chosen.fresh_state()
  batches = chosen.training_batches(chosen.experiment.task.records(chosen.backbone, "train"))
  expected = arrays({"x": state["trained"]})
  step = chosen.step
  for number in range(3):
    state, _ = step(state, chosen.placed(batches(number)))
    decay = min(0.9, (1 + number) / (10 + number))
    new = arrays({"x": state["trained"]})
    expected = {name: decay * x + (1 - decay) * new[name] for name, x in expected.items()}
  average = arrays({"x": scored(state)})
  assert average.keys() == expected.keys()
  assert all(np.allclose(average[name], x, atol=1e-6) for name, x in expected.items())
  assert not any(
    np.array_equal(average[name], new[name]) for name in average if "adapter_out" in name
  )
  # A start is the average of step 0.
  began, _ = chosen.state_from(jax.device_get(plain_params(chosen)))
  assert all(
    np.array_equal(x, y)
    for x, y in zip(
      jax.tree.leaves(began["trained"]), jax.tree.leaves(began["average"]), strict=True
    )
  )


def plain_params(chosen):
  params = chosen.fresh_state()["trained"]
  del params["luke"]["entity_embeddings"]["entity"], params["masked_entities"]  # padded
  return params


def test_layers_are_frozen_by_number(averaged):
  encoder = "luke/encoder/layers"
  fresh = averaged.fresh_state()
  before = arrays(fresh)
  after = arrays(trained(averaged, fresh, 2)[0])
  stacked = [name for name in before if name.startswith(f"trained/{encoder}/")]
  assert stacked and all(len(before[name]) == 2 for name in stacked)
  for name in stacked:
    assert np.array_equal(before[name][0], after[name][0])
  assert any(not np.array_equal(before[name][1], after[name][1]) for name in stacked)


@pytest.mark.parametrize(
  "pattern", ["luke/encoder/layers[2:]", "luke/pooler[0:1]", "luke/layers[0:1]", "luke/encoder[:1]"]
)
def test_layers_that_are_not_there_are_named(pattern):
  with pytest.raises(InputError, match=r"names no layer; expected the stack"):
    program(experiment(optimizer={"frozen": (pattern,)})).fresh_state()


@pytest.mark.slow
def test_fresh_parameters_compile_quickly_to_the_same_bits(monkeypatch):
  fresh = program(experiment())._fresh
  monkeypatch.setenv("XLA_FLAGS", "")
  quick = quick_options("cpu")
  states = [
    jax.jit(fresh, compiler_options=options)()
    for options in (quick, {"xla_backend_optimization_level": "3"})
  ]
  assert quick and same(*(state["trained"] for state in states))


def test_a_level_of_optimisation_that_is_set_stays(monkeypatch):
  monkeypatch.setenv("XLA_FLAGS", "--xla_backend_optimization_level=2")
  assert not quick_options("cpu")
  assert not quick_options("tpu")
