"""A GPU computes what a CPU does: JAX_PLATFORMS=cuda,cpu pytest -m gpu tests/test_gpu.py."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from luke_jax.models.system import Running
from luke_jax.models.table import SIZES
from luke_jax.nn.attention import asked, fused_attention
from luke_jax.nn.block_attention import block_attention
from luke_jax.pipeline.batches import Data
from luke_jax.systems.transe import TransEConfig
from luke_jax.systems.transe.task import LinkPrediction
from luke_jax.tasks.synthetic import SyntheticPretraining
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.mesh import make_mesh
from luke_jax.training.optimizer import Optimizer
from luke_jax.training.program import Program

pytestmark = pytest.mark.gpu
STEPS = 3


@pytest.fixture(scope="module", autouse=True)
def gpu():
  if jax.default_backend() != "gpu":
    pytest.skip("no GPU; expected JAX_PLATFORMS=cuda,cpu on a machine with one")
  with jax.default_matmul_precision("highest"):
    yield


def losses(experiment, device):
  """Of a few steps, with dropout."""
  program = Program(experiment, make_mesh(experiment.mesh, [device]), STEPS)
  batches = program.training_batches(experiment.engine.records(program.backbone, "train"))
  state, step, found = program.fresh_state(), program.step, []
  for number in range(STEPS):
    state, metrics = step(state, program.placed(batches(number)))
    found.append(float(metrics["loss"]))
  return found


def same(experiment, tolerance):
  """Compares both devices; parameters start equal, as random numbers are the same on both."""
  ours, expected = (losses(experiment, jax.devices(kind)[0]) for kind in ("gpu", "cpu"))
  np.testing.assert_allclose(ours, expected, rtol=tolerance)


@pytest.mark.parametrize("independent", [False, True])
def test_fused_attention(independent):
  """Values and gradients of cuDNN's attention, with padding in both streams, beside the blocks."""
  rng = np.random.default_rng(0)
  normal = lambda *shape: jnp.asarray(rng.normal(size=shape), jnp.bfloat16)  # noqa: E731
  words, entities = (normal(2, 96, 4, 64),), (normal(2, 32, 4, 64), normal(2, 32, 4, 64))
  queries = (words if independent else (*words, normal(2, 96, 4, 64)), entities)
  key, value = normal(2, 128, 4, 64), normal(2, 128, 4, 64)
  mask = (jnp.arange(128) < jnp.array([[90], [96]])) | (jnp.arange(128) > jnp.array([[99], [96]]))
  keys = asked(mask, 96, independent)
  fused = functools.partial(fused_attention, mask=keys, implementation="cudnn")
  found, expected = (
    jax.jit(lambda *x, f=f: jax.vjp(f, *x)[1](jnp.cos(f(*x))))(queries, key, value)
    for f in (fused, functools.partial(block_attention, mask=mask))
  )
  for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
    np.testing.assert_allclose(*(np.asarray(x, np.float32) for x in (one, other)), atol=0.05)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("bfloat16", 3e-3)])
def test_pretraining(dtype, tolerance):
  experiment = Experiment(
    model=dataclasses.replace(SIZES["tiny"], use_entity_aware_attention=True),
    running=Running(dtype=dtype, remat="dots"),
    task=SyntheticPretraining(pages=64, words=64, entities=16, mention=4),
    data=Data(batch_size=8, evaluation_batch_size=8),
    optimizer=Optimizer(learning_rate=1e-3),
    run=Run(steps=STEPS),
  )
  same(experiment, tolerance)


@pytest.mark.parametrize("norm", [1, 2])
def test_a_graph(norm, tmp_path):
  rng = np.random.default_rng(0)
  rows = np.unique(rng.integers(0, (50, 4, 50), (400, 3)), axis=0)
  path = tmp_path / "train.txt"
  path.write_text("".join(f"Q{h}\tP{r}\tQ{t}\n" for h, r, t in rows))
  entities, relations = len(np.unique(rows[:, [0, 2]])), len(np.unique(rows[:, 1]))
  experiment = Experiment(
    model=TransEConfig(entities, relations, 20, norm),
    task=LinkPrediction(graph=str(path), chunk=16, negatives=8),
    data=Data(batch_size=4),
    optimizer=Optimizer(learning_rate=1e-2, weight_decay=0.0, bias_correction=True),
    run=Run(steps=STEPS),
  )
  same(experiment, 1e-5)
