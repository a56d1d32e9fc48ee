"""Small programs for TPUs that are not there. The compiling process imports this module."""

import jax
import jax.numpy as jnp
import numpy as np

from luke_jax.plan.chips import devices, parse_topology

ROWS, WIDTH, HIDDEN, LAYERS, CHIPS = 4096, 2048, 4096, 6, 8
TOPOLOGY = "v5e:2x4"


def _mesh():
  chips = np.array(devices(parse_topology(TOPOLOGY)))
  return jax.sharding.Mesh(chips, ("data",), axis_types=(jax.sharding.AxisType.Auto,))


def _shape(mesh, spec, dtype, *dims):
  return jax.ShapeDtypeStruct(dims, dtype, sharding=jax.NamedSharding(mesh, spec))


def layers():
  """Gathers a weight once, multiplies twice in each layer and sums over the chips at the end."""
  mesh = _mesh()
  shapes = (
    _shape(mesh, jax.P("data"), jnp.bfloat16, CHIPS * ROWS, WIDTH),
    _shape(mesh, jax.P("data"), jnp.bfloat16, WIDTH, HIDDEN),
    _shape(mesh, jax.P(), jnp.bfloat16, HIDDEN, WIDTH),
  )

  def on_a_chip(x, up, down):
    up = jax.lax.all_gather(up, "data", axis=0, tiled=True)

    def layer(x, _):
      return jnp.maximum(x @ up, 0) @ down, None

    x, _ = jax.lax.scan(layer, x, None, length=LAYERS)
    return jax.lax.psum(x.astype(jnp.float32).sum(0), "data")

  step = jax.shard_map(
    on_a_chip,
    mesh=mesh,
    in_specs=(jax.P("data"), jax.P("data"), jax.P()),
    out_specs=jax.P(),
    check_vma=False,
  )
  return jax.jit(step).lower(*shapes), shapes


def too_much(layers):
  """Keeps half a gigabyte and more of every layer for the backward pass."""
  shapes = (_shape(_mesh(), jax.P(), jnp.float32, 8192, 8192),)

  def loss(x):
    return jax.lax.scan(lambda x, _: (jnp.tanh(x @ x), None), x, None, length=layers)[0].sum()

  return jax.jit(jax.grad(loss)).lower(*shapes), shapes


def gradients():
  """Sums over the chips the gradients of weights that every chip holds."""
  mesh, width = _mesh(), 1024
  weights = [_shape(mesh, jax.P(), jnp.bfloat16, width, width) for _ in range(3)]
  x = _shape(mesh, jax.P("data"), jnp.bfloat16, CHIPS * 512, width)

  def loss(weights, x):
    for weight in weights:
      x = x + jnp.maximum(x @ weight, 0)
    return x.astype(jnp.float32).sum()

  places = [weight.sharding for weight in weights]
  return jax.jit(jax.grad(loss), out_shardings=places).lower(weights, x)
