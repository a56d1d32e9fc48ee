"""The small pieces every layer is made of."""

import math

import flax.linen as nn
import jax

from luke_jax.config import LukeConfig

# Axes of the mesh that share the batch; the engine's mesh has both, a plain one may have neither.
BATCH_AXES = ("replica", "data")


def constrain(x: jax.Array) -> jax.Array:
  """Pins an activation's leading axis to the mesh's batch axes; no mesh, no change.

  Without it the sharding of the weights leaks into the activations.
  """
  mesh = jax.sharding.get_abstract_mesh()
  axes = tuple(axis for axis in BATCH_AXES if not mesh.empty and axis in mesh.axis_names)
  return jax.lax.with_sharding_constraint(x, jax.P(axes)) if axes else x


def project(x: jax.Array, kernel: jax.Array, bias: jax.Array | None = None) -> jax.Array:
  """x (..., D) times kernel (D, ...) plus bias, as one product of two flat matrices.

  Told of the axes, XLA on CPU takes the product for the kernel's gradient with both sides
  transposed, at two thirds of the speed.
  """
  width = kernel.shape[0]
  y = x.reshape(x.size // width, width) @ kernel.reshape(width, -1)
  if bias is not None:
    y = y + bias.reshape(-1)
  return y.reshape(*x.shape[:-1], *kernel.shape[1:])


class Dense(nn.Module):
  """A linear layer with the model's initialisation and arithmetic.

  Its kernel is (D, features...), or (input_shape..., features...) where x ends in several axes.
  """

  config: LukeConfig
  features: tuple[int, ...]
  input_shape: tuple[int, ...] = ()
  use_bias: bool = True

  @nn.compact
  def __call__(self, x: jax.Array) -> jax.Array:
    """Maps (..., D) to (..., features...)."""
    inputs = self.input_shape or x.shape[-1:]
    x = x.reshape(*x.shape[: x.ndim - len(inputs)], math.prod(inputs))
    init = nn.initializers.normal(self.config.initializer_range)
    kernel = self.param("kernel", init, (*inputs, *self.features))
    bias = self.param("bias", nn.initializers.zeros, self.features) if self.use_bias else None
    kernel, bias = jax.tree.map(lambda p: p.astype(self.config.dtype), (kernel, bias))
    return project(x, kernel.reshape(-1, *self.features), bias)


def layer_norm(config: LukeConfig, name: str | None = None) -> nn.Module:
  """Layer normalisation; its statistics are float32 and taken in two passes."""
  return nn.LayerNorm(
    epsilon=config.layer_norm_eps, dtype=config.dtype, use_fast_variance=False, name=name
  )


def embedding(
  config: LukeConfig, rows: int, *, width: int | None = None, name: str | None = None
) -> nn.Embed:
  """A table of `rows` vectors of the model's width, or of `width`."""
  return nn.Embed(
    rows,
    width or config.hidden_size,
    dtype=config.dtype,
    embedding_init=nn.initializers.normal(config.initializer_range),
    name=name,
  )


def gelu(x: jax.Array) -> jax.Array:
  """The exact Gaussian error linear unit."""
  return x * (0.5 + 0.5 * jax.lax.erf(x * (0.5**0.5)))


class Dropout(nn.Module):
  """Drops exactly when the caller of `apply` gave a "dropout" key: no flag to pass down."""

  rate: float

  @nn.compact
  def __call__(self, x: jax.Array) -> jax.Array:
    """Returns x with a share `rate` of its values zero and the rest scaled up."""
    return nn.Dropout(self.rate, deterministic=not self.has_rng("dropout"))(x)
