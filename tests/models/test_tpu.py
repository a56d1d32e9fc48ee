"""The whole model compiled for TPUs that are not there, as training runs it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from networks import network
from tpu_options import QUICK

from luke_jax.models.network import abstract_params
from luke_jax.models.table import SIZES

pytestmark = pytest.mark.tpu_aot
GIB = 2**30


def compiled(devices, attention):
  """Forward and backward of 8 sequences a chip, 512 words and 128 entities each, with dropout."""
  mesh = jax.sharding.Mesh(
    np.reshape(devices, (1, -1)), ("replica", "data"), axis_types=(jax.sharding.AxisType.Auto,) * 2
  )
  batch, whole = jax.P(("replica", "data")), jax.P()

  def shape(spec, dtype, *dims):
    return jax.ShapeDtypeStruct(dims, dtype, sharding=jax.NamedSharding(mesh, spec))

  running = {"dtype": "bfloat16", "remat": "dots", "attention": attention}
  model, size = network(config=SIZES["luke-base-lite"], **running), 8 * len(devices)
  params = jax.tree.map(lambda x: shape(whole, x.dtype, *x.shape), abstract_params(model))
  inputs = {
    "input_ids": shape(batch, jnp.int32, size, 512),
    "attention_mask": shape(batch, jnp.int32, size, 512),
    "entity_ids": shape(batch, jnp.int32, size, 128),
    "entity_attention_mask": shape(batch, jnp.int32, size, 128),
    "entity_position_ids": shape(batch, jnp.int32, size, 128, 30),
  }

  def loss(params, inputs):
    outputs = model.apply({"params": params}, **inputs, rngs={"dropout": jax.random.key(0)})
    return outputs["entity_last_hidden_state"].astype(jnp.float32).mean()

  with jax.set_mesh(mesh):
    return jax.jit(jax.value_and_grad(loss)).lower(params, inputs).compile(QUICK)


def test_the_kernel_runs_inside_the_scan(topology):
  """One kernel forward, one backward: rematerialisation keeps what the kernel needs."""
  program = compiled(topology("v5e:2x4"), attention="pallas")
  text = program.as_text()
  assert text.count('custom_call_target="tpu_custom_call"') == 2
  assert "all-gather" not in text
  assert program.memory_analysis().temp_size_in_bytes < 8 * GIB


def test_blocks_run_without_a_kernel(topology):
  program = compiled(topology("v5e:2x4"), attention="blocks")
  assert "tpu_custom_call" not in program.as_text()
  assert program.memory_analysis().temp_size_in_bytes < 8 * GIB
