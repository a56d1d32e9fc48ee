"""Whole networks: counts of parameters, what may not matter, files of every form, products."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from networks import backbone
from small_systems import small

from luke_jax.convert.loading import read_model
from luke_jax.convert.parts import ModelParts
from luke_jax.convert.saving import save
from luke_jax.errors import InputError
from luke_jax.heads.kinds import make_head
from luke_jax.models.keys import flatten
from luke_jax.models.network import Network, abstract_params, initial_params
from luke_jax.models.system import TokenCounts
from luke_jax.plan.plan import step_flops
from luke_jax.systems.tener import TenerConfig, encoder
from luke_jax.systems.tener.encoder import character_attention
from luke_jax.systems.tener.layers import CharacterEncoder

CHARACTERS, BIGRAMS, LAYERS, WIDTH = 19, 23, 3, 7
ALL = {"character_vocab_size": CHARACTERS, "bigram_vocab_size": BIGRAMS}
ALL |= {"vector_size": WIDTH, "vector_layers": LAYERS}
SMALL = {"hidden_size": 16, "intermediate_size": 32, "word_size": 10, "bigram_size": 6}


def config(**fields):
  return small(TenerConfig, **SMALL, **fields)


def inputs(words=6, seed=0):
  """A row between its ends, with all that may stand beside its words."""
  rng = np.random.default_rng(seed)
  ids = np.pad(rng.integers(5, 100, words), 1, constant_values=(2, 3))[None]
  length = ids.shape[1]
  characters = rng.integers(1, CHARACTERS, (1, length, 30))
  characters[..., 5:] = 0
  return {
    "input_ids": ids,
    "attention_mask": np.ones_like(ids),
    "character_ids": characters,
    "bigram_ids": rng.integers(0, BIGRAMS, (1, length)),
    "word_vectors": rng.normal(size=(1, length, LAYERS, WIDTH)).astype(np.float32),
  }


@pytest.mark.parametrize(
  ("kind", "fields", "count"),
  [
    ("adatrans", {}, 6600),
    ("transformer", {}, 8460),
    ("cnn", {}, 3660),
    ("adatrans", {"use_k_proj": True}, 7500),
  ],
)
def test_encoders_of_characters_have_the_papers_parameters(kind, fields, count):
  chosen = TenerConfig(character_encoder=kind, **fields)
  module = CharacterEncoder(chosen.numerics, 10, 30, character_attention(chosen), 0.3)
  shapes = jax.eval_shape(module.init, jax.random.key(0), jnp.ones((2, 5), int))["params"]
  assert sum(np.prod(x.shape) for x in jax.tree.leaves(shapes)) == count + 10 * 30


@pytest.mark.parametrize(
  "kind", ["cnn", *(pytest.param(x, marks=pytest.mark.slow) for x in ("adatrans", "transformer"))]
)
def test_gradients_of_characters_are_those_without_a_compiler(kind):
  chosen = TenerConfig(character_encoder=kind, character_size=6, num_character_heads=1)
  module = CharacterEncoder(chosen.numerics, 11, 6, character_attention(chosen), 0.0)
  ids = np.random.default_rng(0).integers(1, 11, (4, 30))
  params = module.init(jax.random.key(0), ids)

  def loss(params):
    return (module.apply(params, ids) * jnp.arange(24).reshape(4, 6)).sum()

  compiled, plain = jax.jit(jax.grad(loss))(params), jax.grad(loss)(params)
  largest = max(float(jnp.abs(x).max()) for x in jax.tree.leaves(plain))
  for found, expected in zip(*map(jax.tree.leaves, (compiled, plain)), strict=True):
    np.testing.assert_allclose(found, expected, atol=1e-5 * largest)


FORMS = {
  "paper": {"character_encoder": "cnn", "after_norm": False},
  "2020": {"rel_sign": -1, "freq": "tener", "e_term": True, "use_k_proj": True, "scale": True},
  "transformer": {"encoder": "transformer", "character_encoder": "transformer"},
}


SLOW = [pytest.param(form, marks=pytest.mark.slow) for form in ("transformer", "paper")]


@pytest.fixture(scope="module", params=["2020", *SLOW])
def network(request):
  made = backbone(config(**ALL, **FORMS[request.param]))
  return Network(made, make_head("crf", made, labels=4))


@pytest.fixture(scope="module")
def params(network):
  return jax.device_get(initial_params(network, jax.random.key(0)))


@functools.partial(jax.jit, static_argnames="network")
def applied(network, params, row):
  return network.apply({"params": params}, **row)["logits"]


def logits(network, params, row):
  return np.asarray(applied(network, params, row))


@pytest.mark.slow
def test_neither_place_nor_padding_nor_neighbours_matter(network, params):
  row = inputs()
  alone = logits(network, params, row)
  assert np.isfinite(alone).all()
  # Padding with any content before and behind, and another row in the batch.
  wide = {
    name: np.concatenate([np.pad(x, [(0, 0), (3, 4)] + [(0, 0)] * (x.ndim - 2)) for x in pair])
    for name, pair in ((name, (x, inputs(seed=1)[name])) for name, x in row.items())
  }
  wide["input_ids"][:, :3] = 7
  found = logits(network, params, wide)[:1, 4:10]
  np.testing.assert_allclose(found, alone[:, 1:7], atol=2e-5)
  nothing = logits(network, params, wide | {"attention_mask": 0 * wide["attention_mask"]})
  assert np.isfinite(nothing).all()


def test_all_that_is_known_of_a_word_matters(network, params):
  row = inputs()
  expected = logits(network, params, row)[:, 1:7]
  backwards = {name: x[:, ::-1] for name, x in row.items()}
  assert np.abs(logits(network, params, backwards)[:, 1:7][:, ::-1] - expected).max() > 1e-4
  for name in ("character_ids", "bigram_ids", "word_vectors"):
    without = row | {name: 0 * row[name]}
    assert np.abs(logits(network, params, without)[:, 1:7] - expected).max() > 1e-5, name


def test_files_of_every_form(network, params, tmp_path):
  save(ModelParts(network, params, ("O", "B-A", "I-A", "B-B")), tmp_path / "model")
  again = read_model(tmp_path / "model")
  assert again.config == network.backbone.config and not again.report.missing
  assert again.architecture == "TenerForTokenClassificationWithCrf"
  kept, before = flatten(again.params), flatten(params)
  assert kept.keys() == before.keys()
  for path, x in before.items():
    np.testing.assert_array_equal(kept[path], x)


def test_products_are_those_of_the_program(network, monkeypatch):
  # Each word as far as the longest may reach, of which the program runs less.
  monkeypatch.setattr(encoder, "by_length", lambda run, params, words, key: run(params, words, key))
  made, row = network.backbone, inputs()
  length = row["input_ids"].shape[1]
  counts = TokenCounts(1, length, 0)
  params = {"params": abstract_params(Network(made))}
  program = jax.make_jaxpr(Network(made).apply)(params, **row)
  # The mixture of vectors is no work worth counting.
  mixture = 2 * length * LAYERS * WIDTH
  assert _products(program.jaxpr) == step_flops(made, counts) / 3 + mixture


def _products(jaxpr, times=1):
  """Multiplications and additions of all matrix products of a program."""
  total = 0
  for equation in jaxpr.eqns:
    if equation.primitive.name == "dot_general":
      ((axes, _), _) = equation.params["dimension_numbers"]
      left, out = equation.invars[0].aval, equation.outvars[0].aval
      total += times * 2 * np.prod(out.shape) * np.prod([left.shape[axis] for axis in axes])
    inner = equation.params.get("length", 1) if equation.primitive.name == "scan" else 1
    for value in equation.params.values():
      if hasattr(value, "jaxpr") or hasattr(value, "eqns"):
        total += _products(getattr(value, "jaxpr", value), times * inner)
  return total


def test_training_reads_some_words_as_unknown():
  rates = ("hidden_dropout_prob", "attention_probs_dropout_prob", "embedding_dropout")
  made = backbone(dataclasses.replace(config(**dict.fromkeys(rates, 0.0)), word_dropout=0.8))
  network, row = Network(made), inputs(words=200)
  row["input_ids"][0, 1] = 1  # the unknown word
  params = initial_params(network, jax.random.key(0))

  @jax.jit
  def words(key):
    states = network.apply({"params": params}, **row, rngs=key, mutable=["intermediates"])[1]
    return states["intermediates"]["tener"]["encoder"]["input"][0][0]

  read = words({})
  assert len(np.unique(read, axis=0)) == len(np.unique(row["input_ids"]))
  dropped = words({"dropout": jax.random.key(1)})
  unknown = (dropped == read[1]).all(1)
  assert 0.7 < unknown.mean() < 0.9
  np.testing.assert_array_equal(dropped[~unknown], read[~unknown])


@pytest.mark.parametrize(
  ("fields", "message"),
  [
    ({"hidden_size": 18}, "hidden_size: 18; expected a multiple of 4, for 2 heads"),
    ({"character_size": 32}, "character_size: 32; expected a multiple of 6, for 3 heads"),
    ({"encoder": "lstm"}, "encoder: 'lstm'; expected one of 'adatrans', 'transformer'"),
    ({"rel_sign": 0}, "rel_sign: 0; expected one of 1, -1"),
    ({"word_dropout": 1.0}, "word_dropout: 1.0; expected a number from 0 to below 1"),
  ],
)
def test_sizes_that_do_not_fit(fields, message):
  with pytest.raises(InputError, match=message):
    small(TenerConfig, **(SMALL | fields))
