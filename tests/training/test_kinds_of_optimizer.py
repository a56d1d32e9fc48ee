"""StableAdamW and Muon against plain numpy, and on several devices."""

import functools
import re

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from tiny_runs import arrays, experiment, program, trained

from luke_jax.errors import InputError
from luke_jax.models.adapters import tensor_axes
from luke_jax.models.keys import flatten
from luke_jax.plan.compiling import whole_bytes
from luke_jax.systems.albert import AlbertConfig
from luke_jax.systems.luke import NOT_OF_ENTITIES, LukeConfig
from luke_jax.systems.transe import TransEConfig
from luke_jax.training.mesh import MeshShape, make_mesh, shardings
from luke_jax.training.optimizer import Length, Optimizer, Schedule, make_optimizer

LAYERS = "luke/encoder/layers"
SHAPES = {  # of two layers; of each, what the reference has as tensors
  f"{LAYERS}/attention/query/kernel": (2, 2, 2, 6, 2, 4),
  f"{LAYERS}/attention/output/kernel": (2, 2, 4, 6),
  f"{LAYERS}/mlp/up/kernel": (2, 6, 10),
  f"{LAYERS}/mlp/up/bias": (2, 10),
  "luke/embeddings/word/embedding": (12, 6),
  "masked_words/transform/kernel": (6, 6),
}
TENSORS = {"query/kernel": 3, "output/kernel": 1, "up/kernel": 1, "up/bias": 1}  # axes before them
MATRICES = {"query/kernel": (8, 6, 8), "output/kernel": (2, 8, 6), "up/kernel": (2, 6, 10)}
AXES = functools.partial(tensor_axes, system=LukeConfig)
ADAM = {"beta1": 0.8, "beta2": 0.9, "weight_decay": 0.1}


def of(path, table):
  return next((x for end, x in table.items() if path.endswith(f"/{end}")), None)


def updated(settings, steps=4):
  """The parameters after some steps, and the gradients of each, which grow at the third."""
  rng = np.random.default_rng(0)
  params = {path: rng.normal(size=shape) for path, shape in SHAPES.items()}
  scales = [1, 1, 20, 1][:steps]
  gradients = [{p: x * rng.normal(size=SHAPES[p]) for p in SHAPES} for x in scales]
  tx = make_optimizer(settings, Schedule(warmup_steps=0, decay="constant"), (), AXES)
  now = jax.tree.map(jnp.float32, params)
  state = tx.init(now)
  for gradient in gradients:
    updates, state = jax.jit(tx.update)(
      jax.tree.map(jnp.float32, gradient), state, now, length=Length(steps, 0)
    )
    now = optax.apply_updates(now, updates)
  return params, gradients, now


@pytest.mark.parametrize("corrected", [True, False])
def test_stable_adamw_divides_the_rate_of_each_tensor(corrected):
  settings = Optimizer(0.1, kind="stable_adamw", bias_correction=corrected, **ADAM)
  params, gradients, found = updated(settings)
  for path, x in params.items():
    mean, square, first = np.zeros_like(x), np.zeros_like(x), of(path, TENSORS) or 0
    for number, gradient in enumerate(gradients, start=1):
      g = gradient[path]
      mean, square = 0.8 * mean + 0.2 * g, 0.9 * square + 0.1 * g * g
      seen = (1 - 0.8**number, 1 - 0.9**number) if corrected else (1, 1)
      m, v = mean / seen[0], square / seen[1]
      over = tuple(range(first, x.ndim))
      rms = np.sqrt((g * g / np.maximum(v, 1e-12)).mean(over, keepdims=True))
      decay = 0 if path.endswith("bias") else 0.1
      x = x - 0.1 / np.maximum(1, rms) * (m / (np.sqrt(v) + 1e-6) + decay * x)
    assert number == 4 and rms.size == np.prod(x.shape[:first], dtype=int)
    np.testing.assert_allclose(found[path], x, rtol=2e-4, atol=1e-5, err_msg=path)


def orthogonal(x):
  """Five steps of Newton and Schulz with Jordan's coefficients, of one matrix."""
  a, b, c = 3.4445, -4.7750, 2.0315
  tall = x.shape[0] > x.shape[1]
  x = x.T if tall else x
  x = x / np.linalg.norm(x)
  for _ in range(5):
    y = x @ x.T
    x = a * x + (b * y + c * y @ y) @ x
  return x.T if tall else x


def test_muon_makes_the_mean_of_each_matrix_orthogonal():
  params, gradients, found = updated(Optimizer(0.1, kind="muon", **ADAM))
  _, _, plain = updated(Optimizer(0.1, **ADAM))
  for path, x in params.items():
    shape = of(path, MATRICES)
    if shape is None:  # biases, embeddings and heads
      np.testing.assert_array_equal(found[path], plain[path])
      continue
    mean, x = np.zeros(shape), x.reshape(shape)
    for gradient in gradients:
      g = gradient[path].reshape(shape)
      mean = 0.8 * mean + g
      steps = np.stack([orthogonal(matrix) for matrix in g + 0.8 * mean])
      x = x - 0.1 * (0.2 * max(shape[1:]) ** 0.5 * steps + 0.1 * x)
    singular = np.linalg.svd(steps, compute_uv=False)
    assert singular.min() > 0.5 and singular.max() < 1.3
    np.testing.assert_allclose(found[path].reshape(shape), x, rtol=2e-4, atol=2e-5, err_msg=path)


def test_tensors_of_other_systems():
  path = "albert/encoder/layers/mlp/up/kernel"  # the layers share it
  assert tensor_axes(path, AlbertConfig) == (0, 1)
  assert tensor_axes("transe/entities/embedding", TransEConfig) == (0, 0)


def test_muon_needs_a_kernel():
  options = {"kind": "muon", "frozen": NOT_OF_ENTITIES}
  with pytest.raises(InputError, match=r"^optimizer.kind: 'muon'; expected 'adamw', as no encoder"):
    _ = program(experiment(optimizer=options)).state_shapes


KINDS = ["stable_adamw", "muon"]


@pytest.mark.parametrize("kind", KINDS)
def test_moments_are_spread_as_their_parameters(kind, monkeypatch):
  """And no step depends on the devices that it is computed on."""
  monkeypatch.setattr("luke_jax.nn.layers.LEAST_SHARDED", 16)
  mesh = make_mesh(MeshShape(replica=2, data=4))
  rng = np.random.default_rng(0)
  shapes = {path: [8 if n == 6 else n for n in shape] for path, shape in SHAPES.items()}
  params, gradient = ({p: jnp.float32(rng.normal(size=s)) for p, s in shapes.items()} for _ in "12")
  tx = make_optimizer(Optimizer(0.1, kind=kind, **ADAM), Schedule(warmup_steps=0), (), AXES)
  places = shardings(state := tx.init(params), mesh, "all", ())
  for name, x in flatten(places).items():
    if path := next(iter(re.findall("/(?:mu|nu|trace)/(.*)", name)), None):
      assert x.spec == shardings(params, mesh, "all", ())[path].spec
      assert any(x.spec) or path.endswith("bias")
  step = functools.partial(jax.jit(tx.update), length=Length(4, 0))
  expected = step(gradient, state, params)
  here = (jax.device_put(x, shardings(x, mesh, "all", ())) for x in (gradient, state, params))
  jax.tree.map(functools.partial(np.testing.assert_allclose, atol=2e-6), step(*here), expected)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_several_devices_change_nothing(kind):
  chosen = experiment(optimizer={"kind": kind}, model={"num_hidden_layers": 1})
  alone, spread = program(chosen), program(chosen, 8, MeshShape(replica=2))
  state, losses = trained(spread, spread.fresh_state(), 4)
  expected, its_losses = trained(alone, alone.fresh_state(), 4)
  np.testing.assert_allclose(losses, its_losses, rtol=1e-5)
  found = arrays(state["trained"])
  for name, x in arrays(expected["trained"]).items():
    np.testing.assert_allclose(found[name], x, atol=5e-5, err_msg=name)


def test_muon_has_one_moment_of_each_matrix():
  """In what `luke-jax plan` counts as arguments."""
  plain, muon = (program(experiment(optimizer={"kind": x})).state_shapes for x in ("adamw", "muon"))
  trained = flatten(muon["trained"])
  matrices = sum(x.size for path, x in trained.items() if AXES(path)[1])
  assert matrices and whole_bytes(muon) == whole_bytes(plain) - 4 * matrices
  assert all(x.dtype == jnp.float32 for x in jax.tree.leaves(muon["moments"]) if x.shape)
