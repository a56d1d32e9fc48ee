"""What the small layers have in common."""

import jax
import jax.numpy as jnp
import pytest
from flax.errors import ScopeParamNotFoundError, ScopeParamShapeError

from luke_jax.nn.layers import MANY_ROWS, Dense, LayerNorm, Numerics, project


@pytest.mark.parametrize("layer", [Dense(Numerics(), (4,)), LayerNorm(Numerics())])
def test_arrays_of_another_shape_are_refused_and_missing_ones_told(layer):
  """As Flax does of its own, which would trace each initializer for it."""
  x = jnp.zeros((2, 4))
  params = layer.init(jax.random.key(0), x)["params"]
  with pytest.raises(ScopeParamShapeError, match="bias"):
    layer.apply({"params": params | {"bias": jnp.zeros((1, 4))}}, x)
  with pytest.raises(ScopeParamNotFoundError, match="bias"):
    layer.apply({"params": {name: y for name, y in params.items() if name != "bias"}}, x)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("bfloat16", 1e-2)])
@pytest.mark.parametrize("width", [4, 16])
def test_products_have_the_same_gradients_on_cpus(dtype, tolerance, width):
  x = jax.random.normal(jax.random.key(0), (2, MANY_ROWS // 2, 8), dtype)
  kernel = jax.random.normal(jax.random.key(1), (8, width), dtype)

  def loss(x, kernel, on_cpu):
    return jnp.sin(project(x, kernel, on_cpu=on_cpu).astype(jnp.float32)).sum()

  one, other = (jax.grad(loss, (0, 1))(x, kernel, on_cpu) for on_cpu in (True, False))
  for ours, usual in zip(one, other, strict=True):
    assert ours.dtype == usual.dtype
    assert jnp.abs(ours - usual).max() <= tolerance * jnp.abs(usual).max()
