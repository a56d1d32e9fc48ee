"""The small pieces every layer is made of."""

from collections.abc import Sequence

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


def dense(
  config: LukeConfig,
  features: int | Sequence[int],
  name: str | None = None,
  *,
  axis: int | Sequence[int] = -1,
  use_bias: bool = True,
) -> nn.Module:
  """A linear layer with the model's initialisation and arithmetic."""
  return nn.DenseGeneral(
    features,
    axis=axis,
    use_bias=use_bias,
    dtype=config.dtype,
    kernel_init=nn.initializers.normal(config.initializer_range),
    name=name,
  )


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
